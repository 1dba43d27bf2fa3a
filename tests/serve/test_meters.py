"""Metrics count what was asked and said, and see rows that are not like the pool."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from soel import SOEL
from soel.serve.micro_batch import MicroBatches
from soel.types import Floats
from tests.serve.conftest import make_rows
from tests.serve.test_endpoint import score

Result = TypeVar("Result")


def read(client: TestClient) -> dict[str, float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        sample.name + "".join(f",{value}" for value in sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_rows_alarms_scores_and_requests_are_counted(client: TestClient, model: SOEL) -> None:
    rows = make_rows(40, seed=2)
    rows.loc[:4, "width"] += 9
    score(client, rows.to_dict("records"))
    score(client, [{"width": "wide"}])
    found, scores = read(client), model.anomaly_score(rows)
    assert found["soel_rows_total"] == found["soel_score_bucket,+Inf"] == 40
    assert found["soel_alarms_total"] == (scores > model.threshold_).sum() > 0
    assert found[f"soel_score_bucket,{model.threshold_:.6g}"] == (scores <= model.threshold_).sum()
    assert found["soel_requests_total,/v1/score,200"] == found["soel_requests_total,/v1/score,422"] == 1
    assert found["soel_request_seconds_count"] == 2
    assert found["soel_drifted_columns"] == 0


def test_rows_that_are_not_like_the_pool_are_seen(client: TestClient) -> None:
    rows = make_rows(300, seed=2)
    rows["height"] += 3
    rows.loc[:74, "shop"] = "west"
    score(client, rows.to_dict("records"))
    found = read(client)
    assert found["soel_drifted_columns"] >= 2
    assert 0.25 <= found["soel_outside_ratio"] < 1


def in_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """What the work comes to, in a thread of its own: a browser of other tests holds this one's loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def test_requests_that_arrive_together_are_scored_together_and_each_gets_its_own() -> None:
    sizes, is_busy, may_go = list[int](), threading.Event(), threading.Event()

    class Slow:
        def score(self, x: Floats) -> Floats:
            is_busy.set()
            may_go.wait(60)
            sizes.append(len(x))
            return np.asarray(x[:, 0], np.float64)

    class Served:
        fitted = Slow()

    async def ask(batches: MicroBatches) -> list[Floats]:
        served: Any = Served()
        blocks = [np.full((n, 1), n, np.float32) for n in (1, 2, 3, 1500, 4)]
        asked = [asyncio.ensure_future(batches.score(served, blocks[0]))]
        await asyncio.to_thread(is_busy.wait, 60)
        asked += [asyncio.ensure_future(batches.score(served, each)) for each in blocks[1:]]
        await asyncio.sleep(0.2)
        asked[1].cancel()
        await asyncio.sleep(0.1)
        may_go.set()
        return [await each for each in asked if each is not asked[1]]

    batches = MicroBatches()
    answers = in_loop(ask(batches))
    batches.close()
    assert [(len(each), set(each.tolist())) for each in answers] == [(n, {float(n)}) for n in (1, 3, 1500, 4)]
    assert sizes == [1, 1024, 3 + 1500 + 4 - 1024]
    assert batches.n_waiting == 0


def test_an_error_of_the_model_reaches_who_waits_and_the_next_request_is_answered() -> None:
    class Broken:
        def score(self, x: Floats) -> Floats:
            if x[0, 0] < 0:
                raise ArithmeticError("below zero")
            return np.zeros(len(x))

    class Served:
        fitted = Broken()

    async def ask(batches: MicroBatches) -> None:
        served: Any = Served()
        with pytest.raises(ArithmeticError):
            await batches.score(served, np.full((2, 1), -1.0))
        assert len(await batches.score(served, np.ones((3, 1)))) == 3

    batches = MicroBatches()
    in_loop(ask(batches))
    batches.close()
    assert batches.n_waiting == 0
