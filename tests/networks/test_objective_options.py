"""Options, embeddings and ties of the objectives that look at the pool."""

from __future__ import annotations

import numpy as np
import pytest

from soel.errors import ConfigError
from soel.networks.objectives import OBJECTIVES, all_on_normal, answered, classified
from soel.types import Floats, PoolView


def view_of(x: Floats, labels: list[int]) -> PoolView:
    return PoolView(np.zeros(len(x)), np.asarray(x, np.float32), np.array(labels, np.int8))


def test_answers_in_the_order_of_the_rows() -> None:
    view = view_of(np.zeros((5, 1)), [-1, 1, 0, -1, 1])
    found = answered(view)
    assert found.anomaly.tolist() == [1, 0, 1]
    assert found.normal.tolist() == [0, 1, 0]
    assert found.normal.dtype == found.anomaly.dtype == np.float32


def test_all_on_normal_is_as_long_as_asked() -> None:
    assert all_on_normal(0).normal.shape == (0,)
    assert all_on_normal(3).normal.tolist() == [1, 1, 1]
    assert all_on_normal(3).anomaly.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["one-class", "supervised", "all-normal", "loe-soft"])
def test_options_that_an_objective_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="does not take these options"):
        OBJECTIVES.create(name, pseudo_label=0.3)


def test_which_objectives_look_at_embeddings() -> None:
    looking = [name for name in OBJECTIVES if OBJECTIVES.get(name).needs_embeddings]
    assert looking == ["refinement", "neighbour-labels", "gaussian-process-labels"]


class Recording:
    """A classifier that remembers what it was taught, and calls every second row an anomaly."""

    def fit(self, x: Floats, y: np.ndarray) -> None:
        self.x, self.y = x, y

    def predict(self, x: Floats) -> np.ndarray:
        self.asked = x
        return np.arange(len(x)) % 2


def test_a_classifier_is_taught_the_labelled_rows_and_asked_about_the_others() -> None:
    x = np.arange(5.0)[:, None]
    classifier = Recording()
    found = classified(view_of(x, [-1, 1, 0, -1, -1]), classifier)
    assert (classifier.x[:, 0].tolist(), classifier.y.tolist()) == ([1, 2], [1, 0])
    assert classifier.asked[:, 0].tolist() == [0, 3, 4]
    assert found.anomaly.tolist() == [0, 1, 0]
    assert found.normal.tolist() == [1, 0, 1]


def test_a_gaussian_process_is_the_same_at_any_scale() -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    labels = [0, 0, 0, 1, 1] + [-1] * 7
    small, large = (OBJECTIVES.create("gaussian-process-labels").unlabelled(view_of(s * x, labels)) for s in (1, 1000))
    assert small.anomaly.tolist() == large.anomaly.tolist()


def test_labelled_rows_that_are_one_point_are_no_trouble() -> None:
    x = np.array([[1.0], [1.0], [1.0], [5.0]])
    found = OBJECTIVES.create("gaussian-process-labels").unlabelled(view_of(x, [0, 0, 1, -1]))
    assert set(found.anomaly.tolist()) <= {0.0, 1.0}
    assert found.normal.tolist() == [1 - found.anomaly[0]]


def test_refinement_leans_by_the_spread_over_all_rows() -> None:
    # Centres 0 and 10; differences of distances at 0, 10, 5, 20 are -10, 10, 0, 10: a spread of 20, times 10.
    view = view_of(np.array([[0.0], [10.0], [5.0], [20.0]]), [0, 1, -1, -1])
    found = OBJECTIVES.create("refinement").unlabelled(view).normal
    leaning = np.array([0.0, 5.0])
    np.testing.assert_allclose(found, (2 - 2 / (1 + np.exp(-leaning))) * 2 / 4, rtol=1e-5)
