"""An expert made of known labels, with the faults of a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from soel.errors import ConfigError, LabelError, UnknownItemError
from soel.types import ANOMALY, NORMAL, UNLABELLED, Label, Labels, Verdict

_VERDICTS = {ANOMALY: Verdict.ANOMALY, NORMAL: Verdict.NORMAL, UNLABELLED: Verdict.SKIP}


class SimulatedExpert:
    """Answers from the truth, for experiments and tests; it goes through the same loop as a person.

    truth: 1 or 0 by row (an array) or by item id (a mapping). wrong: the chance of a flipped label.
    skip: the chance of no answer. bias: the extra chance that an anomaly is called normal.
    """

    def __init__(
        self,
        truth: Sequence[int] | np.ndarray | Mapping[str, int],
        *,
        wrong: float = 0.0,
        skip: float = 0.0,
        bias: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        for name, value in (("wrong", wrong), ("skip", skip), ("bias", bias)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} is a probability between 0 and 1, got {value}.")
        self._truth = truth if isinstance(truth, Mapping) else dict(enumerate(np.asarray(truth).tolist()))
        odd = sorted({str(code) for code in self._truth.values() if code not in (NORMAL, ANOMALY)})
        if odd:
            raise LabelError(f"The truth must be 1 (anomaly) or 0 (normal), got also {', '.join(odd[:5])}.")
        self._wrong, self._skip, self._bias = wrong, skip, bias
        self._rng = np.random.default_rng(0) if rng is None else rng
        self.n_asked = 0

    def ask(self, rows: Iterable[int] | np.ndarray) -> Labels:
        """Labels (n,) of these rows: 1, 0, or -1 where the expert passes."""
        return np.array([self._answer(int(row)) for row in rows], np.int8)

    __call__ = ask

    def answer(self, ids: Iterable[str]) -> dict[str, str]:
        """The answer to each item id in words, ready to be told: anomaly, normal or skip."""
        return {item: _VERDICTS[Label(self._answer(item))].value for item in ids}

    def _answer(self, key: int | str) -> int:
        truth: Mapping[int | str, int] = self._truth  # type: ignore[assignment]
        if key not in truth:
            raise UnknownItemError(f"The simulated expert knows nothing about {key!r}; give the truth of every item.")
        self.n_asked += 1
        passes, slips = self._rng.random(2)  # always two draws, so that one setting does not shift another's
        if passes < self._skip:
            return UNLABELLED
        chance = self._wrong + (self._bias if truth[key] == ANOMALY else 0.0)
        label = int(truth[key])
        return 1 - label if slips < chance else label
