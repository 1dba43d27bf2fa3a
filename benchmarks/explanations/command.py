"""The command: plants, explains, prints one table; a table that was measured is not measured again."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.explanations.planting import TABLES, Planted, Task, correlated_pairs, decides, plant, read_task
from benchmarks.explanations.real import find_tables, measure_real, read_real, summarise_real
from soel import SOEL
from soel.text import format_table

COST_ROWS = (500, 5000)
SINGLE_ROWS = 30  # explained in a call of their own, to tell what one costs


def main(words: Sequence[str]) -> int:
    """Measure what is missing, print all."""
    arguments = _parser().parse_args(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.cost:
        found = [measure_cost(arguments.profile, n_rows) for n_rows in COST_ROWS]
        print(format_table(list(found[0]), [list(each.values()) for each in found]))
        return 0
    data, profile = arguments.data_dir, arguments.profile
    if arguments.real:
        names = find_tables(data, arguments.real)
        found = [_kept(arguments, name, lambda name: measure_real(read_real(data, name), profile)) for name in names]
        header = list(next(each for each in found if each["rows"]))
        rows = [[each.get(key) for key in header] for each in found]
        print(format_table(header, [*rows, *summarise_real(found)]))
        return 0
    names = arguments.tables.split(",")
    print(summarise([_kept(arguments, name, lambda name: measure(read_task(data, name), profile)) for name in names]))
    return 0


def _kept(arguments: argparse.Namespace, name: str, measure: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The figures of one table, measured where they are missing."""
    path = arguments.runs / f"{arguments.profile}-{name.replace('/', '-')}.json"
    if not path.exists():
        measured = measure(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(measured))
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


def measure_cost(profile: str, n_rows: int) -> dict[str, Any]:
    """What it costs to explain a hundred alarms of so many rows of 30 columns, some of which hang together."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, 30)) + rng.normal(size=(n_rows, 30))
    detector = SOEL(profile, threshold="alarms=100", random_state=0).fit(pool)
    top = pool[np.argsort(-detector.anomaly_score(pool))[:100]]
    first, *others = [_time(partial(detector.explain, top[row : row + 1])) for row in range(1 + SINGLE_ROWS)]
    return {
        "profile": profile,
        "rows": n_rows,
        "ms of the first row": 1000 * first,
        "ms of a row alone": 1000 * float(np.median(others)),
        "the quickest": 1000 * min(others),
        "seconds for 100": _time(partial(detector.explain, top)),
    }


def _time(act: Callable[[], object]) -> float:
    """Seconds of processor time."""
    clock = time.process_time()
    act()
    return time.process_time() - clock


def measure(task: Task, profile: str) -> dict[str, Any]:
    """What explanations say of planted values in one table."""
    detector = SOEL(profile, random_state=0).fit(task.pool)
    rng = np.random.default_rng(0)
    single = plant(task, [(column,) for column in range(task.pool.shape[1])], rng)
    pairs = correlated_pairs(task.pool)
    found = {"table": task.name, "columns": task.pool.shape[1], **_judge(detector, single, "one")}
    return found | (_judge(detector, plant(task, pairs, rng), "pair") if pairs else {})


def _judge(detector: SOEL, planted: Planted, what: str) -> dict[str, Any]:
    rows = np.flatnonzero(decides(detector, planted))
    if not len(rows):
        return {}
    clock = time.process_time()
    explained = detector.explain(planted.rows[rows])
    took = time.process_time() - clock
    named = [{explained.columns.index(name) for each in row.reasons for name in each.columns} for row in explained]
    wanted = [set(columns) for columns in planted.columns[rows].tolist()]
    return {
        f"{what}_rows": len(rows),
        f"{what}_named": float(np.mean([want <= found for want, found in zip(wanted, named, strict=True)])),
        f"{what}_alone": float(np.mean([want == found for want, found in zip(wanted, named, strict=True)])),
        f"{what}_ms": 1000 * took / len(rows),
    }


def summarise(found: Sequence[dict[str, Any]]) -> str:
    """One line a table, and the mean over all rows."""
    header = list(dict.fromkeys(key for each in found for key in each))
    rows = [[each.get(key) for key in header] for each in found]
    return format_table(header, [*rows, ["all", *(_over_all(found, key) for key in header[1:])]])


def _over_all(found: Sequence[dict[str, Any]], key: str) -> float | None:
    """A figure over all tables: rows are counted together, others are means over rows."""
    counted = key if key == "columns" else f"{key.split('_')[0]}_rows"
    told = [each for each in found if key in each]
    if key == "columns" or not told:
        return None
    if key == counted or key.endswith("_rows"):
        return int(sum(each[key] for each in told))
    weights = [each[counted] for each in told]
    return float(np.average([each[key] for each in told], weights=weights))


def _parser() -> argparse.ArgumentParser:
    data = os.environ.get("SOEL_DATA")
    parser = argparse.ArgumentParser(prog="python -m benchmarks explanations", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=data and Path(data), required=data is None)
    parser.add_argument("--profile", default="default")
    parser.add_argument("--tables", default=",".join(TABLES), help="names, with commas between")
    parser.add_argument("--real", type=int, metavar="N", help="real anomalies in so many more tables")
    parser.add_argument("--cost", action="store_true", help="processor time instead")
    parser.add_argument(
        "--runs", type=Path, default=Path("build/explanations"), help="where each table's figures are kept"
    )
    return parser
