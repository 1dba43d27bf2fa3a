"""What the endpoint counts, in the words of Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from soel.assess.drift import AlarmCounts, judge_drift
from soel.serve.served import Batch, ServedModel, Verdicts
from soel.tables.frame import Frame
from soel.tables.tally import Baseline, Tally, add_tallies
from soel.types import Booleans

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)  # of the pool's scores: the edges
WINDOW_ROWS, PENDING_ROWS = 20_000, 4_096


class Recent:
    """What the last rows held: of one window that is full and one that fills, so that drift is about now."""

    def __init__(self, served: ServedModel) -> None:
        self._served = served
        self._pending: list[Frame] = []
        self._n_pending = 0
        self._windows: list[tuple[Tally | None, int, int, int]] = []  # tally, rows, alarms, rows out of range
        self._alarms = 0

    def add(self, frame: Frame, n_alarms: int) -> None:
        """Take in rows; they are counted once there are many, or somebody asks."""
        self._pending.append(frame)
        self._n_pending += frame.n_rows
        self._alarms += n_alarms
        if self._n_pending >= PENDING_ROWS:
            self.count()

    def count(self) -> None:
        """Count what was taken in."""
        if not self._pending:
            return
        encoder, names = self._served.saved.encoder, list(self._pending[0].columns)
        same = [frame for frame in self._pending if list(frame.columns) == names]
        columns = {name: np.concatenate([frame.columns[name] for frame in same]) for name in names}
        frame = Frame(columns, same[0].named, same[0].schema)
        baseline = encoder.baseline
        n_outside = 0 if baseline is None else int(find_outside(baseline, encoder.match(frame)).sum())
        fresh = encoder.tally(frame), frame.n_rows, self._alarms, n_outside
        self._pending, self._n_pending, self._alarms = [], 0, 0
        if not self._windows or self._windows[-1][1] >= WINDOW_ROWS:
            self._windows = [*self._windows[-1:], fresh]
        else:
            tally, *counts = self._windows[-1]
            sums = (a + b for a, b in zip(counts, fresh[1:], strict=True))
            self._windows[-1] = (add_tallies(tally, fresh[0]), *sums)  # type: ignore[assignment]

    def read(self) -> tuple[int, float]:
        """How many columns, or the share of alarms, have drifted; and the share of rows out of the pool's ranges."""
        self.count()
        if not self._windows:
            return 0, 0.0
        tally: Tally | None = self._windows[0][0]
        for other in self._windows[1:]:
            tally = add_tallies(tally, other[0])
        n_rows, n_alarms, n_outside = (sum(window[at] for window in self._windows) for at in (1, 2, 3))  # type: ignore[misc]
        fitted = self._served.fitted
        pool_alarms = int(fitted.alarms(fitted.pool_scores).sum())
        counts = AlarmCounts(n_alarms, n_rows, pool_alarms, len(fitted.pool_scores))
        drift = judge_drift(self._served.saved.encoder.baseline, tally, counts)
        moved = {finding.column for finding in drift.findings if finding.is_drift}
        return len(moved), n_outside / n_rows


def find_outside(baseline: Baseline, columns: Any) -> Booleans:
    """Rows (n,) with a number beyond the pool's ends, or a category that the pool does not have."""
    outside: Any = False
    for name, known in baseline.items():
        values = columns[name]
        if known.counted == "numbers" and known.edges and values.dtype == np.float64:
            outside = outside | (values < known.edges[0]) | (values > known.edges[-1])
        elif known.counted == "categories" and values.dtype == object:
            words = known.pool.words
            outside = outside | np.array([cell is not None and cell not in words for cell in values.tolist()], bool)
    return np.broadcast_to(np.asarray(outside, bool), (len(next(iter(columns.values()))),))


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
        n_alarms = int(verdicts.alarms.sum())
        with self._lock:
            self._n_rows, self._n_alarms = self._n_rows + len(batch), self._n_alarms + n_alarms
            if served is self._served:
                steps = np.searchsorted(self._edges, verdicts.scores)  # a score up to an edge belongs below it
                self._counts += np.bincount(steps, minlength=len(self._counts))
                self._sum += float(verdicts.scores.sum())
                self._recent.add(batch.frame, n_alarms)

    def collect(self) -> Iterator[Any]:
        """Everything but what prometheus-client counts by itself."""
        with self._lock:
            n_moved, outside = self._recent.read()
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
