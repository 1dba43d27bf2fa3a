"""How well a network does on real tables: without labels, with labels of a fixed choice, with its own questions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pretraining import tables
from pretraining.questions import apart
from soel.detect.incontext.network import InContextNetwork, Outputs
from soel.detect.incontext.row_features import TINY, PoolStats, RowFeatures

CLIP = 3.0
Rule = Callable[[Tensor, Tensor, Tensor], Tensor]


class Case:
    """One table on the device, read by the network up to the labels."""

    def __init__(self, network: InContextNetwork, table: tables.Table, device: torch.device) -> None:
        self.table, self.network, self.device = table, network, device
        random = torch.Generator(device).manual_seed(0)
        pool, test = (torch.from_numpy(x)[None].to(device) for x in (table.pool, table.test))
        self.stats, own = PoolStats.fit(pool, random)
        self.rows = RowFeatures.joined([own, self.stats.describe(test)])
        self.embedded = network.embed_cells(self.rows, self.stats.columns)
        self.n_pool = pool.shape[1]

    def read(self, labels: Tensor, pool_only: bool = False) -> Outputs:
        """What the network says with labels (1, N)."""
        rows, embedded = self.rows, self.embedded
        if pool_only:
            rows, embedded = rows.first(self.n_pool), embedded.part(slice(0, self.n_pool))
        return self.network.encode_pool(self.stats, rows, embedded, labels)[1]

    def measure(self, labels: Tensor) -> tuple[float, float]:
        """AUROC and average precision on the test rows."""
        scores = rank(self.read(labels), labels)[0, self.n_pool :].double().cpu().numpy()
        truth = self.table.test_truth
        return tables.auroc(truth, scores), tables.average_precision(truth, scores)

    def no_labels(self) -> Tensor:
        """(1, N) of -1."""
        return torch.full((1, self.n_pool), -1, device=self.device)

    def told(self, labels: Tensor, rows: Sequence[int] | np.ndarray) -> Tensor:
        """The labels with the truth about those rows of the pool."""
        labels = labels.clone()
        labels[0, list(rows)] = torch.from_numpy(self.table.pool_truth[list(rows)]).to(self.device)
        return labels


def rank(outputs: Outputs, labels: Tensor) -> Tensor:
    """Scores (1, n) as the product ranks rows."""
    ranked: Tensor = outputs.rank_by(any_label=bool((labels >= 0).any()))
    return ranked


def centres(x: np.ndarray, n_asked: int) -> list[int]:
    """Greedy k-center on standardised rows, from the one nearest to the middle."""
    deviation = x.std(0)
    z = np.where(deviation > 1e-9, (x - x.mean(0)) / (deviation + 1e-9), 0).clip(-CLIP, CLIP)
    rows = [int(np.argmin((z**2).sum(1)))]
    near = ((z - z[rows[0]]) ** 2).sum(1)
    for _ in range(n_asked - 1):
        rows.append(int(near.argmax()))
        near = np.minimum(near, ((z - z[rows[-1]]) ** 2).sum(1))
    return rows


def far_and_suspect(tilt: float) -> Rule:
    """The next row by log distance to the nearest labelled row plus the score in standard deviations."""

    def worth(distances: Tensor, said: Tensor, asked: Tensor) -> Tensor:
        score = (said - said.mean(1, keepdim=True)) / (said.std(1, keepdim=True) + TINY)
        return apart(distances, tilt * score, 1, asked)

    return worth


RULES: dict[str, Rule] = {"balanced": far_and_suspect(1.0), "eager": far_and_suspect(2.0)}


@torch.no_grad()
def evaluate(
    network: InContextNetwork,
    place: Path,
    device: torch.device,
    budgets: Sequence[int] = (0, 10, 40),
    rules: Sequence[str] = (),
    part: slice = slice(None),
) -> dict[str, Any]:
    """Means over tables of AUROC and average precision by budget, for k-center and for questions one at a time."""
    started = time.perf_counter()
    cells: dict[str, list[list[float]]] = {}
    for table in list(tables.read(place))[part]:
        case = Case(network, table, device)
        for budget in budgets:
            labels = case.told(case.no_labels(), centres(table.pool, budget) if budget else [])
            cells.setdefault(f"k-center {budget}", []).append([*case.measure(labels), float((labels == 1).sum())])
        for rule in rules:
            labels = case.no_labels()
            for asked in range(max(budgets) + 1):
                if asked in budgets:
                    cells.setdefault(f"{rule} {asked}", []).append([*case.measure(labels), float((labels == 1).sum())])
                if asked < max(budgets):
                    said = rank(case.read(labels, pool_only=True), labels)
                    distances = case.rows.distances[0][:, : case.n_pool]
                    row = RULES[rule](distances, said, labels >= 0)
                    labels = case.told(labels, row[0].tolist())
    result: dict[str, Any] = {"seconds": round(time.perf_counter() - started, 1)}
    for name, values in cells.items():
        mean = np.mean(values, 0)
        result[name] = [round(100 * mean[0], 2), round(100 * mean[1], 2), round(float(mean[2]), 2)]
    base = np.array(cells["k-center 0"])[:, 0] if 0 in budgets else None
    for name, values in cells.items():
        if base is not None and name.endswith(" 10"):
            result[f"worse {name}"] = round(100 * float((np.array(values)[:, 0] < base - 0.02).mean()), 1)
    result["cells"] = {name: np.round(values, 4).tolist() for name, values in cells.items()}
    return result


def shown(result: dict[str, Any]) -> str:
    """The means alone."""
    return json.dumps({name: value for name, value in result.items() if name != "cells"})
