"""A data folder with made-up tables under names of the catalogue, and a profile that trains in a blink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soel.settings import Schedule
from soel_paper.methods import VARIANTS, Variant
from soel_paper.sources import DataSource
from tests.conftest import make_toy
from tests.paper.server import server

__all__ = ["server"]

QUICK = Schedule(epochs=2, learning_rate=1e-3)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "tables").mkdir()
    for seed, name in enumerate(("breastw", "ionosphere")):
        toy = make_toy(seed, n_rows=160, n_anomalies=60)
        np.savez(folder / "tables" / f"{name}.npz", X=toy.x, y=toy.is_anomaly.astype(np.uint8))
    rng = np.random.default_rng(0)
    classes = {f"y_{part}": np.repeat([0, 1, 2], n) for part, n in (("train", 40), ("test", 10))}
    vectors = {
        f"x_{part}": rng.normal(size=(3 * n, 5)) + 3 * classes[f"y_{part}"][:, None]
        for part, n in (("train", 40), ("test", 10))
    }
    np.savez(folder / "cifar10-features.npz", **classes, **vectors)  # type: ignore[arg-type]
    return folder


@pytest.fixture
def source(data_dir: Path) -> DataSource:
    return DataSource(data_dir)


@pytest.fixture
def quick() -> Variant:
    authors = VARIANTS["authors"]
    return replace(authors, profile=replace(authors.profile, tables=QUICK, vectors=QUICK))
