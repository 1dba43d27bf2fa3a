"""The frozen values that travel between rooms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from soel.errors import ConfigError

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Labels = NDArray[np.int8]
Progress = Callable[[int, int], None]  # called with how much is done, of how much
Named = Mapping[int, Rows]  # the columns of the matrix that experts named, by row of the pool
Counted = Callable[[int], None]  # called with how much is done


class Label(IntEnum):
    """What is known about an item; the codes of every array of labels."""

    UNLABELLED = -1
    NORMAL = 0
    ANOMALY = 1

    @property
    def word(self) -> str:
        """As people read and write it."""
        return self.name.lower()


class Verdict(StrEnum):
    """What an expert can say about an item."""

    ANOMALY = "anomaly"
    NORMAL = "normal"
    SKIP = "skip"
    UNSURE = "unsure"

    @property
    def label(self) -> Label | None:
        """The label it gives; None where it sets the item aside."""
        return LABEL_WORDS.get(self.value)


UNLABELLED, NORMAL, ANOMALY = Label.UNLABELLED, Label.NORMAL, Label.ANOMALY
LABEL_WORDS = {label.word: label for label in (ANOMALY, NORMAL, UNLABELLED)}
VERDICT_WORDS = {
    **{verdict.value: verdict for verdict in Verdict},
    **{verdict.value[0]: verdict for verdict in Verdict},  # one key each
    **{str(verdict.label.value): verdict for verdict in Verdict if verdict.label is not None},  # 1 and 0
}
_BLOCK_ROWS = 65_536
NO_ROWS: Rows = np.zeros(0, np.int64)
NO_NAMES: Named = MappingProxyType({})


class Kind(StrEnum):
    """What the rows of a pool are. It is decided once, where data are read, or said by the user.

    table: columns that mean something each. vectors: features of a network, which mean something together.
    pictures: the pixels themselves.
    """

    TABLE = "table"
    VECTORS = "vectors"
    PICTURES = "pictures"

    @classmethod
    def read(cls, word: str) -> Kind | None:
        """A kind by its name; None for 'auto', which leaves it to the rows."""
        if word == "auto":
            return None
        if word not in list(cls):
            raise ConfigError(f"There is no kind of rows called {word!r}. Choose one of: {', '.join(['auto', *cls])}.")
        return cls(word)


@dataclass(frozen=True, eq=False)
class Pool:
    """Encoded rows (N, d) of one kind. identity: the same for the same rows, whatever object holds them.

    patches: (N, P, D) of the pictures whose features the rows are: D values at each of P places, mapped from disk
    where they are many. None where the rows are no pictures, or only the whole picture matters.
    marked: (N, P), the places that experts pointed at; None where nobody did.
    moments: (N, 2), the number of its clip and the second of each frame; None where rows are no frames.
    named: the columns of rows that experts named: why one is an anomaly, or what is fine in a normal one.
    selected: (N,), rows that joined the pool because of their scores, labelled ones: they teach, and say nothing of how
    many anomalies there are. None where all are a sample of the data.
    """

    rows: Floats
    kind: Kind
    identity: str
    patches: Floats | None = None
    marked: Booleans | None = None
    moments: Floats | None = None
    selected: Booleans | None = None
    named: Named = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fair(self) -> Booleans:
        """Rows (N,) that are a sample of the data."""
        return np.ones(len(self), bool) if self.selected is None else ~self.selected

    @property
    def n_features(self) -> int:
        """d, the encoded width."""
        return int(self.rows.shape[1])

    @classmethod
    def of(cls, rows: Floats, kind: Kind, patches: Floats | None = None) -> Pool:
        """A pool known by its content: one pass over the rows. Patches come from the same pictures as their rows."""
        form = f"{kind} {rows.shape} {rows.dtype}" + ("" if patches is None else f" {patches.shape}")
        digest = hashlib.blake2b(form.encode(), digest_size=16)
        for start in range(0, len(rows), _BLOCK_ROWS):
            digest.update(np.ascontiguousarray(rows[start : start + _BLOCK_ROWS]).data)
        return cls(rows, kind, digest.hexdigest(), patches)


@dataclass(frozen=True)
class PoolView:
    """What a strategy, an estimator or an objective may see of the pool: never the hidden truth.

    scores: (N,), higher is more anomalous. embeddings: (N, D). labels: (N,) of 1, 0, -1. What a strategy does not
    say that it needs is not computed for it, and empty here.
    contamination: the share of anomalies, only for rules that are given it explicitly.
    """

    scores: Floats
    embeddings: Floats
    labels: Labels
    contamination: float | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def labelled(self) -> Rows:
        """Positions of the rows that have a label, in row order."""
        return np.flatnonzero(self.labels != UNLABELLED)

    @property
    def unlabelled(self) -> Rows:
        """Positions of the rows that have none."""
        return np.flatnonzero(self.labels == UNLABELLED)


@dataclass(frozen=True)
class Selection:
    """Rows in the order to ask about them, each with the probability it was drawn with.

    A rule without chance has odds of 1. The first `n` rows of a longer selection are the selection of `n`:
    what follows them is the reserve, from which a skipped item is replaced.
    """

    rows: Rows
    odds: Floats

    def then(self, others: Selection) -> Selection:
        """These rows, and others after them."""
        return Selection(np.concatenate([self.rows, others.rows]), np.concatenate([self.odds, others.odds]))


@dataclass(frozen=True)
class Proposal:
    """Rows to ask about, in order, then a reserve; and the pool as it was seen, where a record was wanted.

    seed: what the chance of the proposal started from. scores: (N,). embeddings: (N, D).
    """

    selection: Selection
    seed: tuple[int, ...]
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    embeddings: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def rows(self) -> Rows:
        """The rows, those to ask first."""
        return self.selection.rows


@dataclass(frozen=True)
class Evidence:
    """One round of answers: the pool as it was seen when the round was drawn, the rows asked, their labels.

    rows: (K,) positions. labels: (K,) of 1 and 0.
    """

    scores: Floats
    embeddings: Floats
    rows: Rows
    labels: Labels


@dataclass(frozen=True)
class Chances:
    """What a detector says of rows without a label: scores (m,), and the probability (m,) of each to be an anomaly."""

    scores: Floats
    probabilities: Floats


@dataclass(frozen=True)
class Estimate:
    """The share of anomalies in the pool with an 80 % interval and how it came about."""

    value: float
    low: float
    high: float
    method: str
    diagnostics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ItemWeights:
    """Fixed weights on the two losses of each item: (n,) on L0 ('looks normal') and (n,) on L1 (its opposite)."""

    normal: Floats
    anomaly: Floats


@dataclass(frozen=True)
class RankedWeights:
    """Weights that follow the current ranking of the unlabelled rows by L0 - L1.

    The top `anomaly_share` (None: the estimated rate among the unlabelled) get `weight` on L1 and the
    rest of it on L0. The lowest `normal_share` (None: all others) get L0; what lies between gets nothing.
    `scale` multiplies them all.
    """

    weight: float
    anomaly_share: float | None = None
    normal_share: float | None = None
    scale: float = 1.0


StepRule = Literal["summed", "split"]
PseudoLabelRule = Literal["epoch", "batch"]
Precision = Literal["highest", "high"]


@dataclass(frozen=True)
class Interval:
    """One event in a clip. start, end, peak: seconds. score: at the peak. n_alarms: frames that raise one."""

    clip: str
    start: float
    end: float
    peak: float
    score: float
    n_alarms: int


def within(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
