"""The scores of the pretrained detector as they were when its weights were shipped: other ways to compute keep them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from soel.detect.incontext.pretrained import Pretrained
from soel.types import Floats

GOLDEN = Path(__file__).with_name("golden.json")  # made with the weights of version 5
SHOWN = 60  # rows whose scores are kept
TOLERANCE = 1e-4  # in standard deviations of a score


def cells() -> tuple[Floats, np.ndarray]:
    """200 cells of scikit-learn's table, one in ten malignant, scaled."""
    table = load_breast_cancer()
    benign, malignant = np.flatnonzero(table.target == 1), np.flatnonzero(table.target == 0)
    x = table.data[np.concatenate([benign[:180], malignant[:20]])]
    return ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32), np.repeat([0, 1], [180, 20])


def made_up() -> tuple[Floats, np.ndarray]:
    """300 rows with columns that are counted, heavy, bound to another, and constant."""
    rng = np.random.default_rng(16)
    x = rng.normal(size=(300, 8))
    x[:, 1] = np.round(2 * x[:, 1])
    x[:, 2] = np.exp(2 * x[:, 2])
    x[:, 4] = x[:, 3] + 0.1 * x[:, 4]
    x[:, 6] = 7
    x[280:, 3] += 3
    return x.astype(np.float32), np.repeat([0, 1], [280, 20])


TABLES = {"cells": cells, "made-up": made_up}


def compute(name: str, n_labels: int) -> dict[str, list[float]]:
    """What the detector says of the first and last rows of a table, and of rows between these."""
    x, truth = TABLES[name]()
    labels = np.full(len(x), -1, np.int8)
    asked = np.linspace(0, len(x) - 1, n_labels).astype(int)
    labels[asked] = truth[asked]
    fitted = Pretrained.fit(x, labels, 0)
    rows = np.concatenate([x[: SHOWN // 3], x[-SHOWN // 3 :], (x[: SHOWN // 3] + x[-SHOWN // 3 :]) / 2])
    found = {"score": fitted.score(rows), "query_score": fitted.query_score(rows), "chance": fitted.chance(rows)}
    found |= {"share": fitted._with_labels.shares()}
    return {part: np.round(values, 6).tolist() for part, values in found.items()}


@pytest.mark.parametrize("n_labels", [0, 10])
@pytest.mark.parametrize("name", TABLES)
def test_scores_are_those_of_the_weights_when_they_were_shipped(name: str, n_labels: int) -> None:
    wanted = json.loads(GOLDEN.read_text(encoding="utf-8"))[f"{name} {n_labels}"]
    found = compute(name, n_labels)
    assert found.keys() == wanted.keys()
    for part, values in wanted.items():
        np.testing.assert_allclose(found[part], values, atol=TOLERANCE, err_msg=part)
