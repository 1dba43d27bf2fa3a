from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.report.facts import AnsweredItem, ItemMap, MethodResult, ReportFacts, Setup
from soel.report.view import AlarmLine, Chip, FactLine, Histogram, InCommon, Resembled, Strip
from soel.types import Estimate

MakeFacts = Callable[..., ReportFacts]


def make_map(n: int = 397, name: str = "row-{}", **changes: Any) -> ItemMap:
    """Scores rise with the row; the first and the last row are labelled."""
    labels = np.full(n, -1, np.int8)
    labels[0], labels[-1] = 0, 1
    values: dict[str, Any] = {
        "names": [name.format(row) for row in range(n)],
        "scores": np.linspace(0.0, 10.0, n),
        "labels": labels,
        "points": np.random.default_rng(0).normal(size=(n, 2)),
    }
    return ItemMap(**{**values, **changes})


def make_facts(drawn: ItemMap | None = None, word: str = "{}", **changes: Any) -> ReportFacts:
    """A small but complete report; `word` wraps every text that comes from data."""
    drawn = drawn or make_map(name=word.format("row-{}") if "{}" in word else "row-{}")
    shape = Strip((0.5, 1.0, 0.0), 0.9, "0", "12", 0.2)
    chip = Chip(word.format("heat 12.5 ↑ 3"), word.format("heat 12.5, usually 3"), shape)
    first, last = str(drawn.names[0]), str(drawn.names[-1])
    like = Resembled(last, last, "anomaly")
    alarm = AlarmLine(
        last, last, "table", 1, 10.0, 0.8, 0.01, True, None, (chip,), word.format("short"), word.format("whole")
    )
    share = Estimate(0.0905, 0.05, 0.15, "cover", {"effective_labels": 9.31})
    values: dict[str, Any] = {
        "title": word.format("Report"),
        "created": "2025-01-02 03:04",
        "setup": Setup(word.format("table.csv"), "default", 7, "ntl", word.format("top-percent=9")),
        "line": FactLine(36, 9.1, share, 1, 1, len(drawn.names), "4 columns", "2025-01-01"),
        "histogram": Histogram.of(drawn.scores, drawn.labels, 9.1),
        "map": drawn,
        "history": [[3.0, 3.2], [2.0, 2.4], [1.5, 1.7]],
        "queries": [AnsweredItem(first, "normal", 0.1, odds=0.01), AnsweredItem(last, "anomaly", 9.9, round=2)],
        "alarms": [
            alarm,
            AlarmLine(first, first, "table", 2, 1.0, 0.1, 0.5, resembles=like),
        ],
        "in_common": InCommon((word.format("Looked at 36."),), (word.format("heat"),), (word.format("heat: 5"),)),
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
