"""What the paper says about an artefact, as checks on our figures: each gives a verdict and the numbers behind it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from soel_paper.results import AXES, FigureTable

Outcome = Literal["holds", "fails", "undecided", "not run"]
TWO_ERRORS = 2.0


@dataclass(frozen=True)
class Judgement:
    """outcome, and the numbers behind it in one sentence."""

    outcome: Outcome
    why: str


Check = Callable[[FigureTable], Judgement]


@dataclass(frozen=True)
class Claim:
    """text: the claim in one sentence. check: what decides it.

    fidelity: it is about repeating the paper, so it is asked only of profiles that mean to.
    """

    text: str
    check: Check
    fidelity: bool = False


def _about(results: FigureTable, measure: str) -> FigureTable:
    """The points of the measure at places that all methods share; F1 and AUROC may stand in for one another."""
    shown = [name for name in results.values("measure") if name == measure]
    stand_ins = [name for name in results.values("measure") if {name, measure} == {"f1", "auroc"}]
    return results.where(measure=next(iter(shown + stand_ins), measure)).common()


def relative(results: FigureTable) -> FigureTable:
    """Every figure in per cent of the mean over the methods at its place: data sets of other scales weigh alike."""
    points = []
    for point in results.points:
        place = {axis: getattr(point.at, axis) for axis in AXES if axis != "method"}
        unit = results.mean(**place) / 100 or 1.0
        points.append(replace(point, mean=point.mean / unit, deviation=point.deviation / unit))
    return FigureTable(points, results.missing)


NOT_RUN = Judgement("not run", "some of the figures it needs were not computed")


def best(method: str, measure: str, lowest: bool = False) -> Check:
    """The method's mean over everything is the highest of all methods, by two standard errors.

    lowest: or the lowest, each figure taken relative to the mean of all methods at its place.
    """

    def check(results: FigureTable) -> Judgement:
        shown = relative(_about(results, measure)) if lowest else _about(results, measure)
        others = [name for name in shown.values("method") if name != method]
        pick = min if lowest else max
        rival = pick(others, key=lambda name: shown.mean(method=name), default="")
        return _compare(shown, method, rival, lowest)

    return check


def beats(method: str, rival: str, measure: str) -> Check:
    """One method against another."""
    return lambda results: _compare(_about(results, measure), method, rival)


def _compare(shown: FigureTable, method: str, rival: str, lowest: bool = False) -> Judgement:
    if not {method, rival} <= set(shown.values("method")):
        return NOT_RUN
    gain, error, why = _gain(shown, method, rival)
    if lowest:
        gain, why = -gain, f"{why}, in % of the mean of all methods"
    if not abs(gain) > TWO_ERRORS * error:  # an error that is not known decides nothing
        return Judgement("undecided", why)
    return Judgement("holds" if gain > 0 else "fails", why)


def _gain(shown: FigureTable, method: str, rival: str) -> tuple[float, float, str]:
    """The difference of two methods, its standard error (NaN with one seed), and both in words."""
    ours, theirs = shown.mean(method=method), shown.mean(method=rival)
    error = math.hypot(shown.error(method=method), shown.error(method=rival))
    known = "one seed, so no error is known" if math.isnan(error) else f"standard error of the difference {error:.1f}"
    return ours - theirs, error, f"{method} {ours:.1f}, {rival} {theirs:.1f} ({known})"


def alike(method: str, rival: str, measure: str, tolerance: float = 1.0) -> Check:
    """Two methods differ by no more than the tolerance, or by less than two standard errors."""

    def check(results: FigureTable) -> Judgement:
        shown = _about(results, measure)
        if not {method, rival} <= set(shown.values("method")):
            return NOT_RUN
        gain, error, why = _gain(shown, method, rival)
        if abs(gain) <= tolerance or abs(gain) <= TWO_ERRORS * error:
            return Judgement("holds", why)
        return Judgement("undecided" if math.isnan(error) else "fails", why)

    return check


def as_printed(tolerance: float = 3.0, share: float = 0.8) -> Check:
    """Most of our figures lie within the tolerance of the paper's; how many do once spreads count is told beside."""

    def check(results: FigureTable) -> Judgement:
        pairs = [(p, p.paper) for p in results.points if p.paper is not None]
        if not pairs:
            return Judgement("not run", "the paper has no figures for these data")
        apart = [(abs(p.mean - paper[0]), TWO_ERRORS * math.hypot(p.error, paper[1])) for p, paper in pairs]
        near = sum(difference <= tolerance for difference, _ in apart)
        with_spreads = sum(difference <= max(tolerance, spread) for difference, spread in apart)
        why = (
            f"{near} of {len(pairs)} figures lie within {tolerance:g} points of the paper's, "
            f"{with_spreads} within that or two standard errors"
        )
        return Judgement("holds" if near >= share * len(pairs) else "fails", why)

    return check


def unbiased(measure: str, tolerance: float = 5.0) -> Check:
    """An estimate of the share is off by no more than the tolerance on average, for every data set."""

    def check(results: FigureTable) -> Judgement:
        shown = results.where(measure=measure)
        if not shown.points:
            return NOT_RUN
        errors = {}
        for dataset in shown.values("dataset"):
            points = shown.where(dataset=dataset).points
            errors[dataset] = sum(abs(p.mean - 100 * (p.at.share or 0.0)) for p in points) / len(points)
        where, worst = max(errors.items(), key=lambda error: error[1])
        why = f"the largest mean error is {worst:.1f} points, on {where}"
        return Judgement("holds" if worst <= tolerance else "fails", why)

    return check


def small(measure: str, limit: float) -> Check:
    """Every figure of the measure lies within +- the limit."""

    def check(results: FigureTable) -> Judgement:
        points = results.where(measure=measure).points
        if not points:
            return NOT_RUN
        worst = max(points, key=lambda p: abs(p.mean))
        why = f"the largest is {worst.mean:.1f}, on {worst.at.dataset}"
        return Judgement("holds" if abs(worst.mean) <= limit else "fails", why)

    return check
