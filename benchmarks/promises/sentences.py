"""The sentences with a number that the results page shows, as it words them, held against the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from benchmarks.promises.judge import Kept
from benchmarks.promises.runs import Run
from soel.assess.quality import Quality, SpotCheck, draw_check
from soel.report.outcome import Outcome
from soel.report.quality_words import foreseen_words, quality_words, unsure_words
from soel.text import ENGLISH
from soel.types import ANOMALY, NORMAL, UNLABELLED, Estimate

HALF = 0.5  # of a point of a hundred: the page rounds
CHECKS = (10, 20)


def judge_sentences(run: Run) -> list[Kept]:
    """Whether each sentence that this session's page would show is true."""
    seed = len(run.truth) + int(run.truth.sum()) + int((run.labels != UNLABELLED).sum())  # of the spot check
    kept = [*_headline(run), *_chances(run), *_unsure(run)]
    lines = foreseen_words(run.scores > run.cut, run.labels)
    foreseen = {int(_numbers(line)[0]): _numbers(line)[1:] for line in lines}
    for n in CHECKS:
        quality = _check(run, n, seed)
        kept += _checked(run, quality, n)
        if n in foreseen:
            kept += _foreseen(quality, n, foreseen[n])
    return kept


def _headline(run: Run) -> Iterator[Kept]:
    _, low, high = run.estimate
    ends = _numbers(ENGLISH("facts.range", low=low, high=high).removeprefix("80 %"))
    yield _within("Share of anomalies, 80 % range ... to ...", 100 * run.truth.mean(), ends, HALF)
    shares = dict(zip(("share", "low", "high"), map(ENGLISH.percent, run.estimate), strict=True))
    ends = _numbers(ENGLISH("insight.share", **shares))[1:]
    yield _within("About ... of all items; likely between ... and ... (so far)", 100 * run.truth.mean(), ends, HALF)


def _chances(run: Run) -> Iterator[Kept]:
    shown = np.argsort(-run.scores, kind="stable")[:20]  # the list of alarms, a page of it
    shown = shown[run.labels[shown] == UNLABELLED]
    if len(shown):
        error = float(run.probabilities[shown].mean() - run.truth[shown].mean())
        yield Kept("Probability ...: mean of the first page, above the truth", error, nominal="0")


def _unsure(run: Run) -> Iterator[Kept]:
    value, low, high = run.estimate.tolist()
    estimate = Estimate(value, low, high, "kept")
    outcome = Outcome(run.scores, run.probabilities, np.zeros((len(run.scores), 2)), run.cut, run.reference)
    n = outcome.count_unsure(run.labels, estimate)
    if not n:
        return
    unsure = outcome.unsure(estimate).holds(run.scores) & (run.labels == UNLABELLED)
    said = _numbers(unsure_words(n, estimate))[0]
    yield Kept("... items without a label are not sure", float(said == unsure.sum()), nominal="always")
    sides = [run.scores > np.quantile(run.scores, 1 - share) for share in run.estimate[1:]]
    changes = (sides[0] != sides[1]) & (run.labels == UNLABELLED)
    yield Kept("normal if ... , anomalies if ...", float((changes == unsure).all()), nominal="always")


def _checked(run: Run, quality: Quality, n: int) -> Iterator[Kept]:
    is_alarm = run.scores > run.cut
    hits, total = int((run.truth & is_alarm).sum()), int(run.truth.sum())
    _, share, *alarms, recall, false, _ = [line for line in quality_words(quality) if "promise" not in line]
    truth = 100 * run.truth.mean()
    yield _within(f"... to ... of all items are anomalies ({n} checked)", truth, _numbers(share)[:2])
    if alarms:
        yield _within(f"... to ... of ... alarms are real ({n} checked)", hits, _numbers(alarms[0])[:2])
    if quality.promised_alarms is not None and quality.alarms_judgement not in (None, "right"):
        too_high = quality.alarms_judgement == "too high"
        was_so = quality.promised_alarms > hits if too_high else quality.promised_alarms < hits
        yield Kept(f"The probabilities are too high, too low ({n} checked)", float(was_so), nominal=">= 90 %")
    found = 100 * hits / total if total else 100.0
    yield _within(f"The alarms hold ... to ... of all anomalies ({n} checked)", found, _numbers(recall)[:2])
    per_thousand = 1000 * (int(is_alarm.sum()) - hits) / len(run.truth)
    yield _within(f"... to ... false alarms in 1,000 items ({n} checked)", per_thousand, _numbers(false)[:2])


def _foreseen(quality: Quality, n: int, said: list[float]) -> Iterator[Kept]:
    """Whether the ranges, as they are shown, are no wider than was said beforehand."""
    for name, most, bounds in zip(("share", "alarms"), said, (quality.share, quality.precision), strict=True):
        if bounds is not None:
            shown = bounds.round_outwards(0.01)
            held = 100 * (shown.high - shown.low) <= most + 1e-6
            words = f"A check of {n} items leaves a range of at most ... points ({name})"
            yield Kept(words, float(held), most, nominal="always")


def _within(sentence: str, truth: float, ends: list[float], slack: float = 1e-6) -> Kept:
    low, high = ends
    return Kept(sentence, float(low - slack <= truth <= high + slack), high - low)


def _numbers(words: str) -> list[float]:
    """The numbers of a sentence; '> 99 %' counts as 100 of a hundred."""
    plain = words.replace("> 99 %", "100 %").replace("1,000", "").replace(",", "")
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", plain)]


def _check(run: Run, n: int, seed: int) -> Quality:
    is_alarm, open_rows = run.scores > run.cut, np.flatnonzero(run.labels == UNLABELLED)
    rows = draw_check(is_alarm, open_rows, n, np.random.default_rng([seed, n])).rows[:n]
    told = np.where(run.truth, ANOMALY, NORMAL).astype(np.int8)
    return SpotCheck.of(is_alarm, run.labels, rows, told, run.probabilities).quality()
