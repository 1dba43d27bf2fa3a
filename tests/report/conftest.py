from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.report.facts import (
    AnsweredItem,
    Chip,
    MethodResult,
    PoolFacts,
    ReportFacts,
    Setup,
    Strip,
    Threshold,
    TopItem,
)
from soel.types import Estimate

MakeFacts = Callable[..., ReportFacts]


def make_pool(n: int = 397, name: str = "row-{}", **changes: Any) -> PoolFacts:
    """Scores rise with the row; the first and the last row are labelled."""
    labels = np.full(n, -1, np.int8)
    labels[0], labels[-1] = 0, 1
    values: dict[str, Any] = {
        "ids": [name.format(row) for row in range(n)],
        "scores": np.linspace(0.0, 10.0, n),
        "labels": labels,
        "points": np.random.default_rng(0).normal(size=(n, 2)),
    }
    return PoolFacts(**{**values, **changes})


def make_facts(pool: PoolFacts | None = None, word: str = "{}", **changes: Any) -> ReportFacts:
    """A small but complete report; `word` wraps every text that comes from data."""
    pool = pool or make_pool(name=word.format("row-{}") if "{}" in word else "row-{}")
    chip = Chip(word.format("heat 12.5 ↑ 3"), word.format("heat 12.5, usually 3"), Strip([0.5, 1.0, 0.0], 0.9, 0.2))
    first, last = str(pool.ids[0]), str(pool.ids[-1])
    values: dict[str, Any] = {
        "title": word.format("Report"),
        "created": "2025-01-02 03:04",
        "setup": Setup(word.format("table.csv"), "4 columns", "default", 7, "ntl"),
        "pool": pool,
        "contamination": Estimate(0.0905, 0.05, 0.15, "cover", {"effective_labels": 9.31}),
        "threshold": Threshold(9.1, word.format("the top 9 %"), 36),
        "history": [[3.0, 3.2], [2.0, 2.4], [1.5, 1.7]],
        "queries": [AnsweredItem(first, "normal", 0.1, odds=0.01), AnsweredItem(last, "anomaly", 9.9, round=2)],
        "fitted": "2025-01-01",
        "top": [
            TopItem(last, 10.0, 1, "anomaly", True, 0.8, [chip], word.format("short"), word.format("whole"), first)
        ],
        "in_common": [word.format("Looked at 36.")],
        "patterns": [word.format("heat: 5 alarms")],
        "promises": [word.format("The top 9 %.")],
        "comparison": [MethodResult(word.format("forest"), 0.9, 0.5)],
        "next_steps": [word.format("Run `soel ask`.")],
    }
    return ReportFacts(**{**values, **changes})


@pytest.fixture
def facts() -> ReportFacts:
    return make_facts()


@pytest.fixture(name="make_facts")
def make_facts_fixture() -> MakeFacts:
    return make_facts


@pytest.fixture(name="make_pool")
def make_pool_fixture() -> Callable[..., PoolFacts]:
    return make_pool
