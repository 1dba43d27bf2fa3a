"""What the endpoint counts, in the words of Prometheus."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from soel.assess.drift import AlarmCounts, judge_drift
from soel.serve.served import Batch, ServedModel, Verdicts
from soel.tables.codes import Baseline
from soel.tables.frame import Frame
from soel.types import Booleans

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)  # of the pool's scores: the edges
WINDOW_ROWS, MOST_PIECES = 10_000, 200


class Recent:
    """The last rows, as they were read: drift is about now. They are looked at when somebody asks."""

    def __init__(self, served: ServedModel) -> None:
        self._served, self._blocks, self._n_rows = served, deque[tuple[Frame, int]](), 0
        self._fresh: list[tuple[Frame, int]] = []

    def add(self, frame: Frame, n_alarms: int) -> None:
        """Take in rows; small ones are joined, and the oldest give way."""
        self._fresh.append((frame, n_alarms))
        self._n_rows += frame.n_rows
        if len(self._fresh) >= MOST_PIECES:
            self._blocks.append(join(self._fresh))
            self._fresh = []
        while self._blocks and self._n_rows - self._blocks[0][0].n_rows >= WINDOW_ROWS:
            self._n_rows -= self._blocks.popleft()[0].n_rows

    def measure(self) -> tuple[int, float]:
        """How many columns, or the share of alarms, have drifted; and the share of rows out of the pool's ranges."""
        pieces = [*self._blocks, *self._fresh]
        if not pieces:
            return 0, 0.0
        (frame, n_alarms), encoder, fitted = join(pieces), self._served.saved.encoder, self._served.fitted
        pool_alarms = int(fitted.alarms(fitted.pool_scores).sum())
        counts = AlarmCounts(n_alarms, frame.n_rows, pool_alarms, len(fitted.pool_scores))
        drift = judge_drift(encoder.baseline, encoder.tally(frame), counts)
        moved = {finding.column for finding in drift.findings if finding.is_drift}
        outside = find_outside(encoder.baseline or {}, encoder.match(frame), frame.n_rows)
        return len(moved), float(outside.mean())


def join(pieces: Sequence[tuple[Frame, int]]) -> tuple[Frame, int]:
    """Rows of several requests as one frame, with the number of their alarms."""
    frames = [frame for frame, _ in pieces]
    names = [name for name in frames[0].columns if all(name in frame.columns for frame in frames)]
    columns = {name: np.concatenate([frame.columns[name] for frame in frames]) for name in names}
    return Frame(columns, frames[0].named, frames[0].schema), sum(n for _, n in pieces)


def find_outside(baseline: Baseline, columns: Mapping[str, Any], n_rows: int) -> Booleans:
    """Rows (n,) with a number beyond the pool's ends, or a category that the pool does not have."""
    outside = np.zeros(n_rows, bool)
    for name, known in baseline.items():
        values = columns[name]
        if known.counted == "numbers" and known.edges and values.dtype == np.float64:
            outside |= (values < known.edges[0]) | (values > known.edges[-1])
        elif known.counted == "categories" and values.dtype == object:
            words = known.pool.words
            outside |= np.array([cell is not None and cell not in words for cell in values.tolist()], bool)
    return outside


class Meters(Collector):
    """Counters of requests, and of what the model that is served now has said.

    labels_waiting: how many answers the model has not learnt from; None where nobody answers here.
    """

    def __init__(self, served: ServedModel, labels_waiting: Callable[[], int | None]) -> None:
        self._registry, self._lock = CollectorRegistry(), threading.Lock()
        self._labels_waiting = labels_waiting
        self.requests = Counter(
            "soel_requests", "Requests by path and status", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "soel_request_seconds", "Time of requests that score", buckets=SECONDS, registry=self._registry
        )
        self.failed_loads = Counter(
            "soel_model_load_failures", "Models that could not be loaded", registry=self._registry
        )
        self.n_waiting: Callable[[], int] = lambda: 0
        self._n_rows = self._n_alarms = 0
        self.begin(served)
        self._registry.register(self)

    def begin(self, served: ServedModel) -> None:
        """Count for another model: its scores have other edges."""
        pool = served.fitted.pool_scores
        with self._lock:
            self._served, self._recent = served, Recent(served)
            edges = [*np.quantile(pool, QUANTILES), served.fitted.threshold] if len(pool) else [served.fitted.threshold]
            self._edges = np.unique(np.asarray(edges))
            self._counts, self._sum = np.zeros(len(self._edges) + 1, np.int64), 0.0

    def note(self, served: ServedModel, batch: Batch, verdicts: Verdicts) -> None:
        """Count the rows of a request."""
        scores, n_alarms = verdicts["score"], int(verdicts["alarm"].sum())
        with self._lock:
            self._n_rows, self._n_alarms = self._n_rows + len(batch), self._n_alarms + n_alarms
            if served is self._served:
                steps = np.searchsorted(self._edges, scores)  # a score up to an edge belongs below it
                self._counts += np.bincount(steps, minlength=len(self._counts))
                self._sum += float(scores.sum())
                self._recent.add(batch.frame, n_alarms)

    def collect(self) -> Iterator[Any]:
        """Everything but what prometheus-client counts by itself."""
        with self._lock:
            n_moved, outside = self._recent.measure()
            below = np.cumsum(self._counts).tolist()
            buckets = [(f"{edge:.6g}", n) for edge, n in zip([*self._edges.tolist(), np.inf], below, strict=True)]
            buckets[-1] = ("+Inf", below[-1])
            served, total, n_rows, n_alarms = self._served, self._sum, self._n_rows, self._n_alarms
        yield CounterMetricFamily("soel_rows", "Rows that were scored", value=n_rows)
        yield CounterMetricFamily("soel_alarms", "Rows that raised an alarm", value=n_alarms)
        yield HistogramMetricFamily("soel_score", "Scores, in steps between quantiles of the pool's", buckets, total)
        yield GaugeMetricFamily("soel_drifted_columns", "Columns, or the share of alarms, not like the pool", n_moved)
        yield GaugeMetricFamily("soel_outside_ratio", "Share of recent rows out of the pool's ranges", outside)
        yield GaugeMetricFamily("soel_model_age_seconds", "Age of the model", max(time.time() - served.made, 0))
        yield GaugeMetricFamily("soel_queue_rows", "Rows that wait to be scored", self.n_waiting())
        info = GaugeMetricFamily("soel_model", "Which model is served", labels=["version"])
        info.add_metric([served.version], 1)
        yield info
        waiting = self._labels_waiting()
        if waiting is not None:
            yield GaugeMetricFamily("soel_labels_waiting", "Labels that the model has not learnt from", waiting)

    def render(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
