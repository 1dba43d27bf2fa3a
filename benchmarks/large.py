"""Data larger than memory through the commands: `python -m benchmarks large`.

Rows with 2 % anomalies are written as a folder of Parquet parts; init, ask, tell, fit and score run on them as commands
of their own, and the same commands on a sample that is held in memory. Figures: minutes per command, the peak of
anonymous memory, the AUROC over all rows and over the sample, and how fast `score` is beside the bare forward pass on
the same encoded rows in the same process. A million rows, unless SOEL_LARGE_ROWS says otherwise (10000000 is the size
that docs/scale.md reports).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from soel.assess.metrics import auroc
from soel.scoring.stream import score_stream
from soel.session import create
from soel.session.item_tables import read_encoder
from soel.tables.batches import draw_rows, open_stream, write_sample
from soel.tables.rows import read_rows, write_rows

N_ROWS, N_COLUMNS, SHARE = int(os.environ.get("SOEL_LARGE_ROWS", "1000000")), 30, 0.02
FILE_ROWS, GROUP_ROWS, SAMPLE_ROWS, N_LABELS = 500_000, 125_000, 200_000, 20
SHIFT, N_SHIFTED = 1.25, 6  # anomalies of each kind lie this many standard deviations off in so many columns
GIB, PAUSE = 1 << 30, 0.02
FLOORS = {"memory room": 1.0, "auroc points over the sample": -1.0, "score over forward pass": 0.7}


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="soel-large-", dir=os.environ.get("SOEL_LARGE_FOLDER")) as scratch:
        place = Path(scratch)
        data = write_data(place / "data", N_ROWS)
        whole = Run(place / "whole", data)
        figures = {"rows": float(N_ROWS), **whole.through()}
        sample = place / "sample.parquet"
        write_sample(open_stream(data, "key", ["truth"]), draw_rows(N_ROWS, SAMPLE_ROWS, 0), sample)
        in_memory = Run(place / "in-memory", sample)
        in_memory.through()
        figures["auroc of the sample"] = in_memory.auroc
        figures["auroc points over the sample"] = 100 * (whole.auroc - in_memory.auroc)
        return figures | beside_the_forward_pass(whole.folder, data, place)


def write_data(folder: Path, n_rows: int) -> Path:
    """Three correlated clusters of normal rows, and three kinds of anomalies a little off in a few columns."""
    folder.mkdir()
    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        x, truth = make_rows(min(FILE_ROWS, n_rows - first), np.random.default_rng([7, number]))
        columns: dict[str, Any] = {f"c{at:02d}": x[:, at] for at in range(N_COLUMNS)}
        keys = {"key": pa.array(np.arange(first, first + len(x))), "truth": truth.astype(np.int8)}
        table = pa.table(keys | columns)
        pq.write_table(table, folder / f"part-{number:04d}.parquet", row_group_size=GROUP_ROWS, use_dictionary=False)
    return folder


def make_rows(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shape = np.random.default_rng(99)
    centres = shape.normal(size=(3, N_COLUMNS)).astype(np.float32)
    mixing = (np.eye(N_COLUMNS) + 0.3 * shape.normal(size=(N_COLUMNS, N_COLUMNS))).astype(np.float32)
    kinds = np.zeros((3, N_COLUMNS), np.float32)
    for kind in kinds:
        kind[shape.choice(N_COLUMNS, N_SHIFTED, replace=False)] = SHIFT * shape.choice([-1, 1], N_SHIFTED)
    x = rng.standard_normal((n_rows, N_COLUMNS), np.float32) @ mixing
    spread = np.sqrt(np.square(mixing).sum(axis=0) + centres.var(axis=0))
    x += centres[rng.integers(3, size=n_rows)]
    truth = rng.random(n_rows) < SHARE
    x[truth] += (kinds * spread)[rng.integers(3, size=int(truth.sum()))]
    return x, truth


@dataclass
class Run:
    """One session by commands. peak: of the anonymous memory of a command and its children, in bytes."""

    folder: Path
    data: Path
    peak: int = 0
    auroc: float = float("nan")
    figures: dict[str, float] = field(default_factory=dict)

    def through(self) -> dict[str, float]:
        """init, ask, tell, fit, score."""
        self._command("init", "--data", self.data, "--id-column", "key", "--label-column", "truth")
        asked = self._command("ask", "-n", N_LABELS)
        if "cover" in asked:
            self.figures["cover radius of the pool"] = asked["cover"]["pool"]
            self.figures["cover radius of all rows"] = asked["cover"]["whole"]
        self._tell(Path(asked["out"]))
        self.figures["estimated share"] = self._command("fit")["estimate"]["value"]
        scored = self._command("score", "--out", self.folder / "scores.parquet")
        self.figures["score rows per second"] = scored["n_items"] / (60 * self.figures["score minutes"])
        self.figures["share of alarms"] = scored["n_alarms"] / scored["n_items"]
        self.auroc = self._auroc()
        self.figures["auroc"] = self.auroc
        self.figures |= {"peak anonymous GiB": self.peak / GIB, "memory room": 3 * GIB / self.peak}
        return self.figures

    def _tell(self, sheet: Path) -> None:
        """Answer by the truth, which only this script knows."""
        rows = read_rows(sheet)
        truth = self._truth({int(row["item"]) for row in rows})
        for row in rows:
            row["label"] = "anomaly" if truth[int(row["item"])] else "normal"
        write_rows(sheet, list(rows[0]), [list(row.values()) for row in rows])
        self.figures["labelled anomalies"] = float(sum(truth.values()))
        self._command("tell", sheet)

    def _truth(self, keys: set[int]) -> dict[int, int]:
        key, truth = _columns(pq.read_table(self.data, columns=["key", "truth"]))
        rows = np.flatnonzero(np.isin(key, list(keys)))
        return dict(zip(key[rows].tolist(), truth[rows].tolist(), strict=True))

    def _auroc(self) -> float:
        """By key: scores come in the order of their ranks."""
        key, truth = _columns(pq.read_table(self.data, columns=["key", "truth"]))
        scored, scores = _columns(pq.read_table(self.folder / "scores.parquet", columns=["key", "score"]))
        order = np.argsort(key)
        return auroc(truth[order][np.searchsorted(key[order], scored)], scores)

    def _command(self, verb: str, *words: object) -> Any:
        started = time.perf_counter()
        command = [sys.executable, "-m", "soel.cli.main", verb, str(self.folder), *map(str, words), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            peak = Peak(process.pid)
            said, _ = process.communicate()
        self.peak = max(self.peak, peak.stop())
        self.figures[f"{verb} minutes"] = (time.perf_counter() - started) / 60
        self.figures[f"{verb} GiB"] = peak.value / GIB
        assert process.returncode == 0, said
        return json.loads(said)


def _columns(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    keys, values = table.columns
    return keys.to_numpy().astype(np.int64), values.to_numpy()


class Peak:
    """Watches the anonymous memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.value, self._pid, self._stopped = 0, pid, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return self.value

    def _watch(self) -> None:
        while not self._stopped.wait(PAUSE):
            self.value = max(self.value, anonymous(self._pid))


