"""Sessions over a small table, with the fake learner in place of the real one: a fixture for several rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from soel.session import Session, SessionOptions, create
from tests.cli.conftest import write_table
from tests.session.fake_learner import use_fake_learner

Make = Callable[..., Session]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """New sessions in folders of their own, all over the same table."""
    use_fake_learner(monkeypatch)
    table, opened = write_table(tmp_path / "table.csv"), list[Session]()

    def start(name: str = "session", store: str | None = None, **options: Any) -> Session:
        chosen = SessionOptions(id_column="name", label_column="truth", **options)
        opened.append(create.create_session(tmp_path / name, table, chosen, store=store))
        return opened[-1]

    yield start
    for session in opened:
        session.close()
