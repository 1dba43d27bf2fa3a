"""Computing cells in processes and keeping each as a file: a killed run loses nothing that was finished."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import multiprocessing
import os
import platform
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from itertools import groupby
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from soel import DataError
from soel.deep import has_gpu
from soel.files import copy_whole, write_whole
from soel.types import Progress
from soel_paper.cell import Cell, CellSetting, Expert, versions_of
from soel_paper.sources import DataSource

QUIET = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
TOGETHER = {"cpu": 5, "gpu": 20}  # members at once: more no longer fit the cache, or the memory, of the machine
Measures = Mapping[str, float | None]


def run(
    cells: Sequence[Cell],
    source: DataSource,
    store: CellStore,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_old: bool = False,
    minutes: float | None = None,
) -> None:
    """Compute the cells that the store lacks. A killed run loses at most the groups it was in.

    Cells that were finished by other versions are computed again, unless they are to be kept. After so many minutes no
    further group is begun: the next run goes on.
    """
    end = time.monotonic() + 60 * (math.inf if minutes is None else minutes)
    n_old = 0 if keep_old else sum(store.is_old(cell) for cell in cells)
    if n_old:
        text = "%d of %d cells were finished by other versions and are computed again; --keep-old keeps them."
        logging.getLogger(__name__).warning(text, n_old, len(cells))
    # The largest data sets first, so that no core is left alone with one at the end.
    groups = sorted(pending(cells, store, keep_old), key=lambda group: -source.n_rows(group[0].dataset))
    total = len(cells)
    done = total - sum(map(len, groups))
    report = progress or (lambda done, total: None)
    report(done, total)
    jobs = min(n_jobs or os.cpu_count() or 1, len(groups))
    if jobs <= 1:
        for group in groups:
            if time.monotonic() > end:
                return
            done += compute(group, source, store.folder)
            report(done, total)
        return
    with _pool(jobs) as pool:
        futures = [pool.submit(compute, group, source, store.folder) for group in groups]
        for future in as_completed(futures):
            done += 0 if future.cancelled() else future.result()
            report(done, total)
            if time.monotonic() > end:
                for waiting in futures:
                    waiting.cancel()


def pending(cells: Sequence[Cell], store: CellStore, keep_old: bool = False) -> list[list[Cell]]:
    """Unfinished cells in groups that differ in seed and normal class alone, a few each. A missing peer is left out."""
    wanted = {
        cell.key: cell
        for cell in cells
        if (not store.has(cell) or (store.is_old(cell) and not keep_old)) and not _impossible(cell)
    }
    groups, size = [], TOGETHER["gpu" if has_gpu() else "cpu"]
    for _, same in groupby(sorted(wanted.values(), key=lambda cell: cell.group), key=lambda cell: cell.group):
        members = list(same)
        groups += [members[at : at + size] for at in range(0, len(members), size)]
    order = {cell.key: position for position, cell in enumerate(cells)}
    return sorted(groups, key=lambda group: order[group[0].key])


def compute(cells: list[Cell], source: DataSource, folder: Path) -> int:
    """Compute a group and keep each of its cells; returns how many they were."""
    from soel_paper.experiment import run_cells  # torch is loaded where it is used

    started = time.process_time()  # not the clock on the wall, which also counts what others do
    dataset = cells[0].dataset
    content = source.load(dataset, cells[0].method.on_pixels(cells[0].variant.profile))
    results = run_cells(cells, source.protocol(dataset), content)
    seconds = (time.process_time() - started) / len(cells)
    store = CellStore(folder)
    for cell, measures in zip(cells, results, strict=True):
        store.write(cell, measures, seconds)
    return len(cells)


def _impossible(cell: Cell) -> bool:
    if cell.method.peer is None:
        return False
    from soel_paper.peers import missing_package  # loading scikit-learn takes a second

    return missing_package(cell.method.peer) is not None


@contextmanager
def _pool(n_jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes with one thread each; threads that wait do not spin. An error ends what has not begun."""
    before = dict(os.environ)
    os.environ.update(QUIET | before)
    try:
        pool = ProcessPoolExecutor(
            n_jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent
        )
        with pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name in QUIET.keys() - before.keys():
            del os.environ[name]


