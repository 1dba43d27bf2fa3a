"""Explanations of real anomalies: whether the change that they name makes these rows ordinary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soel import SOEL, Explanation
from soel.explain import Explainer
from soel.types import Floats, Rows
from soel_paper.catalogue import read_rows

CHOSEN_ON = (  # looked at while the method was chosen; all others confirm it
    "tables/satellite", "tables/wbc", "tables/cardio", "tables/ionosphere", "tables/letter", "tables/pima",
    "tables/vowels", "oddbench/odd_WineFraud", "oddbench/odd_StreamMonitoring", "oddbench/odd_NetworkFlowAnomalies",
    "oddbench/odd_KidneyDisease", "oddbench/odd_CrimeIncident", "oddbench/ovr_kc1", "oddbench/odd_EmployeeTurnover",
    "oddbench/odd_CancerDiagnosis",
)  # fmt: skip
POOL_ROWS, MOST_SHARE, FEWEST_ANOMALIES = 500, 0.15, 6
N_ASKED, MOST_ROWS = 10, 20
NOISE = 0.01  # of a column's standard deviation
N_PLAIN = 3  # columns by |z| that stand beside


@dataclass(frozen=True)
class RealTask:
    """A pool (N, d) of a labelled table, which rows (N,) are anomalies, and others (n, d) that are not in the pool."""

    name: str
    pool: Floats
    is_anomaly: np.ndarray
    held: Floats


def find_tables(folder: Path, n: int) -> list[str]:
    """Names of tables at hand: those that were looked at, then so many others, evenly drawn."""
    kinds = ("oddbench", "oddbench2", "tables")
    found = [f"{kind}/{path.stem}" for kind in kinds for path in sorted((folder / kind).glob("*.npz"))]
    others = [name for name in found if name not in CHOSEN_ON and name != "tables/http"]
    return [*CHOSEN_ON, *(others[at] for at in np.linspace(0, len(others) - 1, n).astype(int))]


def read_real(folder: Path, name: str) -> RealTask:
    """At most 500 rows with the share of anomalies that the table has, 15 % at most."""
    found, rng = read_rows(folder / f"{name}.npz"), np.random.default_rng(0)
    anomalies, normal = (rng.permutation(np.flatnonzero(found.is_anomaly == each)) for each in (True, False))
    share = min(MOST_SHARE, found.is_anomaly.mean())
    n = min(len(anomalies) // 2, max(FEWEST_ANOMALIES, int(POOL_ROWS * share)))
    rows = rng.permutation(np.concatenate([anomalies[:n], normal[: min(len(normal) // 2, POOL_ROWS - n)]]))
    pool, held = (np.asarray(found.x, np.float64)[some] for some in (rows, anomalies[n : 2 * n]))
    telling = pool.std(axis=0) > 0
    return RealTask(name, pool[:, telling], found.is_anomaly[rows], held[:, telling])


def measure_real(task: RealTask, profile: str) -> dict[str, Any]:
    """What explanations say of the true anomalies among the alarms, after ten questions."""
    detector = _learn(task, profile, 0)
    alarms = detector.detector_.fitted.pool_scores > detector.threshold_
    rows = np.flatnonzero(alarms & task.is_anomaly)[:MOST_ROWS]
    if not len(rows):
        return {"table": task.name, "rows": 0}
    clock = time.process_time()
    found = detector.explain(task.pool[rows])
    took = time.process_time() - clock
    n_groups = np.array([len(each.reasons) if each.suffices else np.inf for each in found])
    held = task.held[detector.anomaly_score(task.held) > detector.threshold_][:MOST_ROWS]
    noise = np.random.default_rng(0).normal(size=held.shape) * NOISE * task.pool.std(axis=0)
    smooth = [len(np.unique(column)) > len(column) / 2 for column in task.pool.T]  # a count takes no fractions
    other = _learn(task, profile, 1).explain(task.pool[rows])
    shown = [each for each in found if each.suffices]
    return {
        "table": task.name,
        "columns": task.pool.shape[1],
        "groups": len(found.groups),
        "rows": len(rows),
        "three": float(np.mean(n_groups <= 3)),
        "five": float(np.mean(n_groups <= 5)),
        "fresh": float(np.mean(_score_fresh(detector, task.pool[rows], found, task.pool) <= detector.threshold_)),
        "plain": _plain_suffices(detector, task.pool, rows),
        "named": float(np.median([len(each.reasons) for each in shown])) if shown else None,
        "named_columns": float(np.median([_n_columns(each) for each in shown])) if shown else None,
        "noise": _agree(detector.explain(held), detector.explain(held + noise * smooth)) if len(held) else None,
        "noise_everywhere": _agree(detector.explain(held), detector.explain(held + noise)) if len(held) else None,
        "seed": _agree(found, other),
        "ms": 1000 * took / len(rows),
    }


def _learn(task: RealTask, profile: str, seed: int) -> SOEL:
    """A detector that has asked ten questions of its own; both seeds learn from the same answers."""
    asked = SOEL(profile, random_state=0).query(task.pool, N_ASKED)
    labels = np.full(len(task.pool), -1)
    labels[asked] = task.is_anomaly[asked]
    return SOEL(profile, random_state=seed).fit(task.pool, labels)


def _score_fresh(detector: SOEL, rows: Floats, found: Explanation, pool: Floats) -> Floats:
    """Scores (n,) of the changed rows as anybody would type them in, beside the rows that they were made of."""
    changed = rows.copy()
    for row, each in enumerate(found):
        columns = [found.columns.index(name) for reason in each.reasons for name in reason.columns]
        changed[row, columns] = pool[each.donor, columns]
    return detector.anomaly_score(changed)


def _plain_suffices(detector: SOEL, pool: Floats, rows: Rows) -> float:
    """How often the three columns with the largest |z| do it, with the values of the nearest ordinary row."""
    explainer, x = detector._why, detector._encode(pool)[0]
    assert isinstance(explainer, Explainer)
    columns = np.abs(pool[rows] - pool.mean(axis=0)) / pool.std(axis=0)
    first = np.argsort(-columns, axis=1)[:, :N_PLAIN]
    donors = explainer.rows[explainer.nearest(x[rows], explainer.ordinary)[:, 0]]
    taken = (explainer.encoder.column_of[None, None] == first[:, :, None]).any(axis=1)
    sources = np.stack([x[rows], donors], axis=1)
    scores = explainer.model.score_changed(np.where(taken, donors, x[rows]), sources)
    return float(np.mean(scores <= explainer.line))


def _agree(one: Explanation, other: Explanation) -> float:
    """How alike the named groups are: the mean of shared / named by either, over rows that both explain."""
    pairs = [({r.group for r in a.reasons}, {r.group for r in b.reasons}) for a, b in zip(one, other, strict=True)]
    return float(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]))


def _n_columns(each: Any) -> int:
    return sum(len(reason.columns) for reason in each.reasons)


def summarise_real(found: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """The means over tables: of all, of those that were looked at, and of those that confirm it."""
    kept = [each for each in found if each["rows"]]
    parts = (
        ("all", kept),
        ("looked at", [each for each in kept if each["table"] in CHOSEN_ON]),
        ("others", [each for each in kept if each["table"] not in CHOSEN_ON]),
    )
    return [[f"{name} ({len(some)})", *(_mean(some, key) for key in list(kept[0])[1:])] for name, some in parts if some]


def _mean(found: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [each[key] for each in found if each.get(key) is not None]
    return float(np.mean(values)) if values else None
