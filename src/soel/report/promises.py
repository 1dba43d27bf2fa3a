"""What is promised of alarms, under which assumption, and when the promise is withdrawn: in words and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from soel.text import count, percent

if TYPE_CHECKING:  # words need no scipy
    from soel.assess.metrics.threshold import ThresholdRule

LIKE_THE_POOL = (
    "new normal items are like those of the pool, anomalies score above normal items, and the odds that suspected "
    "items are anomalies are at least a fifth of what they seem"
)
PROBABILITIES = "the probabilities are right, which they are roughly"
DRIFTED = (
    "Withdrawn: these rows are not like the pool. Nothing is promised of them, neither by p-values and probabilities "
    "nor about how many alarms are real; add them to the session (`soel add`), label some and fit again."
)


@dataclass(frozen=True)
class Promise:
    """What a threshold rule says of its alarms. assumes: what it rests on, empty where it is only a count.

    is_guaranteed: whether it holds whenever the assumption does. is_withdrawn: whether the rows break the assumption.
    """

    says: str
    assumes: str
    is_guaranteed: bool
    is_withdrawn: bool = False

    def lines(self) -> list[str]:
        """In words."""
        if self.is_withdrawn:
            return [DRIFTED]
        return [f"{self.says} {_assuming(self)}" if self.assumes else self.says]

    def document(self) -> dict[str, Any]:
        """As plain values."""
        return vars(self) | {"lines": self.lines()}


def promise_of(
    rule: ThresholdRule, has_drifted: bool = False, can_alarm: bool = True, n_scored: int | None = None
) -> Promise:
    """What is promised of the alarms of this rule. has_drifted: whether the rows are not like the pool.

    can_alarm: whether any score raises an alarm by it. n_scored: how many rows there are, where they are counted.
    """
    value = rule.value or 0.0
    if not can_alarm and rule.kind == "false-alarms":
        n_normal = math.ceil(1 / value - 1e-9) - 1 if value else 0
        needs = f"that takes {n_normal:,} normal items" if n_normal else "no pool is large enough for that"
        says = f"No item can raise an alarm: this pool is too small to promise {percent(value)}; {needs}."
        return Promise(says, "", False, has_drifted)
    n_alarms = int(value) if n_scored is None else min(int(value), n_scored)
    says, assumes = {
        "contamination": ("There are as many alarms in the pool as anomalies are estimated.", ""),
        "share": (f"{percent(value)} of the pool raise an alarm, right or wrong.", ""),
        "alarms": (f"{count(n_alarms, 'item')} with the highest scores, right or wrong.", ""),
        "false-alarms": (f"At most {percent(value)} of new normal items raise an alarm on average.", LIKE_THE_POOL),
        "fdr": (f"Roughly at most {percent(value)} of the alarms are false.", PROBABILITIES),
        "cost": (f"An alarm where a miss, {value:g} times as dear, would cost more on average.", PROBABILITIES),
    }[rule.kind]
    return Promise(says, assumes, rule.kind == "false-alarms", has_drifted)


def _assuming(promise: Promise) -> str:
    return f"{'Guaranteed' if promise.is_guaranteed else 'Not guaranteed; it holds'} if {promise.assumes}."
