"""A pool that is changed by several at once, by one that crashes, or on a disk that is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import DamagedError
from soel.session import Session, create
from soel.session.check import CheckedFile, check_session, repair
from soel.session.growth import add_data, remove_items, take_rows
from tests.session.again import differing
from tests.session.pools.conftest import more_rows


def _files(folder: Path) -> tuple[CheckedFile, ...]:
    """All findings but those on models, which the fake learner writes in a form of its own."""
    return tuple(finding for finding in check_session(folder) if not finding.name.startswith("models/"))


def test_two_who_change_the_pool_at_once_both_come_through(grown: Session, tmp_path: Path) -> None:
    other = create.open_session(grown.folder.path)
    known = grown.state
    add_data(other, more_rows(tmp_path / "april.csv", 3, first=200))
    late = take_rows(grown.folder_with(known.pools), np.ones(known.pool.n_items or 0, bool), known.pool)
    assert grown.change_pool(known, late) is None, "it did not know of the other change"
    folders = {path.name for path in (grown.folder.path / "pools").iterdir()}
    assert folders == {Path(pool.folder).name for pool in grown.state.pools[1:]}, "what counts for nothing is gone"
    remove_items(grown, ["=n200"])
    assert grown.status().n_items == other.status().n_items == grown.config.n_items + 6 + 2
    other.close()


def test_a_round_drawn_from_a_pool_that_changed_meanwhile_is_drawn_again(
    grown: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = grown._keep, list[int]()

    def draw(*given: Any) -> Any:
        drawn = real(*given)
        if not calls:
            calls.append(1)
            add_data(create.open_session(grown.folder.path), more_rows(tmp_path / "april.csv", 3, first=200))
        return drawn

    monkeypatch.setattr(grown, "_keep", draw)
    asked = grown.ask(2)
    assert len(asked.items) == 2
    assert grown.state.pools_of(grown.state.rounds[-1]) == grown.state.pools
    assert differing(grown) == []


def test_check_looks_at_every_pool_and_repairs_what_follows_from_its_tables(grown: Session) -> None:
    folder = grown.folder.path
    found = {finding.name: finding.is_whole for finding in _files(folder)}
    assert all(found.values())
    assert {f"pools/0002/{name}" for name in ("ids.json", "features.npy", "rows.npy", "source.csv")} <= set(found)
    (folder / "pools/0002/features.npy").write_bytes(b"no array")
    with pytest.raises(DamagedError, match=r"features\.npy is not what it was"):
        _ = create.open_session(folder).folder.pool
    damaged = _files(folder)
    assert [finding.name for finding in damaged if finding.is_whole is False] == ["pools/0002/features.npy"]
    assert repair(folder, damaged) == ["pools/0002/features.npy"]
    assert all(finding.is_whole for finding in _files(folder))


def test_a_crash_before_the_event_leaves_the_session_as_it_was(
    grown: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(events: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grown._store, "append", crash)
    with pytest.raises(KeyboardInterrupt):
        add_data(grown, more_rows(tmp_path / "april.csv", 3, first=200))
    again = create.open_session(grown.folder.path)
    assert (again.status().pool, again.status().n_items) == (2, grown.config.n_items + 6)
    add_data(again, tmp_path / "april.csv")
    assert again.state.pool.folder == "pools/0003-2", "what was left behind is never overwritten"
    assert all(finding.is_whole for finding in _files(again.folder.path))
    again.close()
