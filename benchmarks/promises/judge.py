"""One run held against the truth: every promise that is made of it, and whether it was kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.promises.real_alarms import calibration_error, real_alarms
from benchmarks.promises.runs import Asked, Run
from benchmarks.promises.tables import Count
from soel.assess.calibration import PRIOR, Calibration, calibrate
from soel.assess.conformal import Reference, UnsureBand
from soel.assess.quality import Bounds, SpotCheck, draw_check
from soel.assess.share import wilson
from soel.assess.threshold import parse_threshold
from soel.types import ANOMALY, NORMAL, UNLABELLED

RATES = (0.01, 0.05)
JUDGED = 6  # raised when runs are judged otherwise
PLAIN = ", plain conformal"  # nothing held out, nothing weighed less
CHECKS, N_DRAWS = (10, 20), 20
TRUSTING = (5.0, 1.0)  # a prior of the curve's slope that takes every detector for a good one, as there was before


@dataclass(frozen=True)
class Kept:
    """One promise on one run. realised: 1 or 0 for an interval that held or not, else a rate or an error.

    width: of an interval, on its own scale; 0 for the others. nominal: what was promised, in words. most: a rate that
    the mean of a table is not to exceed, where there is one. count: of false alarms.
    """

    promise: str
    realised: float
    width: float = 0.0
    nominal: str = ">= 80 %"
    most: float | None = None
    count: Count | None = None


def judge(run: Run) -> list[Kept]:
    """Everything that is said about this pool after a fit."""
    return [*_false_alarms(run), *_list(run), *_probability(run), *_real(run), *_unsure(run), *_spot_checks(run)]


def judge_share(asked: Asked) -> list[Kept]:
    """What is said of the share without a check, and rivals: Wilson's interval of the labels' own share, estimators."""
    share, estimate = float(asked.truth.mean()), asked.estimate
    answers = asked.labels[asked.labels != UNLABELLED] == ANOMALY
    kept = [
        _held("share, no check", share, Bounds(estimate.value, estimate.low, estimate.high)),
        Kept("share, error", abs(estimate.value - share), nominal="0"),
        _held("share, Wilson's interval of the labels", share, Bounds(0, *wilson(float(answers.mean()), len(answers)))),
    ]
    for name, rival in asked.rivals.items():
        kept.append(_held(f"share, {name}", share, Bounds(rival.value, rival.low, rival.high)))
        kept.append(Kept(f"share, {name}, error", abs(rival.value - share), nominal="0"))
    return kept


def _held(promise: str, truth: float, bounds: Bounds) -> Kept:
    inside = bounds.low - 1e-9 <= truth <= bounds.high + 1e-9
    return Kept(promise, float(inside), bounds.high - bounds.low)


def _false_alarms(run: Run) -> Iterator[Kept]:
    new, anomalies = run.new_scores[~run.new_truth], run.new_scores[run.new_truth]
    references = {"": run.reference, PLAIN: Reference.of(run.scores)}
    for rate in RATES:
        for name, reference in references.items():
            cut, words = reference.cut(rate), f"false alarms {rate:.0%}{name}"
            n_false, n_found = int((new > cut).sum()), int((anomalies > cut).sum())
            count = Count(rate, n_false, len(new), int(reference.weights.sum()), n_found, len(anomalies))
            yield Kept(words, n_false / len(new), nominal=f"<= {rate:.0%}", most=rate, count=count)
            if len(anomalies):
                yield Kept(f"{words}: new anomalies found", n_found / len(anomalies), nominal="")


def _list(run: Run) -> Iterator[Kept]:
    """Of the pool's rows without a label, and of new rows with as many anomalies among them as the pool has."""
    free = run.labels == UNLABELLED
    cut = parse_threshold("fdr=0.1").cut(run.scores, 0.1, run.probabilities, labels=run.labels)
    alarms, truth = run.scores[free] > cut, run.truth[free]
    yield Kept("fdr 10%", float((~truth[alarms]).mean()) if alarms.any() else 0.0, float(alarms.sum()), "<= 10%", 0.1)
    if run.new_truth.any() and not run.new_truth.all():
        new = run.new_scores > cut
        share = run.truth.mean()
        real, false = share * new[run.new_truth].mean(), (1 - share) * new[~run.new_truth].mean()
        false_share = float(false / (real + false)) if real + false else 0.0
        yield Kept("fdr 10%, new rows", false_share, nominal="<= 10%", most=0.1)


def _probability(run: Run) -> Iterator[Kept]:
    """Of the rows without a label."""
    open_rows = run.labels == UNLABELLED
    truth, scores = run.truth[open_rows], run.scores[open_rows]
    plain = Calibration(1 / run.scores.std(), run.scores.mean())
    by_prior, trusting = (
        calibrate(run.scores, run.labels, float(run.estimate[0]), prior) for prior in (PRIOR, TRUSTING)
    )
    curves = {
        "": run.probabilities[open_rows],
        ", slope by a prior": by_prior.probabilities(scores),
        ", trusting the detector": trusting.probabilities(scores),
        ", score as it is": plain.probabilities(scores),
    }
    for name, chances in curves.items():
        yield Kept(f"calibration error{name}", calibration_error(truth, chances), nominal="0")


def _real(run: Run) -> Iterator[Kept]:
    alarms = run.scores > run.cut
    open_alarms = alarms & (run.labels == UNLABELLED)
    if open_alarms.any():
        known = int((run.labels[alarms] == ANOMALY).sum())
        found = real_alarms(run.probabilities[open_alarms], known)
        kept = _held("real alarms, no check", float(run.truth[alarms].sum()), found)
        yield Kept(kept.promise, kept.realised, kept.width / int(alarms.sum()))


def _unsure(run: Run) -> Iterator[Kept]:
    """How often the side of an unlabelled row is right, where it is sure and where it is not."""
    unsure = UnsureBand.of(run.scores, run.estimate[1], run.estimate[2]).holds(run.scores)
    is_open, side = run.labels == UNLABELLED, run.scores > run.cut
    yield Kept("not sure, of the rows", float(unsure[is_open].mean()), nominal="")
    for name, rows in (("sure", is_open & ~unsure), ("not sure", is_open & unsure)):
        for among, of_side in (("", rows), (", alarms", rows & side)):
            if of_side.any():
                yield Kept(f"right where {name}{among}", float((side == run.truth)[of_side].mean()), nominal="")


def _spot_checks(run: Run) -> Iterator[Kept]:
    """Drawn again and again from what was not asked."""
    is_alarm, open_rows = run.scores > run.cut, np.flatnonzero(run.labels == UNLABELLED)
    n_alarms, hits, total = int(is_alarm.sum()), int((run.truth & is_alarm).sum()), int(run.truth.sum())
    told = np.where(run.truth, ANOMALY, NORMAL).astype(np.int8)
    for n in CHECKS:
        for seed in range(N_DRAWS):
            rows = draw_check(is_alarm, open_rows, n, np.random.default_rng(seed)).rows[:n]
            quality = SpotCheck.of(is_alarm, run.labels, rows, told).quality()
            yield _held(f"share, {n} checks", total / len(run.truth), quality.share)
            yield _held(f"recall, {n} checks", hits / total if total else 1.0, quality.recall)
            if quality.precision is not None:
                yield _held(f"precision, {n} checks", hits / n_alarms, quality.precision)
            false_alarms = 1000 * (n_alarms - hits) / len(run.truth)
            yield _held(f"false alarms in 1,000, {n} checks", false_alarms, quality.false_alarms)
