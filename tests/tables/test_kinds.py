"""What rows are taken for: by their values, never by their number of columns alone."""

from __future__ import annotations

import numpy as np
import pytest

from soel import SOEL
from soel.errors import ConfigError
from soel.tables.frame import find_kind, read_frame
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
        (np.array([f"word {number}" for number in range(31)])[RNG.integers(31, size=(120, 310))], Kind.TABLE),
    ],
    ids=["features", "half precision", "few columns", "flags", "counts", "gaps", "constant", "words"],
)
def test_the_kind_follows_the_values(x: np.ndarray, kind: Kind) -> None:
    assert find_kind(read_frame(x)) is kind


def test_the_user_has_the_last_word() -> None:
    assert find_kind(read_frame(features()), "table") is Kind.TABLE
    assert find_kind(read_frame(features(width=10)), "vectors") is Kind.VECTORS
    with pytest.raises(ConfigError, match=r"'tabel'\. Choose one of: auto, table, vectors, pictures"):
        SOEL(kind="tabel").query(features())
