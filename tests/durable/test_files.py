"""Files that are whole or absent, and what is said where they cannot be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from soel import files as disk
from soel.errors import DiskFullError, NoPermissionError, ReadOnlyError, StorageError
from soel.files import copy_whole, explain, move, replacing, replacing_path, replacing_text, write_whole

Write = Callable[[Path, bytes], None]


def by_stream(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def by_text(path: Path, content: bytes) -> None:
    with replacing_text(path) as file:
        file.write(content.decode())


def by_name(path: Path, content: bytes) -> None:
    with replacing_path(path) as draft:
        draft.write_bytes(content)


def by_copy(path: Path, content: bytes) -> None:
    source = path.parent.parent / "source"
    source.write_bytes(content)
    copy_whole(source, path)


WAYS: list[Write] = [write_whole, by_stream, by_text, by_name, by_copy]


def failing(step: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk, step, fail)


@pytest.mark.parametrize("write", WAYS)
def test_a_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "new folder" / "file"
    write(path, b"a long first content")
    write(path, b"second\r\n")
    assert path.read_bytes() == b"second\r\n"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("step", ["sync", "rename"])
def test_a_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write, step: str
) -> None:
    path = tmp_path / "folder" / "file"
    write(path, b"first")
    failing(step, errno.ENOSPC, monkeypatch)
    with pytest.raises(DiskFullError, match=r"folder/file cannot be written: the disk is full\. Free some space"):
        write(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("write", WAYS)
def test_the_file_is_on_disk_before_its_name_is_and_the_name_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    steps = []

    def watch(name: str) -> None:
        step = getattr(disk, name)

        def watched(*given: object) -> object:
            steps.append(name)
            return step(*given)

        monkeypatch.setattr(disk, name, watched)

    for name in ("sync", "rename", "sync_folder"):
        watch(name)
    write(tmp_path / "folder" / "file", b"content")
    assert steps == ["sync", "rename", "sync_folder"]


def test_what_is_not_to_last_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing("sync", errno.EIO, monkeypatch)
    failing("sync_folder", errno.EIO, monkeypatch)
    write_whole(tmp_path / "file", b"content", lasting=False)
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_private_file_is_private_before_its_first_byte(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "secret", private=True) as file:
            assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
        write_whole(tmp_path / "key", b"k", private=True)
        write_whole(tmp_path / "plain", b"p")
    finally:
        os.umask(before)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_block_that_fails_for_its_own_reason_is_not_blamed_on_the_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file"):
        (tmp_path / "other" / "missing").read_bytes()
    with pytest.raises(ConnectionResetError), replacing(tmp_path / "file"):
        raise ConnectionResetError(errno.ECONNRESET, "reset by peer")
    assert not list(tmp_path.iterdir())


def test_a_rename_that_fails_is_told_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b" / "full").mkdir(parents=True)
    with pytest.raises(StorageError, match="b cannot be written: "):
        move(tmp_path / "a", tmp_path / "b")


def test_a_moved_folder_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "a" / "inside").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    move(tmp_path / "a" / "inside", tmp_path / "b" / "inside")
    assert (tmp_path / "b" / "inside").is_dir()


@pytest.mark.parametrize(
    ("number", "kind", "why"),
    [
        (errno.ENOSPC, DiskFullError, "the disk is full. Free"),
        (errno.EDQUOT, DiskFullError, "the quota is used up. Free"),
        (errno.EROFS, ReadOnlyError, "the disk is read-only. Make it writable"),
        (errno.EACCES, NoPermissionError, "this account may not. Change the permissions"),
        (errno.EPERM, NoPermissionError, "this account may not. Change the permissions"),
        (errno.EIO, StorageError, "the disk reports an error. Copy"),
        (errno.ENAMETOOLONG, StorageError, "File name too long. Check"),
    ],
)
def test_each_reason_has_its_own_error_and_remedy(number: int, kind: type[StorageError], why: str) -> None:
    told = explain(OSError(number, os.strerror(number)), Path("/place/file"), "opened")
    assert type(told) is kind
    assert str(told).startswith(f"/place/file cannot be opened: {why}")
    assert (told.errno, told.filename, told.strerror) == (number, "/place/file", why.split(".")[0])
    assert isinstance(told, OSError)
    assert explain(told, Path("/other")) is told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_truly_full_disk_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(disk, "create", lambda *_: Path("/dev/full").open("wb"))  # noqa: SIM115
    with pytest.raises(DiskFullError, match="file cannot be written: the disk is full"):
        write_whole(tmp_path / "file", b"x" * 100_000)
