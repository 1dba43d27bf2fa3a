"""1,000 times kill -9 in the middle of a tell, on SQLite and on PostgreSQL: not one acknowledged label may be lost.

`python -m benchmarks kill_tells`. A nursery process forks an annotator who tells one label after the other and says
each one that was acknowledged; the annotator is killed at a random moment; at the end all that was said must be there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.session.stores.killing import ENVIRONMENT, kill_each
from tests.session.stores.postgres_server import running_server

from soel.session import Answer, SessionOptions, create
from soel.types import Verdict

N_KILLS, N_ITEMS = 1000, 50
FLOORS = {"sqlite kept share": 1.0, "postgres kept share": 1.0, "sqlite kills": N_KILLS, "postgres kills": N_KILLS}


def measure(n_kills: int = N_KILLS) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch, running_server() as server:
        data = Path(scratch) / "data.csv"
        data.write_text("id,x\n" + "".join(f"i{row},{row * row % 17}\n" for row in range(N_ITEMS)))
        places = {"sqlite": None, "postgres": server.new_database("kills")}
        figures: dict[str, float] = {}
        for name, store in places.items():
            started = time.perf_counter()
            folder = Path(scratch) / name
            create.create_session(folder, data, SessionOptions(id_column="id"), store=store).close()
            figures |= {f"{name} {key}": value for key, value in kill_tells(folder, n_kills).items()}
            figures[f"{name} seconds"] = time.perf_counter() - started
    return figures


def kill_tells(folder: Path, n_kills: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.kill_tells", str(folder)]
    pipe = subprocess.PIPE
    said = kill_each(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT), n_kills)
    with closing(create.open_session(folder)) as session:
        kept = {f"{event.who} {event.body['note']}" for event in session.events if event.kind == "label"}
        assert session.state.labels, "the session still opens and folds"
    lost = [line for line in said if line not in kept]
    return {"kills": n_kills, "acknowledged": len(said), "kept share": 1 - len(lost) / len(said)}


def nursery(folder: Path) -> None:
    """Fork one annotator per line read; each tells until it is killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    create.open_session(folder).close()  # loads everything once, before the first fork
    for line in sys.stdin:
        if os.fork() == 0:
            os.write(1, f"pid {os.getpid()}\n".encode())
            annotate(folder, line.strip())


def annotate(folder: Path, who: str) -> None:
    session = create.open_session(folder)
    for turn in range(10**9):
        word = Verdict.ANOMALY if turn % 2 else Verdict.NORMAL
        session.tell([Answer(f"i{turn % N_ITEMS}", word, str(turn))], who)
        os.write(1, f"{who} {turn}\n".encode())  # one write of a short line is never torn


if __name__ == "__main__":
    nursery(Path(sys.argv[1]))
