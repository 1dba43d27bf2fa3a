from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from soel.data.download import RemoteFile, download
from soel.errors import DataError

CONTENT = bytes(range(256)) * 4000
MD5, SHA256 = hashlib.md5(CONTENT).hexdigest(), hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """A local server. breaks_after: it hangs up after so many bytes. resumes: it knows about ranges."""

    address: str = ""
    breaks_after: int | None = None
    resumes: bool = True
    asked: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.resumes else 0
            if start >= len(CONTENT):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(CONTENT) - start))
            self.end_headers()
            stop = len(CONTENT) if state.breaks_after is None else start + state.breaks_after
            self.wfile.write(CONTENT[start:stop])

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_port}/file.bin"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield state
        running.shutdown()
        thread.join()


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


def test_a_whole_part_is_taken_as_it_is(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert download(RemoteFile("file.bin", server.address, MD5), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the checksum"):
        download(RemoteFile("file.bin", server.address, "0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="could not be fetched"):
        download(RemoteFile("file.bin", "http://127.0.0.1:9/file.bin", MD5), tmp_path)
