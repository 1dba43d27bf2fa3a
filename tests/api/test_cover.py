"""What thinning costs in cover radius, against all distances at once. About 3 s: the real engine warms up."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from soel.api import workspace
from soel.api.cover import measure_cover
from soel.api.workspace import read_encoder
from soel.data.frame import as_frame
from soel.metrics import cover_radius
from soel.session import Session
from tests.session.fake_engine import FakeEngine

N_ROWS, N_POOL = 400, 50


def thinned(place: Path, pool_rows: int = N_POOL) -> Session:
    x = np.random.default_rng(4).normal(size=(N_ROWS, 4))
    np.save(place / "t.npy", x)
    return workspace.create(place / "session", place / "t.npy", pool_rows=pool_rows, budget=10)


def test_both_radii_are_those_of_all_distances_at_once(tmp_path: Path) -> None:
    with closing(thinned(tmp_path)) as session:
        asked = session.ask(5)
        session.tell({asked.items[0]: "normal"})
        told: list[tuple[int, int]] = []
        cover = measure_cover(session, read_encoder(session.folder), lambda *now: told.append(now))
        encoder, rows = read_encoder(session.folder), [session.ids.index(item) for item in asked.items]
        whole = encoder.encode(as_frame(np.load(tmp_path / "t.npy")))
    assert cover is not None
    pool = np.clip(np.asarray(session.folder.pool), -3, 3)
    assert cover.n_queries == 5
    assert cover.pool == pytest.approx(cover_radius(pool, np.array(rows)), rel=1e-5)
    numbers = np.array([int(item) for item in asked.items])
    assert cover.whole == pytest.approx(cover_radius(np.clip(whole, -3, 3), numbers), rel=1e-5)
    assert cover.whole >= cover.pool
    assert told[-1] == (N_ROWS, N_ROWS)


def test_nothing_to_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "engine_maker", lambda place: FakeEngine)
    with closing(thinned(tmp_path, N_ROWS)) as session:  # the pool is everything
        session.ask(3)
        assert measure_cover(session, read_encoder(session.folder)) is None
    (tmp_path / "other").mkdir()
    with closing(thinned(tmp_path / "other")) as session:
        assert measure_cover(session, read_encoder(session.folder)) is None  # nothing was asked yet
        session.ask(3)
        assert measure_cover(session, read_encoder(session.folder)) is None  # the space is the model's own
