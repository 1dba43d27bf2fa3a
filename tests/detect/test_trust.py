"""How far labels are trusted: which are withheld from whom, and the formula by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.detect.incontext import trust
from soel.detect.incontext.context import keys
from soel.detect.incontext.predictor import Context, Reading
from soel.detect.incontext.trust import BELIEF, DOUBT, FOLDS, MIDDLE, SLOPE, withhold_labels
from soel.detect.incontext.weights import VERSION
from soel.types import Floats

NO_VIEWS = np.zeros((0, 0, 0), np.float32)


def context(n_rows: int, seed: int = 0) -> Context:
    """Rows that are known by their first value."""
    values = np.column_stack([np.arange(n_rows), np.ones(n_rows)]).astype(np.float32)
    return Context(values, NO_VIEWS, seed, 1)


class Told:
    """A reading whose scores are given."""

    def __init__(self, scores: Floats) -> None:
        self.scores = scores

    def context_logits(self) -> Floats:
        return self.scores

    def context_logits_beside(self, usual: np.ndarray) -> Floats:
        return np.asarray(self.scores - self.scores[usual].mean())  # says which rows are the usual ones


def say_instead(monkeypatch: pytest.MonkeyPatch, foretold: Callable[[Context, np.ndarray], Floats]) -> None:
    """In the network's place, in deviations already."""
    monkeypatch.setattr(trust, "Reading", lambda rows, labels: Told(foretold(rows, labels)))
    monkeypatch.setattr(trust, "_standardise", lambda scores: scores)


class Readings:
    """In the network's place: remembers what labels it was shown, and says what it is told to say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, with_labels: Any, without: Any) -> None:
        self.shown: list[dict[int, int]] = []
        self.rows: list[int] = []

        def foretold(rows: Context, labels: np.ndarray) -> Floats:
            numbers = rows.values[:, 0].astype(int)
            self.shown.append({n: int(label) for n, label in zip(numbers, labels, strict=True) if label >= 0})
            self.rows.append(len(numbers))
            return np.asarray((with_labels if self.shown[-1] else without)(numbers), np.float64)

        say_instead(monkeypatch, foretold)


def labelled(n_rows: int, known: dict[int, int]) -> np.ndarray:
    labels = np.full(n_rows, -1, np.int8)
    for row, label in known.items():
        labels[row] = label
    return labels


def test_where_there_is_no_label_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch, np.zeros_like, np.zeros_like)
    assert withhold_labels(context(20), labelled(20, {})).trust == 1.0
    assert readings.shown == []


@pytest.mark.parametrize("label", [0, 1])
def test_a_single_label_is_doubted_as_several_of_one_kind_are(monkeypatch: pytest.MonkeyPatch, label: int) -> None:
    readings = Readings(monkeypatch, np.ones_like, np.zeros_like)
    told = withhold_labels(context(20), labelled(20, {3: label}))
    assert told.trust == pytest.approx(1 / (1 + np.exp(DOUBT)))
    assert readings.shown == [{}, {}]  # withheld from itself it is not there


@pytest.mark.parametrize("n_labels", [2, 4, 5, 7, 12])
def test_each_label_is_withheld_once_and_shown_to_all_other_folds(
    monkeypatch: pytest.MonkeyPatch, n_labels: int
) -> None:
    known = {3 * n: n % 2 for n in range(n_labels)}
    readings = Readings(monkeypatch, np.zeros_like, np.zeros_like)
    withhold_labels(context(50), labelled(50, known))
    *folds, nobody = readings.shown
    assert nobody == {}
    assert len(folds) == min(FOLDS, n_labels)
    withheld = [row for shown in folds for row in known if row not in shown]
    assert sorted(withheld) == sorted(known)
    assert all(shown[row] == known[row] for shown in folds for row in shown)


def test_what_a_label_says_of_itself_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that repeats the labels it was shown, and knows nothing else, gains nothing."""
    known = {2: 1, 9: 0, 17: 1, 30: 0}
    shown: list[np.ndarray] = []

    def foretold(rows: Context, labels: np.ndarray) -> Floats:
        shown.append(labels)
        return np.where(labels == 1, 9.0, np.where(labels == 0, -9.0, MIDDLE))

    say_instead(monkeypatch, foretold)
    assert withhold_labels(context(40), labelled(40, known)).trust == pytest.approx(
        1 / (1 + np.exp(DOUBT - 2 * BELIEF))
    )
    assert len(shown) == 5


def log_likelihood(score: float, label: int) -> float:
    chance = 1 / (1 + np.exp(-(score - MIDDLE)))
    return float(np.log(chance if label else 1 - chance))


def test_the_gain_in_log_likelihood_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {1: 1, 5: 0, 8: 1}
    told, alone = {1: 2.5, 5: -0.5, 8: 0.7}, {1: 0.1, 5: 1.9, 8: 3.0}
    Readings(
        monkeypatch,
        lambda numbers: [told.get(n, 0.0) for n in numbers],
        lambda numbers: [alone.get(n, 0.0) for n in numbers],
    )
    gain = sum(log_likelihood(told[n], label) - log_likelihood(alone[n], label) for n, label in known.items())
    wanted = 1 / (1 + np.exp(-(BELIEF - DOUBT + SLOPE * gain)))  # one label is of the rarer kind
    assert withhold_labels(context(12), labelled(12, known)).trust == pytest.approx(wanted, rel=1e-12)


