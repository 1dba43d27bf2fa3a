"""A round of questions as it was drawn: its form in the store, and the file with what its model saw of the pool."""

from __future__ import annotations

import secrets
import zipfile
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import DamagedError
from soel.files import move, replacing
from soel.session.events import path_inside
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


@dataclass(frozen=True)
class Round:
    """The items to ask in order, the reserve that replaces skipped ones, and how they came about.

    A refine is a round of the same number: what the strategy proposes in the middle of it, knowing more answers.

    record: the file with the pool's scores and embeddings. digest: its SHA-256.
    after: the number of the last event that was known when it was drawn.
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
    event: int = 0
    at: str = ""
    refines: tuple[Round, ...] = ()
    order: tuple[Draw, ...] = ()

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

    def body(self) -> dict[str, Any]:
        """The round, or the refine, as plain JSON."""
        return {
            "round": self.number,
            "asked": [vars(draw) for draw in self.asked],
            "reserve": [vars(draw) for draw in self.reserve],
            "model": vars(self.model),
            "seed": list(self.seed),
            "strategy": self.strategy,
            "options": dict(self.options),
            "record": self.record,
            "sha256": self.digest,
            "after": self.after,
            "looked_at": self.looked_at,
        }


def read_round(body: Mapping[str, Any], event: int = 0, at: str = "") -> Round:
    """The round that a stored body describes. event, at: number and time of its event."""
    strategy, options = str(body["strategy"]), dict(body["options"])
    return Round(
        number=int(body["round"]),
        asked=_draws(body["asked"]),
        reserve=_draws(body["reserve"]),
        model=read_model_ref(body["model"]),
        seed=tuple(int(part) for part in body["seed"]),
        strategy=strategy,
        options=_check_options(options) if strategy == SPOT_CHECK else options,
        record=path_inside(body["record"]),
        digest=str(body["sha256"]),
        after=int(body["after"]),
        looked_at=str(body["looked_at"]),
        event=event,
        at=at,
    )


def read_model_ref(body: Mapping[str, Any]) -> ModelRef:
    """The model that a stored body names."""
    return ModelRef(path_inside(body["folder"]), str(body["fingerprint"]))


def _check_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a spot check keeps to be judged by, each of its type."""
    numbers = {name: float(options[name]) for name in ("threshold", "expected_alarms", "expected_others")}
    counts = {name: int(options[name]) for name in ("n_rows", "n_alarms")}
    if not 0 <= counts["n_alarms"] <= counts["n_rows"] < 1 << 53:
        raise ValueError(f"{counts['n_alarms']} alarms of {counts['n_rows']} rows cannot be")
    items = {name: [str(item) for item in options[name]] for name in ("known_alarms", "known_others")}
    return {**numbers, **counts, **items}


def _draws(rows: Sequence[Mapping[str, Any]]) -> tuple[Draw, ...]:
    return tuple(Draw(str(row["item"]), float(row["odds"]), float(row["score"])) for row in rows)


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
