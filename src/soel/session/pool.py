"""The pool as it changes: what a session began with, and each change since, as the events name them.

Files of a pool are never changed. A change writes a new folder, `pools/0002` say, and then one event that names it:
without the event, the folder is nothing. So a crash in between leaves the session as it was, and the pool of any
earlier moment can still be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from soel.records import BESIDE, path_inside
from soel.types import Floats

ROWS = "rows.npy"


@dataclass(frozen=True)
class PoolRef:
    """One state of the pool. number: 1 for what the session began with. since: the number of its event.

    folder: inside the session's, empty for its own. n_items: None for what the config says. digests: of the folder's
    files. what: 'add' or 'remove'. data: the name of what was added. n_added, n_replaced, n_removed: items.
    n_displaced: items that gave way, so that the pool stays a fair sample of all rows. notes: what reading the data
    left out. who, at: of its event.
    """

    number: int = 1
    folder: str = ""
    n_items: int | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    since: int = field(default=0, metadata=BESIDE)
    what: str = ""
    data: str = ""
    n_added: int = 0
    n_replaced: int = 0
    n_removed: int = 0
    n_displaced: int = 0
    notes: tuple[str, ...] = ()
    who: str = field(default="", metadata=BESIDE)
    at: str = field(default="", metadata=BESIDE)

    def __post_init__(self) -> None:
        path_inside(self.folder)


FIRST = PoolRef()


def _write_nothing(folder: Path) -> None:
    """For a change that brings no data."""


@dataclass(frozen=True)
class NewPool:
    """What the pool is to be. ids, features (N, d), rows (N, 2) as `SessionFolder.rows`: of all items, in order.

    ref: what, data and numbers of the change; the rest is filled in. removed, returned: see `PoolChange`.
    write: writes what came with the change (the source, its notes) into the new folder.
    """

    ids: Sequence[str]
    features: Floats
    rows: np.ndarray
    ref: PoolRef
    removed: Sequence[str] = ()
    returned: Sequence[str] = ()
    write: Callable[[Path], None] = _write_nothing


@dataclass(frozen=True)
class PoolChange:
    """A change as it is stored. after: the last event that its writer knew.

    removed, returned: ids that leave, and that left before and are there again.
    """

    pool: PoolRef
    after: int
    removed: frozenset[str]
    returned: frozenset[str]


def pool_at(pools: Sequence[PoolRef], after: int) -> tuple[PoolRef, ...]:
    """The pools that were known after this event, the one that held then last."""
    return tuple(pool for pool in pools if pool.since <= after) or (FIRST,)
