"""What the session needs from outside: a store for events and an engine that computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from soel.assess.conformal import FitFigures
from soel.assess.threshold import ThresholdRule
from soel.types import Estimate, Evidence, Floats, Labels, Pool, Progress, Proposal, Rows

ANSWER_KINDS = ("label", "skip", "unsure")
KINDS = (
    "warm-up",
    "round",
    "refine",
    *ANSWER_KINDS,
    "undo",
    "lease",
    "decide",
    "note",
    "mark",
    "maps",
    "budget",
    "estimate",
    "fit",
    "pool",
    "describe",
    "assign",
)


@dataclass(frozen=True)
class Event:
    """One thing that happened, kept for ever. `number` and `at` are given by the store.

    kind: one of KINDS. who: the annotator, or 'soel' for what the session did itself.
    item: an item id for answers, leases, decisions, notes and assignments. body: what else belongs to it, plain JSON.
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


class Loop(Protocol):
    """Computes, owns nothing durable. A model is opaque to the session but for what it says here."""

    @property
    def is_sequential(self) -> bool:
        """Whether a proposal knows the labels given since the model was made."""

    def prepare(self, pool: Pool, progress: Progress | None = None) -> Any:
        """What is known of the pool before the first label."""

    def propose(
        self,
        model: Any,
        pool: Pool,
        labels: Labels,
        n: int,
        *,
        share: float | None = None,
        aside: Rows = ...,
        first: Rows = ...,
        last: Rows = ...,
        for_record: bool = False,
        seed: Sequence[int] | None = None,
        seen: tuple[Floats, Floats] | None = None,
    ) -> Proposal:
        """`n` rows worth a label, and with `for_record` a reserve and the pool as it was seen.

        aside: rows that are not asked. first: rows that are asked before all others, however few they are. last: rows
        that are asked only when too few others are left.
        seen: scores and embeddings of the pool by this model, where they are known.
        """

    def learn(
        self, warm: Any, pool: Pool, rounds: Sequence[Evidence], labels: Labels, progress: Progress | None = None
    ) -> Learnt:
        """Estimate the share, train from the warm-up on labelled and unlabelled rows and set the threshold."""

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The share of anomalies from all answers so far."""

    def look(self, model: Any, pool: Pool) -> tuple[Floats, Floats]:
        """Scores (N,) and embeddings (N, D) of the pool."""

    def with_rule(self, fitted: Any, pool: Pool, rule: ThresholdRule) -> Any:
        """The same model with its threshold set by another rule over the pool."""


class Learnt(Protocol):
    """A fitted model, as far as a session looks into it."""

    @property
    def estimate(self) -> Estimate:
        """The share of anomalies that it was taught with."""

    @property
    def threshold(self) -> float:
        """Scores above it are alarms."""

    @property
    def pool_scores(self) -> Floats:
        """Scores (N,) of the pool; empty where they were not kept."""

    @property
    def figures(self) -> FitFigures:
        """What is said of the pool it learnt from, roughly."""

    def score(self, x: Floats, patches: Floats | None = None) -> Floats:
        """Anomaly scores (n,) of rows, and of the patches of pictures where they are looked at."""

    def probabilities(self, scores: Floats) -> Floats:
        """Of being an anomaly: (n,) by scores (n,)."""

    def alarms(self, scores: Floats) -> np.ndarray:
        """Which scores lie above the threshold: (n,) of bool."""


class Engine(Protocol):
    """The loop, and model folders to keep between its steps."""

    @property
    def loop(self) -> Loop:
        """What computes."""

    def save(self, model: Any, folder: Path) -> str:
        """Write the model, whole or not at all; returns its fingerprint."""

    def load(self, folder: Path) -> Any:
        """Read it back."""