def test_labels_that_mislead_are_doubted_more_the_more_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for n_labels in (4, 8, 16):
        known = {n: int(n % 4 == 0) for n in range(n_labels)}
        Readings(
            monkeypatch,
            lambda numbers: [MIDDLE - 3 if n % 4 == 0 else MIDDLE + 3 for n in numbers],
            lambda numbers: [MIDDLE + 3 if n % 4 == 0 else MIDDLE - 3 for n in numbers],
        )
        found.append(withhold_labels(context(60), labelled(60, known)).trust)
    assert 0.1 > found[0] > found[1] > found[2] > 0


def test_a_large_context_is_read_in_a_part_that_holds_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {n: n % 2 for n in range(0, 900, 90)}
    readings = Readings(monkeypatch, np.zeros_like, np.zeros_like)
    withhold_labels(context(1000), labelled(1000, known))
    assert set(readings.rows) == {trust.MOST_ROWS}
    seen = {row for shown in readings.shown for row in shown}
    assert seen == set(known)


def test_scores_are_in_deviations_over_the_context() -> None:
    said = np.array([1.0, 2.0, 3.0, 6.0])
    np.testing.assert_allclose(trust._standardise(said), (said - 3) / np.sqrt(14 / 4))
    np.testing.assert_array_equal(trust._standardise(np.full(4, 5.0)), np.zeros(4))


def test_withheld_rows_are_scored_by_the_labels_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the network's place: a score is a row's number, and a hundred more where it sees the row's own label."""
    known = {1: 1, 5: 0, 8: 0}

    def foretold(rows: Context, labels: np.ndarray) -> Floats:
        return np.asarray(rows.values[:, 0] + 100 * (labels >= 0), np.float64)

    say_instead(monkeypatch, foretold)
    rows = context(12)
    found = withhold_labels(rows, labelled(12, known)).find(rows.values)
    usual = np.delete(np.arange(12), list(known)).mean()
    assert {n: found[n] for n in known} == {n: n - usual for n in known}
    assert np.isnan(np.delete(found, list(known))).all()
    alone = withhold_labels(rows, labelled(12, {1: 1})).find(rows.values)
    assert alone[1] == 1 - np.delete(np.arange(12), 1).mean()
    assert np.isnan(np.delete(alone, 1)).all()


def test_equal_rows_share_what_was_withheld() -> None:
    values = np.array([[1.0], [1.0], [2.0]], np.float32)
    withheld = trust.WithheldScores(1.0, keys(values), np.array([1.0, 4.0, 7.0]))
    np.testing.assert_array_equal(withheld.find(np.array([[2.0], [1.0]], np.float32)), [7.0, 2.5])


def test_scores_that_hardly_differ_are_not_blown_up() -> None:
    np.testing.assert_allclose(trust._standardise(np.array([1.0, 1.002])), [-0.1, 0.1], atol=1e-9)
    np.testing.assert_allclose(trust._standardise(np.array([1.0, 1.2])), [-1, 1], atol=1e-9)


def test_withheld_rows_are_told_beside_the_rows_that_nobody_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suspicious rows that were asked would else widen the unit that they are told in."""
    known = dict.fromkeys(range(0, 20, 2), 0)
    say_instead(monkeypatch, lambda rows, labels: np.where(np.isin(rows.values[:, 0], list(known)), 9.0, 1.0))
    rows = context(40)
    withheld = withhold_labels(rows, labelled(40, known))
    assert withheld.scores.tolist() == [8.0] * 10  # 9 less the 1 of the others, though 9 stands among them unlabelled
    assert sorted(withheld.keys) == sorted(keys(rows.values[list(known)]))


def test_the_unit_of_some_rows_by_hand() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    x[:6] += 5
    labels = np.full(60, -1, np.int8)
    labels[:3] = 1
    reading, free = Reading(Context(x, NO_VIEWS, 0, VERSION), labels), labels == -1
    np.testing.assert_allclose(reading.context_logits_beside(free), reading.context_logits())
    fewer = free & (np.arange(60) > 10)
    beside = reading.context_logits_beside(fewer)
    assert beside[fewer].mean() == pytest.approx(0, abs=1e-5)
    assert beside[fewer].std() == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(beside, reading.context_logits())[0, 1] == pytest.approx(1)


def test_trust_by_hand() -> None:
    """Two anomalies that gained 1 each, and eight normal rows that gained 3 each: these count like two."""
    is_anomaly = np.array([True] * 2 + [False] * 8)
    trusted = trust._trust(np.array([1.0] * 2 + [3.0] * 8), is_anomaly)
    assert trusted == pytest.approx(1 / (1 + np.exp(2.0 - 0.6 * 2 - 0.5 * (2 + 24 * 2 / 8))))
    more_anomalies = trust._trust(np.array([1.0] * 8 + [3.0] * 2), ~is_anomaly[::-1])
    assert more_anomalies == pytest.approx(1 / (1 + np.exp(2.0 - 0.6 * 2 - 0.5 * (8 + 6))))


@pytest.mark.parametrize("n_labels", [2, 10, 40])
def test_normal_answers_alone_are_never_believed_much(n_labels: int) -> None:
    """However well they foretell one another: what was asked was suspicious, and none of it was an anomaly."""
    assert trust._trust(np.full(n_labels, 5.0), np.zeros(n_labels, bool)) == pytest.approx(1 / (1 + np.exp(2.0)))