def anonymous(pid: int) -> int:
    """Bytes of RssAnon of a process and its children; 0 for one that has ended."""
    place = Path("/proc") / str(pid)
    try:
        lines = (place / "status").read_text().splitlines()
        children = (place / "task" / str(pid) / "children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)
    return own + sum(anonymous(int(child)) for child in children)


def beside_the_forward_pass(folder: Path, data: Path, place: Path) -> dict[str, float]:
    """Rows per second of scoring a part of the data from file to file, and of the model alone on the same rows."""
    few = place / "few"
    few.mkdir()
    (few / "part.parquet").symlink_to(data / "part-0000.parquet")
    with closing(create.open_session(folder)) as session:
        stream = open_stream(few, "key", ["truth"])
        scorer, encoder = session.scorer(), read_encoder(session.folder)
        blocks = (block for part in stream.parts for block in stream.blocks(part))
        encoded = [encoder.encode(block.frame) for block in blocks]

        def bare() -> None:
            for x in encoded:
                scorer.score(x)

        def from_file_to_file() -> None:
            score_stream(stream, encoder, scorer, place / "few.parquet")

        # In turns, best of three: the machine's other work hits both alike.
        seconds = np.min([[timed(bare), timed(from_file_to_file)] for _ in range(3)], axis=0)
    return {
        "forward pass rows per second": stream.n_rows / seconds[0],
        "file to file rows per second": stream.n_rows / seconds[1],
        "score over forward pass": seconds[0] / seconds[1],
    }


def timed(job: Callable[[], None]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started
