"""A file that is not what it was is refused, whatever it is; one that was not touched is not read again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from soel.errors import DamagedError
from soel.session import SessionFolder, folder as module, lay_out
from soel.session.folder import CHECKED, compare, digest_of
from tests.session.conftest import IDS, make_config, make_points

USE: dict[str, Callable[[SessionFolder], object]] = {
    "features.npy": lambda place: place.pool,
    "ids.json": lambda place: place.ids,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path, make_config(), IDS, make_points())
    return tmp_path


def age(path: Path, seconds: int = 60) -> None:
    """Make a file look older, so that its times can be trusted; the time of that change itself cannot be set."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def flip(path: Path, at: int) -> None:
    """Change one bit and leave size and time as they were."""
    kept, content = path.stat(), bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))


@pytest.mark.parametrize("name", USE)
@pytest.mark.parametrize("at", [-1, -100])
def test_one_changed_bit_is_noticed(folder: Path, name: str, at: int) -> None:
    USE[name](SessionFolder(folder))
    flip(folder / name, at)
    with pytest.raises(DamagedError, match=rf"{name} is not what it was .*`soel check {folder}`"):
        USE[name](SessionFolder(folder))
    flip(folder / name, at)
    USE[name](SessionFolder(folder))


@pytest.mark.parametrize("name", USE)
def test_a_lost_file_is_noticed(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DamagedError, match=f"{name} is missing"):
        USE[name](SessionFolder(folder))


def test_what_lies_in_the_folder_at_the_start_is_in_the_config(tmp_path: Path) -> None:
    for name in ("source.csv", "encoder.json", "media.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "events.sqlite").write_bytes(b"changes")
    config = lay_out(tmp_path, make_config(), IDS, make_points()).config
    assert set(config.digests) == {"source.csv", "encoder.json", "media.json", "ids.json", "features.npy"}


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read whole."""
    read: list[Path] = []

    def watched(path: Path) -> str:
        read.append(path)
        return digest_of(path)

    monkeypatch.setattr(module, "digest_of", watched)
    return read


def test_an_untouched_file_is_read_once(folder: Path, n_read: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "YOUNG", 0)
    for _ in range(3):
        _ = SessionFolder(folder).ids
    assert len(n_read) == 1
    flip(folder / "ids.json", -5)  # with the size and the time it had
    with pytest.raises(DamagedError):
        _ = SessionFolder(folder).ids
    assert len(n_read) == 2


def test_a_file_that_just_changed_is_not_trusted_by_its_times(folder: Path, n_read: list[Path]) -> None:
    for _ in range(3):
        _ = SessionFolder(folder).ids
    assert len(n_read) == 3


def test_a_copied_folder_is_compared_anew(folder: Path, n_read: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "YOUNG", 0)
    _ = SessionFolder(folder).ids
    content = (folder / "ids.json").read_bytes()
    (folder / "other").write_bytes(content)
    (folder / "other").replace(folder / "ids.json")
    _ = SessionFolder(folder).ids
    assert len(n_read) == 2


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"ids.json": 7}'])
def test_a_broken_note_costs_a_comparison_and_nothing_else(folder: Path, text: str) -> None:
    (folder / CHECKED).write_text(text)
    _ = SessionFolder(folder).ids
    flip(folder / "ids.json", -5)
    with pytest.raises(DamagedError):
        _ = SessionFolder(folder).ids


def test_the_note_is_private_and_not_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "YOUNG", 0)
    path, digest = folder / "ids.json", digest_of(folder / "ids.json")
    compare(path, digest)
    assert (folder / CHECKED).stat().st_mode & 0o077 == 0
    assert list(json.loads((folder / CHECKED).read_text())) == ["ids.json"]

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (folder / CHECKED).unlink()
    monkeypatch.setattr("soel.files.rename", fail)
    compare(path, digest)
