"""Every option of a new session has an effect, or is refused."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from soel import ConfigError, SessionOptions, create_session
from soel.tables.rows import write_rows
from tests.conftest import make_toy

EFFECTS: dict[str, Any] = {
    "id_column": "name",
    "label_column": "truth",
    "profile": "paper",
    "seed": 7,
    "budget": 5,
    "threshold": "alarms=3",
    "contamination": 0.3,
    "answers_per_item": 2,
    "lease_minutes": 1e-6,
    "pool_rows": 100,
    "kind": "vectors",
    "goal": "find",
    "strategy": "random",
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    toy = make_toy(n_rows=120)
    rows = [[f"n{at}", *row, int(toy.is_anomaly[at])] for at, row in enumerate(toy.x.tolist())]
    path = tmp_path_factory.mktemp("options") / "table.csv"
    write_rows(path, ["name", *"abcdef", "truth"], rows)
    return path


def lived(folder: Path, table: Path, **options: Any) -> tuple[Any, ...]:
    """What can be seen of a short session with these options."""
    with closing(create_session(folder, table, SessionOptions(**options))) as session:
        asked = session.ask(4)
        shown = [session.next_items(who) for who in ("ann", "bob")]
        for item in asked.items:
            session.tell({item: "normal"}, who="ann")
        fitted = session.fit()
        scored = session.score()
        status = session.status()
    kept = fitted.estimate.value, scored.alarms.tolist(), scored.scores.tolist(), list(scored.ids)
    return asked.items, shown, status.n_labels, status.n_left, status.n_open, kept


def test_every_option_of_a_session_has_an_effect(table: Path, tmp_path: Path) -> None:
    assert list(EFFECTS) == [field.name for field in fields(SessionOptions)]
    usual = lived(tmp_path / "usual", table)
    for name, value in EFFECTS.items():
        assert lived(tmp_path / name, table, **{name: value}) != usual, name


@pytest.mark.parametrize(
    "options",
    [{"strategy": "best"}, {"profile": "best"}, {"goal": "find", "strategy": "random"}, {"goal": "win"}],
)
def test_an_option_without_an_effect_is_refused(table: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        create_session(tmp_path / "none", table, SessionOptions(**options))
    assert not (tmp_path / "none").exists()
