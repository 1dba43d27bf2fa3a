"""Locked, full, read-only and damaged are four things: four errors, four remedies, and reading goes on where it can."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import pytest

from soel.errors import DamagedError, DiskFullError, LockedError, ReadOnlyError
from soel.session import sqlite
from soel.session.events import Event
from soel.session.store import SqlStore
from tests.disks import SmallDisk


def answer(number: int) -> Event:
    return Event("label", "ann", f"i{number}", {"label": "normal"})


def items(store: SqlStore) -> list[str | None]:
    return [event.item for event in store.read()]


@pytest.fixture
def file(disk: SmallDisk) -> Path:
    """A store of two events, closed: its log is gone."""
    store = SqlStore(disk.path / "events.sqlite")
    store.append([answer(1), answer(2)])
    store.close()
    return disk.path / "events.sqlite"


def test_a_full_disk_is_named_and_loses_nothing(disk: SmallDisk, file: Path) -> None:
    store = SqlStore(file, must_exist=True)
    store.append([answer(3)])
    disk.fill()

    def append_many() -> None:
        for number in range(4, 400):
            store.append([answer(number)])

    with pytest.raises(DiskFullError, match=r"events\.sqlite cannot be used: the disk is full\. Free some space"):
        append_many()
    kept = items(store)
    assert kept[:3] == ["i1", "i2", "i3"]
    disk.free()
    store.append([answer(999)])
    assert items(store) == [*kept, "i999"], "the next try goes on"
    store.close()


@pytest.mark.parametrize("left_open", [False, True])
def test_a_full_disk_can_be_read_and_written_to_once_there_is_room(
    disk: SmallDisk, file: Path, left_open: bool
) -> None:
    killed = SqlStore(file, must_exist=True)
    killed.append([answer(3)])  # is in the log only
    if not left_open:
        killed.close()
    disk.fill()
    store = SqlStore(file, must_exist=True)
    assert items(store) == ["i1", "i2", "i3"]
    disk.free()
    store.append([answer(4)])
    assert items(store) == ["i1", "i2", "i3", "i4"]
    store.close()
    killed.close()


@pytest.mark.parametrize("with_log", [False, True])
def test_a_read_only_disk_can_be_read(disk: SmallDisk, file: Path, with_log: bool, tmp_path: Path) -> None:
    if with_log:  # as a killed process leaves it: the newest answers are in the log, and nowhere else
        store = SqlStore(file, must_exist=True)
        store.append([answer(3)])
        for path in file.parent.glob("events.sqlite*"):
            if not path.name.endswith("-shm"):
                (tmp_path / path.name).write_bytes(path.read_bytes())
        store.close()
        for path in file.parent.glob("events.sqlite*"):
            path.unlink()
        for path in tmp_path.glob("events.sqlite*"):
            (file.parent / path.name).write_bytes(path.read_bytes())
        assert (file.parent / "events.sqlite-wal").stat().st_size > 0
    disk.make_read_only()
    copies = set(Path(tempfile.gettempdir()).glob("soel-events-*"))
    store = SqlStore(file, must_exist=True)
    assert items(store) == ["i1", "i2", *(["i3"] if with_log else [])]
    assert set(Path(tempfile.gettempdir()).glob("soel-events-*")) <= copies, "the copy is in memory"
    with pytest.raises(ReadOnlyError, match=r"events\.sqlite cannot be used: the disk is read-only\. Make it writable"):
        store.append([answer(4)])
    disk.make_writable()
    store.append([answer(5)])
    assert items(store)[-1] == "i5"
    store.close()


def test_a_new_store_is_not_made_on_a_read_only_disk(disk: SmallDisk, file: Path) -> None:
    disk.make_read_only()
    with pytest.raises(ReadOnlyError, match="read-only"):
        SqlStore(file.with_name("other.sqlite"))


def test_a_store_that_another_process_keeps_locked_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MS", 50)
    store = SqlStore(tmp_path / "events.sqlite")
    other = sqlite3.connect(tmp_path / "events.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LockedError, match="in use by another process for too long; wait"):
        store.append([answer(1)])
    other.execute("ROLLBACK")
    other.close()
    store.append([answer(1)])
    store.close()


@pytest.mark.parametrize("damage", ["head", "middle", "nothing left"])
def test_a_damaged_store_is_told_from_the_others(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "events.sqlite"
    store = SqlStore(path)
    store.append([answer(number) for number in range(300)])
    store.close()
    content = bytearray(path.read_bytes())
    if damage == "head":
        content[:16] = b"\0" * 16
    elif damage == "middle":
        content[4096:] = b"\xff" * (len(content) - 4096)
    else:
        content = bytearray(b"this is a letter, not a database" * 200)
    path.write_bytes(content)

    def read() -> None:
        store = SqlStore(path, must_exist=True)
        try:
            store.read()
        finally:
            store.close()

    with pytest.raises(DamagedError, match=r"is damaged .* restore it from a copy"):
        read()
