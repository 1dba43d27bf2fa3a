from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from soel.download import RemoteFile, download
from soel.errors import DataError
from tests.paper.server import CONTENT, Server

MD5, SHA256 = hashlib.md5(CONTENT).hexdigest(), hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize("checksum", [MD5, SHA256, ""])
def test_a_file_arrives_whole_with_progress(server: Server, tmp_path: Path, checksum: str) -> None:
    seen: list[tuple[int, int]] = []
    path = download(
        RemoteFile("file.bin", server.address, checksum),
        tmp_path / "new",
        lambda done, total: seen.append((done, total)),
    )
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]


def test_what_is_there_is_not_fetched(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"mine")
    assert download(RemoteFile("file.bin", server.address, MD5), tmp_path).read_bytes() == b"mine"
    assert server.asked == []


def test_a_broken_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    file, server.breaks_after = RemoteFile("file.bin", server.address, SHA256), 300_000
    with pytest.raises(DataError, match="Run it again to go on"):
        download(file, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    server.breaks_after = None
    assert download(file, tmp_path).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=300000-"]


def test_a_server_that_cannot_resume_starts_over(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    server.resumes = False
    assert download(RemoteFile("file.bin", server.address, MD5), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the checksum"):
        download(RemoteFile("file.bin", server.address, "0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="could not be fetched"):
        download(RemoteFile("file.bin", "http://127.0.0.1:9/file.bin", MD5), tmp_path)
