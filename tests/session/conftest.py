"""A session over 60 points, eight of which lie far out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.files import write_whole
from soel.session import Session, SessionConfig, lay_out
from soel.session.store import SqlStore
from soel.settings import PAPER
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.types import Kind
from tests.session.fake_learner import use_fake_learner
from tests.table_session import make

__all__ = ["make"]

N_ITEMS, N_FAR = 60, 8
IDS = tuple(f"item {row}" for row in range(N_ITEMS))
TRUTH = {item: int(row < N_FAR) for row, item in enumerate(IDS)}


def make_config(**changes: Any) -> SessionConfig:
    base = SessionConfig(
        session="a-session",
        created="2024-01-01T00:00:00+00:00",
        source="points.csv",
        fingerprint="f" * 64,
        n_items=N_ITEMS,
        profile="paper",
        settings=asdict(PAPER.settle(Kind.TABLE, 3)),
        seed=7,
        budget=20,
    )
    return replace(base, **changes)


def make_points() -> np.ndarray:
    points = np.random.default_rng(3).normal(size=(N_ITEMS, 3))
    points[:N_FAR] += 6
    return points.astype(np.float32)


MakeSession = Callable[..., Session]


@pytest.fixture
def make_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSession]:
    """Sessions in folders of their own; `learner` of each is a FakeLearner."""
    opened: list[Session] = []
    use_fake_learner(monkeypatch)

    def make(name: str = "session", **changes: Any) -> Session:
        folder = tmp_path / name
        if not folder.exists():
            points = make_points()
            encoder = Encoder.fit(read_frame(points), "none").to_json()
            write_whole(folder / "encoder.json", json.dumps(encoder).encode())
            lay_out(folder, make_config(**changes), IDS, points)
        session = Session(folder, SqlStore(folder / "events.sqlite"))
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session()
