"""One flipped bit in the log or in the note beside it, after a kill: every event is read, or the loss is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from soel.errors import DamagedError, SoelError
from soel.session.sqlite import read_last
from soel.session.store import SqlStore
from tests.session.stores.laws import label, numbers

N_EVENTS = 30
FILES = ("events.sqlite", "events.sqlite-wal", "events.sqlite-last")


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """What a killed process leaves: the newest events are in the log alone."""
    place = tmp_path / "killed"
    place.mkdir()
    store = SqlStore(tmp_path / FILES[0])
    for number in range(N_EVENTS):
        store.append([label(f"item {number}")])
    for name in FILES:
        shutil.copyfile(tmp_path / name, place / name)
    store.close()
    return place


def read(place: Path) -> list[int]:
    store = SqlStore(place / FILES[0], must_exist=True)
    try:
        store.check()
        return numbers(store.read())
    finally:
        store.close()


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_the_log_is_moved_into_the_database_when_it_is_opened(killed: Path) -> None:
    store = SqlStore(killed / FILES[0], must_exist=True)
    (killed / FILES[1]).rename(killed / "log")
    copy = killed / "copy.sqlite"
    shutil.copyfile(killed / FILES[0], copy)
    store.close()
    assert numbers(SqlStore(copy, must_exist=True).read()) == list(range(1, N_EVENTS + 1))


@pytest.mark.parametrize("name", FILES[1:])
def test_no_flipped_bit_hides_an_event(killed: Path, tmp_path: Path, name: str) -> None:
    n_bits = 8 * (killed / name).stat().st_size
    n_refused = 0
    for bit in np.random.default_rng(0).choice(n_bits, min(n_bits, 150), replace=False).tolist():
        place = tmp_path / "again"
        shutil.copytree(killed, place)
        flip(place / name, bit)
        try:
            assert read(place) == list(range(1, N_EVENTS + 1)), bit
        except SoelError:
            n_refused += 1
        shutil.rmtree(place)
    assert (n_refused > 0) == name.endswith("-wal")


def test_a_cut_log_is_named_kept_and_can_be_gone_on_without(killed: Path) -> None:
    log = killed / FILES[1]
    flip(log, 4 * log.stat().st_size)
    damaged = log.read_bytes()
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"but event 30 .* had been stored"):
            read(killed)
    assert log.with_name(log.name + ".damaged").read_bytes() == damaged
    (killed / FILES[2]).unlink()
    left = read(killed)
    assert 0 < len(left) < N_EVENTS


@pytest.mark.parametrize("write", [Path.unlink, lambda path: path.write_text("?")])
def test_a_lost_note_is_made_again(killed: Path, write: Callable[[Path], object]) -> None:
    known = read_last(killed / FILES[0])
    assert known is not None
    assert known[0] == N_EVENTS
    write(killed / FILES[2])
    read(killed)
    assert read_last(killed / FILES[0]) == known
