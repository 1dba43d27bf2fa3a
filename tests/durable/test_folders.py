"""Folders that are whole or absent, private ones, and what may be deleted."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soel import files as disk
from soel.errors import DiskFullError, NoPermissionError, StorageError
from soel.files import (
    building,
    finish_exchange,
    is_marked,
    mark,
    private_folder,
    remove_all_leftovers,
    remove_leftovers,
    remove_marked,
    take_lock,
    write_whole,
)

UMASKS = [0o000, 0o022, 0o027]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    place = tmp_path / "new" / "folder"
    with building(place) as draft:
        (draft / "inside").mkdir()
        (draft / "inside" / "file").write_bytes(b"x")
        assert not place.exists()
    assert (place / "inside" / "file").read_bytes() == b"x"
    assert names(place.parent) == ["folder"]
    assert names(place) == ["inside"]


def test_a_folder_that_is_there_gives_way_whole(tmp_path: Path) -> None:
    for content in ("first", "second"):
        with building(tmp_path / "folder") as draft:
            (draft / content).write_text(content)
    assert names(tmp_path / "folder") == ["second"]
    (tmp_path / "empty").mkdir()
    with building(tmp_path / "empty") as draft:
        (draft / "file").touch()
    assert names(tmp_path) == ["empty", "folder"]


@pytest.mark.parametrize(("step", "n_good"), [("sync", 0), ("rename", 0), ("rename", 1), ("sync_folder", 0)])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, n_good: int
) -> None:
    write_whole(tmp_path / "folder" / "file", b"old")
    works, calls = getattr(disk, step), iter(range(100))

    def fail(*given: object) -> object:
        if next(calls) < n_good:
            return works(*given)
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill() -> None:
        with building(tmp_path / "folder") as draft:
            (draft / "file").write_bytes(b"new")
            monkeypatch.setattr(disk, step, fail)

    with pytest.raises(DiskFullError, match="disk is full"):
        fill()
    assert (tmp_path / "folder" / "file").read_bytes() == b"old"
    assert names(tmp_path) == ["folder"]


def test_everything_is_on_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def watch(name: str) -> None:
        step = getattr(disk, name)

        def watched(given: object, *more: object) -> object:
            path = Path(given.name if hasattr(given, "fileno") else str(given))  # type: ignore[attr-defined]
            steps.append(f"{name} {path.name}")
            return step(given, *more)

        monkeypatch.setattr(disk, name, watched)

    with building(tmp_path / "folder") as draft:
        (draft / "inside").mkdir()
        (draft / "inside" / "file").write_bytes(b"x")
        for name in ("sync", "rename", "sync_folder"):
            watch(name)
    assert steps[:4] == ["sync_folder whole", "sync file", "sync_folder inside", "rename whole"]
    assert f"sync_folder {tmp_path.name}" in steps[4:], "the parent is synced, so that the name lasts"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("umask", UMASKS)
def test_private_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with building(tmp_path / "private", private=True) as draft:
            assert mode(draft) == mode(draft.parent) == 0o700
        with building(tmp_path / "plain"):
            pass
        private_folder(tmp_path / "made")
        (tmp_path / "open").mkdir(mode=0o777)
        private_folder(tmp_path / "open")
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("private", "made", "open")] == [0o700] * 3
    assert mode(tmp_path / "plain") == 0o777 & ~umask


def test_a_link_is_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").symlink_to(tmp_path / "theirs")
    with pytest.raises(NoPermissionError, match="ours is a link"):
        private_folder(tmp_path / "ours")


def test_only_what_carries_our_mark_is_removed(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "file").touch()
    mark(ours)
    (tmp_path / "link").symlink_to(ours)
    assert [is_marked(tmp_path / name) for name in ("ours", "theirs", "link", "nothing")] == [True, False, False, False]
    for name in ("link", "theirs", "nothing"):
        remove_marked(tmp_path / name)
    assert names(tmp_path) == ["link", "ours", "theirs"]
    remove_marked(ours)
    assert not ours.exists()


KILLED = """
import os, sys
from pathlib import Path
from soel.files import building
with building(Path(sys.argv[1])) as draft:
    (draft / "half").touch()
    print(draft, flush=True)
    if sys.argv[2] == "die":
        os._exit(9)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["by name", "all", "by building"])
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_builds_is_not(tmp_path: Path, how: str) -> None:
    def start(how: str) -> tuple[subprocess.Popen[str], Path]:
        words = [sys.executable, "-c", KILLED, str(tmp_path / "folder"), how]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip()).parent

    alive, growing = start("live")
    dead, left = start("die")
    dead.wait()
    backup = tmp_path / ".folder-0a1b2c3d"  # even of such a name
    backup.mkdir()
    assert left.exists()
    if how == "by name":
        remove_leftovers(tmp_path / "folder")
    elif how == "all":
        remove_all_leftovers(tmp_path)
    else:
        with building(tmp_path / "folder"):
            pass
    assert not left.exists()
    assert growing.exists()
    assert backup.exists()
    alive.communicate("")
    assert alive.returncode == 0
    assert sorted(names(tmp_path)) == [".folder-0a1b2c3d", "folder"]
    dead.communicate()


def test_a_folder_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = list[Path]()

    def sweep_first(path: Path) -> object:
        lock = take_lock(path)
        if not swept:
            swept.append(path.parent)
            shutil.rmtree(path.parent)
        return lock

    monkeypatch.setattr(disk, "take_lock", sweep_first)
    with building(tmp_path / "folder", private=True) as draft:
        assert draft.parent != swept[0]
        (draft / "file").touch()
    assert names(tmp_path) == ["folder"]


def test_a_process_killed_between_two_renames_leaves_the_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for content in ("old", "new"):
        child = os.fork()
        if child == 0:
            if content == "new":
                disk.rename = lambda source, target: (source.replace(target), os._exit(0))  # type: ignore[assignment]
            with building(folder) as partial:
                (partial / "file").write_text(content)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert not folder.exists()
    finish_exchange(folder)
    assert (folder / "file").read_text() == "new"
    with building(folder) as partial:
        (partial / "file").write_text("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_was_made_although_the_disk_says_otherwise_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = disk.make_folder

    def fail(folder: Path, private: bool = False) -> None:
        make(folder, private)
        raise OSError(errno.EIO, "the disk reports an error", str(folder))

    monkeypatch.setattr(disk, "make_folder", fail)
    with pytest.raises(StorageError), building(tmp_path / "session"):
        raise AssertionError("it was begun")
    assert list(tmp_path.iterdir()) == []
