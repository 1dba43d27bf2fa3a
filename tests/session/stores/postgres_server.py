"""A PostgreSQL server of one's own, for tests and benchmarks: started in a new folder, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

USER = "soel"
PEOPLE = ("postgres", "nobody")  # PostgreSQL refuses to run as root


@dataclass(frozen=True)
class Server:
    """folder: holds its data and its socket. It listens nowhere else."""

    folder: Path

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@/{database}?host={quote(str(self.folder / 'socket'))}"

    def new_database(self, name: str) -> str:
        """The address of a new, empty database."""
        _run([_binary("createdb"), "-h", str(self.folder / "socket"), "-U", USER, name])
        return self.address(name)

    def restart(self) -> None:
        """Stop, cutting all connections, and start again."""
        _control(self.folder, "restart", "-m", "fast")


def find_binaries() -> str | None:
    """The folder with initdb; installed first where that is possible."""
    found = _search()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update"], ["install", "-y", "postgresql"]):
            subprocess.run(["apt-get", "-q", *words], capture_output=True, check=False)
        found = _search()
    return found


@contextmanager
def running_server() -> Iterator[Server]:
    """A server for the length of a block."""
    folder = Path(tempfile.mkdtemp(prefix="soel-postgres-"))
    (folder / "socket").mkdir()
    if os.geteuid() == 0:
        for path in (folder, folder / "socket"):
            shutil.chown(path, _person())
    folder.chmod(0o755)
    try:
        _run(
            _as_person(
                [
                    _binary("initdb"),
                    "-D",
                    f"{folder}/data",
                    "-U",
                    USER,
                    "-E",
                    "UTF8",
                    "--locale=C",
                    "-A",
                    "trust",
                    "--no-sync",
                ]
            )
        )
        _control(folder, "start")
        yield Server(folder)
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            _control(folder, "stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _control(folder: Path, verb: str, *words: str) -> None:
    options = f"-c listen_addresses='' -c unix_socket_directories={folder}/socket"
    start = ["-o", options, "-l", f"{folder}/data/log"] if verb != "stop" else []
    _run(_as_person([_binary("pg_ctl"), verb, "-w", "-D", f"{folder}/data", *start, *words]))


def _run(command: list[str]) -> None:
    # The server keeps the streams it was started with, so a pipe would never end: a file does.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(command, stdout=said, stderr=said, cwd="/", check=False, timeout=120)
        said.seek(0)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {said.read()[-2000:]}")


def _as_person(command: list[str]) -> list[str]:
    return ["runuser", "-u", _person(), "--", *command] if os.geteuid() == 0 else command


def _person() -> str:
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in PEOPLE if name in names)


def _binary(name: str) -> str:
    return str(Path(find_binaries() or "") / name)


def _search() -> str | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = next((folder for folder in folders if (folder / "initdb").exists()), None)
    on_path = shutil.which("initdb")
    if found is None and on_path is not None:
        return str(Path(on_path).resolve().parent)
    return None if found is None else str(found)
