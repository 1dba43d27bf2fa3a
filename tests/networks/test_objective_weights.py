"""Each objective's weights on a pool of six rows, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.networks.objectives import OBJECTIVES
from soel.types import ItemWeights, PoolView, RankedWeights

# Two groups on a line: rows 0, 1, 4 near 0 and rows 2, 3, 5 near 10. Row 0 is labelled normal, row 2 anomaly.
X = np.array([[0.0], [1.0], [10.0], [9.0], [2.0], [12.0]], np.float32)
LABELS = np.array([0, -1, 1, -1, -1, -1], np.int8)
VIEW = PoolView(np.zeros(6), X, LABELS)


def weights(name: str, part: str, view: PoolView = VIEW, **options: float) -> ItemWeights:
    found = getattr(OBJECTIVES.create(name, **options), part)(view)
    assert isinstance(found, ItemWeights)
    return found


@pytest.mark.parametrize("name", ["soel", "one-class", "supervised", "neighbour-labels", "gaussian-process-labels"])
def test_answers_weigh_one_on_their_own_loss(name: str) -> None:
    found = weights(name, "labelled")
    assert (found.normal.tolist(), found.anomaly.tolist()) == ([1, 0], [0, 1])


@pytest.mark.parametrize("name", ["all-normal", "loe-soft", "loe-hard"])
def test_without_an_expert_no_answer_counts(name: str) -> None:
    objective = OBJECTIVES.create(name)
    assert objective.labelled(VIEW) is None
    assert not objective.uses_labels


def test_what_the_rest_weighs() -> None:
    assert OBJECTIVES.create("supervised").unlabelled(VIEW) is None
    one_class, all_normal = weights("one-class", "unlabelled"), weights("all-normal", "unlabelled")
    assert (one_class.normal.tolist(), one_class.anomaly.tolist()) == ([1] * 4, [0] * 4)
    assert (all_normal.normal.tolist(), all_normal.anomaly.tolist()) == ([1] * 6, [0] * 6)


@pytest.mark.parametrize(
    ("name", "options", "rule"),
    [
        ("soel", {}, RankedWeights(0.5, None, None, 1.0)),
        ("soel", {"pseudo_label": 0.7, "unlabelled_weight": 2.0}, RankedWeights(0.7, None, None, 2.0)),
        ("loe-soft", {}, RankedWeights(0.5, None, None, 1.0)),
        ("loe-hard", {}, RankedWeights(1.0, None, None, 1.0)),
    ],
)
def test_ranked_rules(name: str, options: dict[str, float], rule: RankedWeights) -> None:
    assert OBJECTIVES.create(name, **options).unlabelled(VIEW) == rule


def test_which_objectives_take_one_step_for_both_means() -> None:
    assert [name for name in OBJECTIVES if OBJECTIVES.get(name).always_summed] == ["one-class"]


def test_neighbours_pass_on_their_labels() -> None:
    found = weights("neighbour-labels", "unlabelled")  # rows 1, 3, 4, 5
    assert found.anomaly.tolist() == [0, 1, 0, 1]
    assert found.normal.tolist() == [1, 0, 1, 0]


def test_of_three_neighbours_two_decide() -> None:
    labels = np.array([0, 0, 1, -1, 0, -1], np.int8)  # of row 3's three nearest (2, 4, 1) two are normal
    view = PoolView(np.zeros(6), X, labels)
    assert weights("neighbour-labels", "unlabelled", view).anomaly.tolist() == [1, 1]
    assert weights("neighbour-labels", "unlabelled", view, n_neighbours=3).anomaly.tolist() == [0, 0]
    assert weights("neighbour-labels", "unlabelled", view, n_neighbours=99).anomaly.tolist() == [0, 0]


def test_a_gaussian_process_calls_rows_after_the_nearer_label() -> None:
    found = weights("gaussian-process-labels", "unlabelled")
    assert found.anomaly.tolist() == [0, 1, 0, 1]
    assert found.normal.tolist() == [1, 0, 1, 0]


def test_the_process_reaches_as_far_as_labels_lie_apart() -> None:
    # Three normals and two anomalies: distances between labels are 1 and 100 (the median), so one far label is heard.
    x = np.array([[0.0], [1.0], [100.0], [101.0], [2.0], [80.0], [30.0]], np.float32)
    view = PoolView(np.zeros(7), x, np.array([0, 0, 1, 1, 0, -1, -1], np.int8))
    assert weights("gaussian-process-labels", "unlabelled", view).anomaly.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["neighbour-labels", "gaussian-process-labels"])
@pytest.mark.parametrize("kind", [0, 1])
def test_one_kind_of_label_is_everyone_s(name: str, kind: int) -> None:
    labels = np.where(LABELS == -1, LABELS, kind).astype(np.int8)
    found = weights(name, "unlabelled", PoolView(np.zeros(6), X, labels))
    assert found.anomaly.tolist() == [kind] * 4
    assert found.normal.tolist() == [1 - kind] * 4


@pytest.mark.parametrize("name", ["neighbour-labels", "gaussian-process-labels"])
def test_a_single_label_is_everyone_s(name: str) -> None:
    found = weights(name, "unlabelled", PoolView(np.zeros(6), X, np.array([-1, -1, 1, -1, -1, -1], np.int8)))
    assert (found.anomaly.tolist(), found.normal.tolist()) == ([1] * 5, [0] * 5)


def test_refinement_worked_by_hand() -> None:
    # One normal at 0, one anomaly at 10, unlabelled at 0 and 10: leanings are -10, 10 over a spread of 20, times 10.
    view = PoolView(np.zeros(4), np.array([[0.0], [10.0], [0.0], [10.0]]), np.array([0, 1, -1, -1], np.int8))
    sigmoid = 1 / (1 + np.exp(5))
    known, rest = weights("refinement", "labelled", view), weights("refinement", "unlabelled", view)
    np.testing.assert_allclose(known.normal, [2 * sigmoid * 2 / 4, 0], rtol=1e-6)
    np.testing.assert_allclose(rest.normal, [(2 - 2 * sigmoid) / 2, 2 * sigmoid / 2], rtol=1e-5)
    assert not known.anomaly.any()
    assert not rest.anomaly.any()


def test_refinement_looks_from_the_centres_of_both_kinds() -> None:
    # Normals at 0 and 4 (centre 2), anomalies at 10 and 14 (centre 12), unlabelled at 7: as far from both.
    x = np.array([[0.0], [4.0], [10.0], [14.0], [7.0]])
    view = PoolView(np.zeros(5), x, np.array([0, 0, 1, 1, -1], np.int8))
    np.testing.assert_allclose(weights("refinement", "unlabelled", view).normal, [1 * 1 / 5], rtol=1e-6)


@pytest.mark.parametrize("kind", [0, 1])
def test_refinement_without_a_second_kind_weighs_all_alike(kind: int) -> None:
    labels = np.where(LABELS == -1, LABELS, kind).astype(np.int8)
    view = PoolView(np.zeros(6), X, labels)
    np.testing.assert_allclose(weights("refinement", "unlabelled", view).normal, [4 / 6] * 4)
    np.testing.assert_allclose(weights("refinement", "labelled", view).normal, [(1 - kind) * 2 / 6] * 2)


def test_refinement_of_a_pool_of_copies() -> None:
    view = PoolView(np.zeros(6), np.ones((6, 1)), LABELS)
    np.testing.assert_allclose(weights("refinement", "unlabelled", view).normal, [4 / 6] * 4)
