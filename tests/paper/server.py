"""A local server that hangs up or cannot resume when told to."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

CONTENT = bytes(range(256)) * 4000


@dataclass
class Server:
    """A local server of one file.

    breaks_after: it hangs up after so many bytes. resumes: it knows about ranges. asked: the ranges asked for.
    """

    address: str = ""
    content: bytes = CONTENT
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
            if start >= len(state.content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(state.content) - start))
            self.end_headers()
            stop = len(state.content) if state.breaks_after is None else start + state.breaks_after
            self.wfile.write(state.content[start:stop])

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_port}/file.bin"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield state
        running.shutdown()
        thread.join()