def _end_with_parent() -> None:
    """End a worker whose parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


class CellStore:
    """A folder of JSON files named after their cells. Several processes may write to it; stores merge by copying."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished, by whatever code."""
        return self._path(cell).exists()

    def is_old(self, cell: Cell) -> bool:
        """Whether the cell was finished by other versions of its parts."""
        return self.has(cell) and self._document(self._path(cell)).get("versions") != versions_of(cell)

    def read(self, cell: Cell) -> Measures:
        path = self._path(cell)
        measures = self._document(path).get("measures")
        if not isinstance(measures, dict):
            raise _unreadable(path, "it holds no measures")
        return measures

    def write(self, cell: Cell, measures: Measures, seconds: float) -> None:
        """Keep a finished cell: the file appears under its name only when it is whole.

        seconds: of processor time.
        """
        document = {
            "cell": cell.to_json(),
            "method": cell.method.name,
            "measures": measures,
            "seconds": seconds,
            "versions": versions_of(cell),
            "machine": machine(),
            "finished": time.time(),
        }
        write_whole(self._path(cell), json.dumps(document, indent=1, allow_nan=False).encode())

    def merge(self, others: Iterable[Path]) -> int:
        """Copy cells that were finished elsewhere; returns how many are new here.

        Where both have a cell, ours stays; unless their versions differ and theirs was finished later.
        """
        n_new = 0
        for folder in others:
            if not folder.is_dir():
                raise DataError(f"{folder} is no folder of results. Name the --out folder of another run.")
            inside = folder / self.folder.name if (folder / self.folder.name).is_dir() else folder
            for path in sorted(inside.glob("*.json")):
                n_new += self._adopt(path)
        return n_new

    def _adopt(self, path: Path) -> bool:
        target, theirs = self.folder / path.name, self._document(path)
        if "measures" not in theirs:
            return False
        if target.exists():
            ours = self._document(target)
            same = ours.get("versions") == theirs.get("versions")
            if same or theirs.get("finished", 0) <= ours.get("finished", 0):
                return False
        copy_whole(path, target)
        return True

    def _document(self, path: Path) -> dict[str, Any]:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unreadable(path, repr(error)) from error
        return document if isinstance(document, dict) else {}

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"


RAW_COLUMNS = ("dataset", "normal", "method", "profile", "budget", "share", "expert", "seed", "measure", "value")


def write_raw(folders: Iterable[Path], out: Path) -> int:
    """The measures of all finished cells below these folders as one CSV; returns how many cells they are."""
    rows, n_cells = [], 0
    for path in sorted(path for folder in folders for path in folder.glob("**/*-*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if "measures" not in document:
            continue
        n_cells += 1
        cell, setting = document["cell"], document["cell"]["setting"]
        place = [cell["dataset"], cell["normal"], document["method"], json.dumps(cell["profile"], sort_keys=True)]
        expert = str(Expert(**setting.get("expert", {})))
        place += [setting.get("budget", CellSetting.budget), setting.get("share"), expert, cell["seed"]]
        rows += [[*place, measure, value] for measure, value in document["measures"].items()]
    if not n_cells:
        raise DataError("There are no finished cells there. Name the --out folders of `soel reproduce` with --from.")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([RAW_COLUMNS, *rows])
    write_whole(out, text.getvalue().encode())
    return n_cells


@lru_cache(maxsize=1)
def machine() -> str:
    """Where a cell was computed, in words: rounding differs between machines and libraries."""
    return f"{platform.machine()}, Python {platform.python_version()}, torch {version('torch')}"


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(f"The result {path} cannot be read: {why}. Remove it and run again.")
