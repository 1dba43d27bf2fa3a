"""A spot check: items drawn by chance from those not asked, on both sides of the threshold, and what they prove.

It is a round like any other, and its labels train the next fit as well. What it proves stays true: its figures are
about the scores and the threshold of the model that stood when it was drawn, and that model had not seen its labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.assess.quality import Quality, SpotCheck, Stratum, draw_check
from soel.errors import SessionError
from soel.session.rounds import CheckFacts, Round
from soel.session.state import SessionState
from soel.types import ANOMALY, Floats, Proposal, Rows

USUAL_CHECK = 10


def propose_check(
    scores: Floats, embeddings: Floats, threshold: float, open_rows: Rows, n: int, seed: tuple[int, ...]
) -> Proposal:
    """A spot check of `n` items, with the pool as the model sees it."""
    selection = draw_check(scores > threshold, open_rows, n, np.random.default_rng(seed))
    return Proposal(selection, seed, scores, embeddings)


def describe(
    scores: Floats, chances: Floats, threshold: float, state: SessionState, row_of: dict[str, int]
) -> CheckFacts:
    """What the round keeps to be judged by later, the threshold, and what was known on either side.

    chances: (N,) probabilities by the model; their sums on either side are promises that the check can test.
    """
    is_open, is_alarm = np.ones(len(scores), bool), scores > threshold
    is_open[[row for item, row in row_of.items() if item in state.labels]] = False
    known = {item: bool(is_alarm[row]) for item, row in row_of.items() if item in state.labels}
    return CheckFacts(
        threshold=float(threshold),
        n_rows=len(scores),
        n_alarms=int(is_alarm.sum()),
        known_alarms=tuple(sorted(item for item, alarms in known.items() if alarms)),
        known_others=tuple(sorted(item for item, alarms in known.items() if not alarms)),
        expected_alarms=float(chances[is_open & is_alarm].sum()),
        expected_others=float(chances[is_open & ~is_alarm].sum()),
    )


def measure_quality(state: SessionState) -> Quality | None:
    """What the newest spot check proves; None without one, or before the first of its answers.

    Checks that follow one another with nothing learnt or asked between them count as one. Items set aside are left
    out, as if they were like the others.
    """
    checks = newest_checks(state)
    if not checks or checks[0].check is None:
        return None
    facts, numbers = checks[0].check, {check.number for check in checks}
    scores = {draw.item: draw.score for check in checks for draw in check.draws}
    answered = [item for item in scores if state.round_of(item) in numbers]
    if not answered:
        return None
    alarms = [item for item in answered if scores[item] > facts.threshold]
    others = [item for item in answered if scores[item] <= facts.threshold]
    n_others = facts.n_rows - facts.n_alarms
    strata = (
        _stratum(state, facts.n_alarms, facts.known_alarms, alarms, facts.expected_alarms),
        _stratum(state, n_others, facts.known_others, others, facts.expected_others),
    )
    try:
        return SpotCheck(*strata).quality()
    except ValueError as error:
        raise SessionError(
            f"What a spot check stored makes no sense ({error}). Restore the session from a copy."
        ) from error


def newest_checks(state: SessionState) -> tuple[Round, ...]:
    """The newest spot check, and those just before it by the same model; oldest first."""
    last = next((i for i in reversed(range(len(state.rounds))) if state.rounds[i].check is not None), None)
    if last is None:
        return ()
    first = last
    while first and _goes_on(state, state.rounds[first - 1], state.rounds[first]):
        first -= 1
    return state.rounds[first : last + 1]


def _goes_on(state: SessionState, before: Round, check: Round) -> bool:
    """Whether a check draws from what the one before it left, and from that alone."""
    old, new = before.check, check.check
    if old is None or new is None or before.model != check.model or state.pools_of(before) != state.pools_of(check):
        return False
    if (old.threshold, old.n_rows) != (new.threshold, new.n_rows):
        return False
    meanwhile = {*new.known_alarms, *new.known_others} - {*old.known_alarms, *old.known_others}
    return meanwhile <= before.items


def _stratum(
    state: SessionState, n_rows: int, known: Sequence[str], checked: Sequence[str], expected: float | None
) -> Stratum:
    def anomalies(items: Sequence[str]) -> int:
        return sum(state.labels[item] == ANOMALY for item in items)

    standing = [item for item in known if item in state.labels]
    return Stratum(n_rows, len(standing), anomalies(standing), len(checked), anomalies(checked), expected)
