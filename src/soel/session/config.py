"""What a session was started with, written once, and each state of its pool since, as the events name them.

Files of a pool are never changed. A change writes a new folder, `pools/0002` say, and then one event that names it:
without the event, the folder is nothing. So a crash in between leaves the session as it was, and the pool of any
earlier moment can still be read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soel.ask import STRATEGIES
from soel.assess.threshold import parse_threshold
from soel.errors import ConfigError, DamagedError, SessionError
from soel.files import explain, parse_json, write_whole
from soel.images.image_items import PICTURE_LIST
from soel.records import BESIDE, body_of, path_inside, read_body
from soel.settings import GOALS, Profile, choose_profile
from soel.types import Floats, Kind

FORMAT = 1
POOL_ROWS = 200_000
USUAL_BUDGET = 20  # labels, fewer where there are not so many items


@dataclass(frozen=True)
class SessionOptions:
    """What a person chooses for a new session, by the command line, the page or Python.

    id_column, label_column: columns of the data that name each item and hold known labels, which no one learns from.
    threshold: a rule such as 'contamination' or 'share=0.02'. budget: labels that the expert can give.
    contamination: the share of anomalies where it is known. answers_per_item: how many annotators label each item.
    lease_minutes: how long an item that was shown is reserved for that annotator. pool_rows: a larger table is
    thinned to so many rows at random. kind: what the rows of a table are, 'table' or 'vectors' (features of a network);
    'auto' looks at them. goal: what questions are for, to 'learn' the best detector or to 'find' the most anomalies.
    strategy: how items to ask about are picked, by name; None takes the profile's.
    """

    id_column: str | None = None
    label_column: str | None = None
    profile: str | Profile = "default"
    seed: int = 0
    budget: int = USUAL_BUDGET
    threshold: str = "contamination"
    contamination: float | None = None
    answers_per_item: int = 1
    lease_minutes: float = 10.0
    pool_rows: int = POOL_ROWS
    kind: str = "auto"
    goal: str = "learn"
    strategy: str | None = None

    def __post_init__(self) -> None:
        parse_threshold(self.threshold)
        Kind.read(self.kind)
        if self.goal not in GOALS:
            raise ConfigError(f"There is no goal called {self.goal!r}. Choose one of: {', '.join(GOALS)}.")
        if self.budget < 1:
            raise ConfigError(f"The budget must be at least one label, got {self.budget}.")
        if self.seed < 0:
            raise ConfigError(f"The seed must not be negative, got {self.seed}.")
        if self.contamination is not None and not 0 <= self.contamination <= 0.5:
            raise ConfigError(f"The contamination must lie between 0 and 0.5, got {self.contamination}.")
        if self.answers_per_item < 1:
            raise ConfigError(f"Each item needs at least one annotator, got {self.answers_per_item}.")
        if not 0 < self.lease_minutes <= 7 * 24 * 60:
            raise ConfigError(f"A lease lasts more than 0 minutes and at most a week, got {self.lease_minutes}.")
        if self.pool_rows < 2:
            raise ConfigError(f"A pool needs at least 2 rows, got <<pool-rows={self.pool_rows}>>.")

    @property
    def method(self) -> Profile:
        """The profile with the strategy or the goal that was chosen."""
        if self.strategy is not None:
            STRATEGIES.check(self.strategy)
        return choose_profile(self.profile, strategy=self.strategy, goal=self.goal)

    def budget_for(self, n_items: int) -> int:
        """How many labels so many items can have: one each; a budget that was asked for is never lowered."""
        if self.budget > n_items and self.budget != USUAL_BUDGET:
            raise ConfigError(f"The budget is {self.budget} labels but the data has {n_items} items; choose fewer.")
        return min(self.budget, n_items)


@dataclass(frozen=True, kw_only=True)
class SessionConfig(SessionOptions):
    """The options of a session and what it was started on; they hold for good.

    session: its id. source: the name of the copied table. fingerprint: of that table's content. profile: its name.
    settings: every setting of the profile, so that a later release cannot change a running session.
    store: the address of a shared database without its password, None for the folder.
    digests: of the files that the session rests on, by name.
    """

    session: str
    created: str
    source: str
    fingerprint: str
    n_items: int
    profile: str
    settings: Mapping[str, Any]
    store: str | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.budget_for(self.n_items)

    @property
    def origin(self) -> str:
        """The name of the data as its owner knows it."""
        return self.source.removesuffix(PICTURE_LIST)


def write_config(path: Path, config: SessionConfig) -> None:
    """Write it once, with a seal over its content."""
    if path.exists():
        raise SessionError(f"{path} exists already; a session's config is written once. Choose another folder.")
    content = {"format": FORMAT, **body_of(config)}
    sealed = content | {"seal": _seal(content)}
    write_whole(path, (json.dumps(sealed, indent=2, ensure_ascii=False) + "\n").encode())


def read_config(path: Path) -> SessionConfig:
    """Read it back; an unknown format or an edited file is refused."""
    content = _parse(path)
    if content.get("format") != FORMAT:
        raise SessionError(
            f"{path} has format {content.get('format')!r}, this release reads format {FORMAT}; "
            "open it with the release that wrote it."
        )
    seal = content.pop("seal", None)
    if seal != _seal(content):
        raise DamagedError(f"{path} was changed after it was written; restore it from a copy, or start a new session.")
    content.pop("format")
    try:
        Profile.from_json(content["settings"])
        return read_body(SessionConfig, content)
    except (ConfigError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"{path} holds a setting that makes no sense ({error}); restore it from a copy.") from error


def _parse(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SessionError(f"{path.parent} is not a session folder; start one with `soel init`.") from error
    except OSError as error:
        raise explain(error, path, "read") from error
    except ValueError as error:
        raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    if not isinstance(content, dict):
        raise DamagedError(f"{path} is not a session's config; restore it from a copy.")
    return content


def _seal(content: Mapping[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()


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
    write: Callable[[Path], None] | None = None


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
