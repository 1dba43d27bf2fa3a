"""The sentences with a number that the results page shows, as it words them, held against the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from benchmarks.promises.judge import Kept
from benchmarks.promises.real_alarms import real_alarms
from benchmarks.promises.runs import Run
from soel.assess.quality import Quality, SpotCheck, draw_check
from soel.report.outcome import Outcome
from soel.session import Answer
from soel.session.fold import fold
from soel.text import ENGLISH
from soel.types import ANOMALY, NORMAL, UNLABELLED, Estimate, Verdict
from soel.web.reason_words import check_advice_words, quality_words, unsure_words
from soel.web.results import FitResults

HALF = 0.5  # of a point of a hundred: the page rounds
CHECKS = (10, 20)
MOVED = (0.5, 2)  # alarms, of those at the model's threshold: where somebody moves it to on the page


def judge_sentences(run: Run) -> list[Kept]:
    """Whether each sentence that this session's page would show is true."""
    seed = len(run.truth) + int(run.truth.sum()) + int((run.labels != UNLABELLED).sum())  # of the spot check
    findings = _findings(run)
    kept = [*_headline(run), *_expected(run), *_unsure(run, findings)]
    foreseen = {int(_numbers(line)[0]): _numbers(line)[1:] for line in check_advice_words(findings, ENGLISH)}
    for n in CHECKS:
        quality = _check(run, n, seed)
        kept += _checked(run, quality, n)
        if n in foreseen:
            kept += _foreseen(quality, n, foreseen[n])
    return kept


def _headline(run: Run) -> Iterator[Kept]:
    value, low, high = run.estimate
    words = ENGLISH(
        "results.headline",
        share=ENGLISH.percent(value),
        items=ENGLISH("count.items", n=len(run.truth)),
        low=ENGLISH.percent(low),
        high=ENGLISH.percent(high),
        n=int((run.labels != UNLABELLED).sum()),
    )
    ends = _numbers(words.split("(")[1])[:2]
    yield _within("Roughly ... of ... items look anomalous (... to ...)", 100 * run.truth.mean(), ends, HALF)
    shares = dict(zip(("share", "low", "high"), map(ENGLISH.percent, run.estimate), strict=True))
    ends = _numbers(ENGLISH("insight.share", **shares))[1:]
    yield _within("About ... of all items; likely between ... and ... (so far)", 100 * run.truth.mean(), ends, HALF)


def _expected(run: Run) -> Iterator[Kept]:
    sentence = "Roughly ... to ... of them are real anomalies"
    n_alarms = int((run.scores > run.cut).sum())
    yield from _real(run, run.cut, sentence)
    for times in MOVED:
        n_above = min(int(times * n_alarms), len(run.scores) - 1)
        yield from _real(run, np.sort(run.scores)[-1 - n_above], f"{sentence} ({times:g} times as many alarms)")
    shown = np.argsort(-run.scores, kind="stable")[:20]  # the list of alarms, a page of it
    shown = shown[run.labels[shown] == UNLABELLED]
    if len(shown):
        error = float(run.probabilities[shown].mean() - run.truth[shown].mean())
        yield Kept("... likely an anomaly: mean of the first page, above the truth", error, nominal="0")


def _real(run: Run, cut: float, sentence: str) -> Iterator[Kept]:
    """What is said of the alarms above a threshold, where there are some."""
    alarms = run.scores > cut
    unknown = alarms & (run.labels == UNLABELLED)
    real = real_alarms(run.probabilities[unknown], int((run.labels[alarms] == ANOMALY).sum()))
    words = ENGLISH("results.expected", low=int(real.low), high=int(real.high))
    if alarms.any():
        yield _within(sentence, run.truth[alarms].sum(), _numbers(words))


def _unsure(run: Run, findings: FitResults) -> Iterator[Kept]:
    words = unsure_words(findings, ENGLISH)
    if len(words) < 2:
        return
    unsure = findings.unsure.holds(run.scores) & (run.labels == UNLABELLED)
    said = [int(number) for number in _numbers(words[0])]
    counts = [int(unsure.sum()), int((unsure & (run.scores > run.cut)).sum())]
    yield Kept("... items without a label are not sure, ... of them alarms", float(said == counts), nominal="always")
    sides = [run.scores > np.quantile(run.scores, 1 - share) for share in run.estimate[1:]]
    changes = (sides[0] != sides[1]) & (run.labels == UNLABELLED)
    yield Kept("They would be normal if ... , and anomalies if ...", float((changes == unsure).all()), nominal="always")


def _checked(run: Run, quality: Quality, n: int) -> Iterator[Kept]:
    is_alarm = run.scores > run.cut
    hits, total = int((run.truth & is_alarm).sum()), int(run.truth.sum())
    _, share, alarms, *promised, recall, false, _ = quality_words(quality, ENGLISH)
    truth = 100 * run.truth.mean()
    yield _within(f"... to ... of all items are anomalies ({n} checked)", truth, _numbers(share)[:2])
    yield _within(f"... to ... of ... alarms are real ({n} checked)", hits, _numbers(alarms)[:2])
    if promised and quality.promised_alarms is not None and quality.alarms_judgement != "right":
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
    """The numbers of a sentence; 'below 1 %' and 'above 99 %' count as 0 and 100 of a hundred."""
    below, above = ENGLISH("percent.below"), ENGLISH("percent.above")
    plain = words.replace(below, "0").replace(above, "100").replace("1,000", "").replace(",", "")
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", plain)]


def _findings(run: Run) -> FitResults:
    """What the page knows of the session."""
    ids = [str(row) for row in range(len(run.truth))]
    words = {ANOMALY: Verdict.ANOMALY, NORMAL: Verdict.NORMAL}
    told = [Answer(ids[row], words[run.labels[row]]).event("expert") for row in np.flatnonzero(run.labels >= 0)]
    outcome = Outcome(run.scores, run.probabilities, np.zeros((len(ids), 2)), run.cut, run.reference)
    value, low, high = run.estimate.tolist()
    return FitResults(fold(told, len(told)), outcome, Estimate(value, low, high, "kept"), ids)


def _check(run: Run, n: int, seed: int) -> Quality:
    is_alarm, open_rows = run.scores > run.cut, np.flatnonzero(run.labels == UNLABELLED)
    rows = draw_check(is_alarm, open_rows, n, np.random.default_rng([seed, n])).rows[:n]
    told = np.where(run.truth, ANOMALY, NORMAL).astype(np.int8)
    return SpotCheck.of(is_alarm, run.labels, rows, told, run.probabilities).quality()
