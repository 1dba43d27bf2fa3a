"""Sessions over a small table, with the fake learner; rows to add to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.session import Session
from soel.session.growth import add_data
from tests.cli.conftest import HEADER as NAMES
from tests.table_session import Make

HEADER = ",".join(NAMES) + "\n"


def more_rows(path: Path, n_rows: int, first: int = 100, shift: float = 0.0) -> Path:
    values = np.random.default_rng(first).normal(size=(n_rows, 3)).round(3) + shift
    lines = (f"{first + row},{a},{b},{c},0\n" for row, (a, b, c) in enumerate(values.tolist()))
    path.write_text(HEADER + "".join(f"=n{line}" for line in lines))
    return path


def label(session: Session, n: int) -> tuple[str, ...]:
    asked = session.ask(n).items
    session.tell({item: "anomaly" if row < 2 else "normal" for row, item in enumerate(asked)}, "ann")
    return asked


@pytest.fixture
def grown(make: Make, tmp_path: Path) -> Session:
    """A session with a fit, to which six rows were added."""
    session = make(budget=8)
    label(session, 4)
    session.fit()
    add_data(session, more_rows(tmp_path / "march.csv", 6))
    return session
