"""Runs cells side by side on the cores there are; what is finished is kept and skipped the next time."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import groupby
from multiprocessing.connection import wait
from pathlib import Path

from soel.types import Progress
from soel_paper.cells import Cell
from soel_paper.sources import Source
from soel_paper.store import CellStore

QUIET = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
SEEDS_TOGETHER = 5  # more members than this no longer fit the cache, and a kill would cost more


def run(
    cells: Sequence[Cell],
    source: Source,
    store: CellStore,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_old: bool = False,
) -> None:
    """Compute the cells that the store lacks. A killed run loses at most the groups it was in.

    Cells that were finished by other versions are computed again, unless they are to be kept.
    """
    if not keep_old:
        _warn(sum(store.is_old(cell) for cell in cells), len(cells))
    # The largest data sets first, so that no core is left alone with one at the end.
    groups = sorted(pending(cells, store, keep_old), key=lambda group: -source.n_rows(group[0].dataset))
    total = len(cells)
    done = total - sum(map(len, groups))
    report = progress or (lambda done, total: None)
    report(done, total)
    jobs = min(n_jobs or os.cpu_count() or 1, len(groups))
    if jobs <= 1:
        for group in groups:
            done += compute(group, source, store.folder)
            report(done, total)
        return
    with _pool(jobs) as pool:
        for future in as_completed([pool.submit(compute, group, source, store.folder) for group in groups]):
            done += future.result()
            report(done, total)


def pending(cells: Sequence[Cell], store: CellStore, keep_old: bool = False) -> list[list[Cell]]:
    """Unfinished cells in groups that differ in their seed alone, a few seeds each. A missing peer is left out."""
    wanted = {
        cell.key: cell
        for cell in cells
        if (not store.has(cell) or (store.is_old(cell) and not keep_old)) and not _impossible(cell)
    }
    groups = []
    for _, same in groupby(sorted(wanted.values(), key=lambda cell: (cell.group, cell.seed)), key=lambda c: c.group):
        members = list(same)
        groups += [members[at : at + SEEDS_TOGETHER] for at in range(0, len(members), SEEDS_TOGETHER)]
    order = {cell.key: position for position, cell in enumerate(cells)}
    return sorted(groups, key=lambda group: order[group[0].key])


def compute(cells: list[Cell], source: Source, folder: Path) -> int:
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


def _warn(n_old: int, n_cells: int) -> None:
    if n_old:
        logging.getLogger(__name__).warning(
            "%d of %d cells were finished by other versions and are computed again; --keep-old keeps them.",
            n_old,
            n_cells,
        )


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
    """A worker whose parent was killed must not go on for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
