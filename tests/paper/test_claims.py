from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from soel_paper.findings import (
    NOT_RUN,
    Check,
    FigurePoint,
    FigureTable,
    Position,
    alike,
    as_printed,
    beats,
    best,
    small,
    unbiased,
)

USUAL = Position("a", "", 10, None, "perfect", "f1")


def point(
    method: str, mean: float, deviation: float = 2.0, paper: tuple[float, float] | None = None, **at: Any
) -> FigurePoint:
    return FigurePoint(replace(USUAL, method=method, **at), mean, deviation, 5, paper)


@pytest.mark.parametrize(("rival", "outcome"), [(80.0, "holds"), (89.5, "undecided"), (99.0, "fails")])
def test_a_gain_counts_from_two_standard_errors_on(rival: float, outcome: str) -> None:
    results = FigureTable([point("SOEL", 90.0), point("Mar", rival), point("Rand1", 10.0)])
    assert best("SOEL", "f1")(results).outcome == outcome
    assert beats("SOEL", "Mar", "f1")(results).outcome == outcome


def test_one_seed_decides_nothing() -> None:
    alone = [replace(point("SOEL", 90.0, 0.0), n=1), replace(point("Mar", 50.0, 0.0), n=1)]
    for check in (best("SOEL", "f1"), beats("SOEL", "Mar", "f1"), alike("SOEL", "Mar", "f1")):
        verdict = check(FigureTable(alone))
        assert (verdict.outcome, "one seed" in verdict.why) == ("undecided", True)


def test_lower_may_be_better() -> None:
    results = FigureTable([point("diverse", 1.0, 0.1), point("random", 5.0, 0.1)])
    assert best("diverse", "f1", lowest=True)(results).outcome == "holds"
    assert best("diverse", "f1")(results).outcome == "fails"


def test_most_figures_must_be_as_printed() -> None:
    near, far = point("a", 90.0, paper=(91.0, 0.1)), point("b", 90.0, 0.1, paper=(60.0, 0.1))
    assert as_printed()(FigureTable([near] * 4 + [far])).outcome == "holds"
    assert as_printed()(FigureTable([near, far])).outcome == "fails"


def test_a_biased_estimate_is_told_by_its_worst_data_set() -> None:
    good = point("diverse", 11.0, share=0.1, measure="alpha_kde")
    bad = point("diverse", 40.0, share=0.1, measure="alpha_kde", dataset="b")
    assert unbiased("alpha_kde")(FigureTable([good])).outcome == "holds"
    verdict = unbiased("alpha_kde")(FigureTable([good, bad]))
    assert (verdict.outcome, "30.0 points, on b" in verdict.why) == ("fails", True)


def test_unlike_places_are_not_compared() -> None:
    easy = [point("SOEL", 90.0), point("Mar", 80.0)]
    hard = [point("SOEL", 20.0, dataset="b")]
    verdict = best("SOEL", "f1")(FigureTable(easy + hard))
    assert (verdict.outcome, "SOEL 90.0" in verdict.why) == ("holds", True)


def test_the_measure_at_hand_stands_in() -> None:
    results = FigureTable([point("a", 90.0, measure="auroc"), point("b", 10.0, measure="auroc")])
    assert best("a", "f1")(results).outcome == "holds"
    assert best("a", "f1_pool_cut")(results) == NOT_RUN


@pytest.mark.parametrize(
    "check",
    [best("a", "f1"), beats("a", "b", "f1"), alike("a", "b", "f1"), as_printed(), small("f1", 1.0), unbiased("f1")],
)
def test_what_was_not_run_gets_no_verdict(check: Check) -> None:
    assert check(FigureTable([])).outcome == "not run"
