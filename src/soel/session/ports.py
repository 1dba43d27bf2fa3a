"""What the session needs from outside: a store for events and an engine that computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from soel.queries.base import Strategy
from soel.types import Estimate, Evidence, Floats, Labels, PoolView, Progress, Rows, Selection

ANSWER_KINDS = ("label", "skip", "unsure")
KINDS = ("warm-up", "round", *ANSWER_KINDS, "undo", "lease", "decide", "note", "budget", "estimate", "fit")


@dataclass(frozen=True)
class Event:
    """One thing that happened, kept for ever. `number` and `at` are given by the store.

    kind: one of KINDS. who: the annotator, or 'soel' for what the session did itself.
    item: an item id for answers, leases, decisions and notes. body: what else belongs to it, plain JSON.
    """

    kind: str
    who: str
    item: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    at: str = ""


class Store(Protocol):
    """An append-only list of events, shared by threads and processes.

    `append` returns after the events are durable on disk, all of them or none; numbers rise by one and
    never repeat. Readers see whole appends only.
    """

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""

    def close(self) -> None:
        """Let go of the file or the server."""


class Engine(Protocol):
    """Computes, owns nothing durable. A model is opaque to the session; between steps it is a folder."""

    def warm_up(self, pool: Floats, progress: Progress | None = None) -> Any:
        """One epoch on all rows (N, d) as if normal."""

    def look(self, model: Any, pool: Floats, gradient_rate: float | None = None) -> tuple[Floats, Floats]:
        """Scores (N,) and embeddings (N, D); with a rate, gradients under pseudo-labels as embeddings."""

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks: `n` rows of the view and a reserve, after a look at the same model.

        rows: which rows of the pool the view shows; None for all.
        """

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The share of anomalies from all answers so far."""

    def learn(
        self, warm: Any, pool: Floats, labels: Labels, estimate: Estimate, progress: Progress | None = None
    ) -> Any:
        """Train from the warm-up on labelled and unlabelled rows and set the threshold."""

    def score(self, model: Any, x: Floats) -> Floats:
        """Anomaly scores (n,) of new rows."""

    def alarms(self, model: Any, scores: Floats) -> np.ndarray:
        """Which scores lie above the model's threshold: (n,) of bool."""

    def with_rule(self, model: Any, pool: Floats, rule: str) -> Any:
        """The same model with its threshold set by another rule over the pool (N, d)."""

    def save(self, model: Any, folder: Path) -> str:
        """Write the model, whole or not at all; returns its fingerprint."""

    def load(self, folder: Path) -> Any:
        """Read it back."""
