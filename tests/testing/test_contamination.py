"""The estimators' kit finds out estimators that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.assess.share import ContaminationEstimator, Cover
from soel.testing import CONTAMINATION_LAWS, check_contamination_estimator, contamination
from soel.testing.laws import Law
from soel.types import Estimate, Evidence
from tests.testing.broken import cases


class Outside(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return replace(super().estimate(rounds), low=0.0, high=0.01)


class Writes(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        found = super().estimate(rounds)
        rounds[0].labels[:] = 0
        return found


class Restless(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        found = super().estimate(rounds)
        return replace(found, value=float(np.random.default_rng().uniform(found.low, found.high)))


class FirstAnswers(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return super().estimate([replace(r, rows=r.rows[:5], labels=r.labels[:5]) for r in rounds])


class NewestOnly(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return super().estimate(rounds[-1:])


class FirstOnly(Cover):
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return super().estimate(rounds[:1])


class Hopeful(Cover):
    """Halves whatever it finds."""

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        found = super().estimate(rounds)
        return replace(found, value=0.45 * found.value, low=0.0)


BROKEN: dict[Law[Any], Callable[[], ContaminationEstimator]] = {
    contamination.check_estimate_lies_in_its_interval: Outside,
    contamination.check_evidence_is_not_changed: Writes,
    contamination.check_estimating_is_idempotent: Restless,
    contamination.check_order_of_answers_does_not_matter: FirstAnswers,
    contamination.check_every_round_counts: NewestOnly,
    contamination.check_separated_clusters_are_counted: Hopeful,
}


@pytest.mark.parametrize(("law", "broken"), cases(CONTAMINATION_LAWS, BROKEN))
def test_each_law_finds_out_an_estimator_that_breaks_it(law: Law[Any], broken: Any) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)
    law(Cover)


def test_an_estimator_that_stops_listening_is_found_out() -> None:
    with pytest.raises(AssertionError, match="second round of anomalies"):
        contamination.check_every_round_counts(FirstOnly)


def test_the_kit_names_every_broken_law() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 of 6 laws.*check_separated_clusters_are_counted: .*A fifth"):
        check_contamination_estimator(Hopeful)
