"""A round of questions as it was drawn: its form in the store, and the file with what its model saw of the pool."""

from __future__ import annotations

import secrets
import zipfile
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import DamagedError
from soel.files import move, replacing
from soel.records import BESIDE, path_inside
from soel.session.folder import digest_of
from soel.types import Floats

SPOT_CHECK = "spot-check"  # the strategy of a round that was drawn by chance, to prove what the figures say


@dataclass(frozen=True)
class Draw:
    """One item of a round: the probability it was drawn with and the score it had."""

    item: str
    odds: float
    score: float


@dataclass(frozen=True)
class ModelRef:
    """A model folder inside the session, and the fingerprint it was saved with."""

    folder: str
    fingerprint: str

    def __post_init__(self) -> None:
        path_inside(self.folder)


@dataclass(frozen=True)
class CheckFacts:
    """What was known when a spot check was drawn, for it to be judged by later.

    threshold: of the model that drew it.
    n_rows, n_alarms: of the pool.
    known_alarms, known_others: items with a label by then, above the threshold and not.
    expected_alarms, expected_others: the sums of the model's probabilities over all other items on either side.
    """

    threshold: float
    n_rows: int
    n_alarms: int
    known_alarms: tuple[str, ...]
    known_others: tuple[str, ...]
    expected_alarms: float
    expected_others: float

    def __post_init__(self) -> None:
        if not 0 <= self.n_alarms <= self.n_rows < 1 << 53:
            raise ValueError(f"{self.n_alarms} alarms of {self.n_rows} rows cannot be")


@dataclass(frozen=True)
class Round:
    """The items to ask in order, the reserve that replaces skipped ones, and how they came about.

    A refine is a round of the same number: what the strategy proposes in the middle of it, knowing more answers.

    record: the file with the pool's scores and embeddings. digest: its SHA-256.
    after: the number of the last event that was known when it was drawn.
    check: of a spot check, what it is judged by.
    looked_at: when a refine looked who holds a lease; empty for a round.
    event, at: number and time of its event.
    refines: those that came in time, oldest first.
    order: all items after them, in the order in which they may be shown; empty before the first.
    """

    number: int
    asked: tuple[Draw, ...]
    reserve: tuple[Draw, ...]
    model: ModelRef
    seed: tuple[int, ...]
    strategy: str
    options: Mapping[str, Any]
    record: str
    digest: str
    after: int
    looked_at: str = ""
    check: CheckFacts | None = None
    event: int = field(default=0, metadata=BESIDE)
    at: str = field(default="", metadata=BESIDE)
    refines: tuple[Round, ...] = field(default=(), metadata=BESIDE)
    order: tuple[Draw, ...] = field(default=(), metadata=BESIDE)

    def __post_init__(self) -> None:
        path_inside(self.record)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All items in the order in which they may be shown."""
        return self.order or self.proposed

    @property
    def proposed(self) -> tuple[Draw, ...]:
        """The items that were drawn here, by the strategy and the model of this part."""
        return self.asked + self.reserve

    @property
    def parts(self) -> tuple[Round, ...]:
        """The round as it was drawn, and its refines."""
        return (self, *self.refines)

    def with_refine(self, part: Round, kept: Container[str]) -> Round:
        """The round after a refine: no item leaves it. First come those kept, then the new ones, then all others."""
        first = [draw for draw in self.draws if draw.item in kept]
        new = [draw for draw in part.proposed if draw.item not in kept]
        placed = {draw.item for draw in (*first, *new)}
        rest = [draw for draw in self.draws if draw.item not in placed]
        return replace(self, refines=(*self.refines, part), order=(*first, *new, *rest))

    @cached_property
    def items(self) -> frozenset[str]:
        """The ids of all items drawn."""
        return frozenset(draw.item for draw in self.draws)


@dataclass(frozen=True)
class PoolRecord:
    """The pool as one round's model saw it. scores: (N,), embeddings: (N, D)."""

    scores: Floats
    embeddings: Floats


def save_record(folder: Path, number: int, record: PoolRecord) -> tuple[str, str]:
    """Write what a round saw; returns the file's name and its SHA-256.

    The name carries the content's hash, so that two processes that draw the same round at the same
    moment cannot overwrite one another.
    """
    scores, embeddings = np.asarray(record.scores, np.float64), np.asarray(record.embeddings, np.float32)
    draft = folder / f"{number:04d}-{secrets.token_hex(8)}.npz"
    with replacing(draft) as file:
        np.savez(file, scores=scores, embeddings=embeddings)
    try:
        digest = digest_of(draft)
        name = f"{number:04d}-{digest[:12]}.npz"
        move(draft, folder / name)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return name, digest


def load_record(path: Path, digest: str, n_items: int) -> PoolRecord:
    """Read it back; a file that changed since is refused."""
    if digest_of(path) != digest:
        raise DamagedError(f"{path} is not the file that the round recorded; restore it from a copy.")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            record = PoolRecord(arrays["scores"], arrays["embeddings"])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    if record.scores.shape != (n_items,) or len(record.embeddings) != n_items:
        raise DamagedError(f"{path} is about {len(record.scores)} items, not {n_items}; restore it from a copy.")
    return record
