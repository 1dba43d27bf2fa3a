"""What rows are taken for: by their values, never by their number of columns alone."""

from __future__ import annotations

import numpy as np
import pytest

from soel import SOEL
from soel.assess.metrics import auroc
from soel.errors import ConfigError
from soel.tables.frame import as_frame, find_kind
from soel.types import Kind

RNG = np.random.default_rng(0)


def features(n_rows: int = 80, width: int = 400) -> np.ndarray:
    """As after a rectifier: half of them zero, some columns dead."""
    x = np.maximum(RNG.normal(size=(n_rows, width)), 0).astype(np.float32)
    x[:, ::9] = 0
    return x


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (features(), Kind.VECTORS),
        (features().astype(np.float16), Kind.VECTORS),
        (features(width=300), Kind.TABLE),
        ((RNG.random((200, 1500)) < 0.1).astype(float), Kind.TABLE),
        (RNG.poisson(3, (200, 400)).astype(float), Kind.TABLE),
        (np.where(RNG.random((80, 400)) < 0.01, np.nan, RNG.normal(size=(80, 400))), Kind.TABLE),
        (np.ones((20, 400)), Kind.TABLE),
    ],
    ids=["features", "half precision", "few columns", "flags", "counts", "gaps", "constant"],
)
def test_the_kind_follows_the_values(x: np.ndarray, kind: Kind) -> None:
    assert find_kind(as_frame(x)) is kind


def test_the_user_has_the_last_word() -> None:
    assert find_kind(as_frame(features()), "table") is Kind.TABLE
    assert find_kind(as_frame(features(width=10)), "vectors") is Kind.VECTORS
    with pytest.raises(ConfigError, match=r"'tabel'\. Choose one of: auto, table, vectors, pictures"):
        SOEL(kind="tabel").query(features())


def test_ten_columns_of_many_categories_are_a_table_in_every_step() -> None:
    words = np.array([f"word {number}" for number in range(31)])
    x = words[RNG.integers(31, size=(120, 10))]
    detector = SOEL("distances", random_state=0)
    rows = detector.query(x, 6)
    y = np.full(120, -1)
    y[rows] = np.arange(6) % 2
    detector.fit(x, y)
    assert detector.kind_ == "table"
    assert detector.detector_.encoder.n_features > 300
    assert detector.detector_.fitted.blend.detector is not None
    assert detector.detector_.fitted.blend.detector.name == "neighbours"
    n_weights = sum(p.numel() for p in detector.detector_.fitted.blend.trained.model.backbone.parameters())
    assert n_weights < 2_000_000
    usual = SOEL(random_state=0).fit(x, y)
    assert usual.kind_ == "table"
    assert getattr(usual.detector_.fitted.blend.detector, "name", None) == "pretrained"


def test_many_flags_are_a_table_and_do_no_worse_than_plain_neighbours() -> None:
    rng = np.random.default_rng(1)
    shares = rng.random(1500) * 0.2
    is_anomaly = np.arange(300) < 30
    x = (rng.random((300, 1500)) < np.where(is_anomaly[:, None], rng.permutation(shares), shares)).astype(float)
    detector = SOEL(random_state=0)
    rows = detector.query(x, 10)
    y = np.full(300, -1)
    y[rows] = is_anomaly[rows]
    scores = detector.fit(x, y).anomaly_score(x)
    distances, rest = _neighbour_distance(x), y == -1
    assert detector.kind_ == "table"
    assert auroc(is_anomaly[rest], scores[rest]) >= auroc(is_anomaly[rest], distances[rest])


def _neighbour_distance(x: np.ndarray) -> np.ndarray:
    """The distance to the fifth nearest row."""
    squares = (x**2).sum(axis=1)
    return np.sort(np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0), axis=1)[:, 5]
