"""A cluster that soel starts itself: who reaches it, who is let in, and whom it calls."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scoring.ray_nodes import ROOT

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sockets are listed by /proc"),
]
LISTENING = "0A"
VISIT = """
import logging, sys, warnings
warnings.simplefilter("ignore")
import ray
from ray._private import services
services.resolve_ip_for_localhost = lambda host: host  # or it would look at another address
here = {"_node_ip_address": "127.0.0.1", "log_to_driver": False, "configure_logging": False}
ray.init(address=sys.argv[1], logging_level=logging.ERROR, **here)
print("let in", len(ray.nodes()), ray.get(ray.remote(lambda: 7).remote()))
"""


@dataclass(frozen=True)
class Running:
    """A cluster that is up. connects: the file with every address that one of its processes called."""

    pid: int
    head: str
    token: str
    connects: Path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("closed")
    environment = {**outsider(folder), "CONNECTS": str(folder / "connects")}
    if shutil.which("cc") is not None:
        shim = folder / "connects.so"
        source = Path(__file__).with_name("connects.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True, capture_output=True)
        environment["LD_PRELOAD"] = str(shim)
    words = [sys.executable, "-m", "tests.scoring.local_cluster"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline().split()
        assert len(said) == 2, process.stderr.read()
        yield Running(process.pid, said[0], said[1], folder / "connects")
        process.communicate(timeout=60)


def outsider(home: Path) -> dict[str, str]:
    """The environment of another account: no token, and nothing of ours in the home folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    paths = [str(ROOT), str(ROOT / "src")]
    return {**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def visit(head: str, environment: dict[str, str], patience: int) -> str:
    """What somebody who wants to work on the cluster is told; a visitor who is refused tries for long, and is ended."""
    words = [sys.executable, "-c", VISIT, head]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
        try:
            said, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    return said.decode(errors="replace")


def family(pid: int) -> set[int]:
    """A process and all that come from it."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids: set[int]) -> dict[str, set[str]]:
    """The addresses on which these processes listen, with the names of those who do."""
    owners = {}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                owners[str(link.readlink())] = Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
    found: dict[str, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            cells = line.split()
            owner = owners.get(f"socket:[{cells[9]}]")
            host = cells[1].partition(":")[0]
            if owner is not None and cells[3] == LISTENING:
                found.setdefault(_address(host), set()).add(owner)
    return found


def _address(digits: str) -> str:
    words = [bytes.fromhex(digits[start : start + 8])[::-1] for start in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def is_this_machine(address: str) -> bool:
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def test_it_listens_on_this_machine_only(cluster: Running) -> None:
    found = listening(family(cluster.pid))
    names = {name for each in found.values() for name in each}
    assert {"gcs_server", "raylet"} <= names, "its sockets are seen"
    assert {address: names for address, names in found.items() if not is_this_machine(address)} == {}


@pytest.mark.parametrize(
    "given", [{"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64}]
)
def test_nobody_is_let_in_without_the_token(cluster: Running, tmp_path: Path, given: dict[str, str]) -> None:
    said = visit(cluster.head, outsider(tmp_path) | given, patience=120)
    assert "let in" not in said
    assert "ConnectionError: Failed to connect" in said


def test_who_has_the_token_is_let_in(cluster: Running, tmp_path: Path) -> None:
    given = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": cluster.token}
    assert "let in 1 7" in visit(cluster.head, outsider(tmp_path) | given, patience=120)


def test_the_token_is_in_no_file_and_on_no_command_line(cluster: Running) -> None:
    home = cluster.connects.parent
    assert [path for path in home.rglob("*token*") if path.is_file()] == []
    for pid in family(cluster.pid):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        assert cluster.token not in words


def test_its_sockets_and_logs_are_for_this_account_alone(cluster: Running) -> None:
    found = {
        str(path)
        for pid in family(cluster.pid)
        for path in re.findall(r"(?:/[\w.-]+)*/soel-ray-[\w-]+", Path(f"/proc/{pid}/cmdline").read_text())
    }
    assert len(found) == 1, "all of its processes work in one folder"
    assert stat.S_IMODE(Path(found.pop()).stat().st_mode) == 0o700


def test_it_calls_nobody_outside_this_machine(cluster: Running) -> None:
    if not cluster.connects.exists():
        pytest.skip("there is no compiler to watch it with")
    called = set(cluster.connects.read_text().split())
    assert called, "its calls are seen"
    assert {address for address in called if not is_this_machine(address)} == set()
