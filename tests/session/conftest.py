"""A session over 60 points, eight of which lie far out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.session import Session, SessionConfig, SessionFolder, lay_out
from soel.session.store import SqlStore
from soel.settings import PAPER
from soel.types import Kind
from tests.session.fake_engine import FakeEngine

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
def make_session(tmp_path: Path) -> Iterator[MakeSession]:
    """Sessions in folders of their own; `engine` of each is a FakeEngine."""
    opened: list[Session] = []

    def make(name: str = "session", **changes: Any) -> Session:
        folder = tmp_path / name
        if not folder.exists():
            lay_out(folder, make_config(**changes), IDS, make_points())
        config = SessionFolder(folder).config
        session = Session(folder, SqlStore(folder / "events.sqlite"), lambda: FakeEngine(config))
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session()
