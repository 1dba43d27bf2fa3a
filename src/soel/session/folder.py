"""The folder of a session: where each file lies, and how a new one is laid out."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

import numpy as np

from soel.errors import DamagedError, ModelFileError, SessionError, StorageError
from soel.files import building, explain, explaining, parse_json, remove_all_leftovers, replacing, write_whole
from soel.images.grids import Grid
from soel.records import body_of, read_body
from soel.session.config import FIRST, ROWS, NewPool, PoolRef, SessionConfig, read_config, write_config
from soel.types import Floats

STREAM = "stream.json"  # of a pool that is a sample: the data that it was drawn from
NUMBERS = "numbers.npy"  # of such a pool: which of all the rows each item is
MEDIA = "media.json"  # of a pool of pictures: how to find them again
PATCHES = "patches.npy"
IDS, FEATURES = ITEM_FILES = ("ids.json", "features.npy")
KEPT = "whole"  # the folder for a copy of data that a sample was drawn from, where they cannot be read in parts


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read, in our words: the disk's faults, and content that is not what it was."""
    try:
        yield
    except OSError as error:
        raise explain(error, path, "read") from error
    except (ValueError, TypeError, EOFError, ModelFileError) as error:
        raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error


@dataclass(frozen=True)
class SourceData:
    """The data that a session's items were drawn from. address: where they lie; in the session's folder where it is
    relative. n_rows: how many rows they have.

    fingerprint: of their files. id_column, label_column: their own columns, None where there is none.
    """

    address: str
    fingerprint: str
    n_rows: int
    id_column: str | None = None
    label_column: str | None = None


@dataclass(frozen=True)
class SessionFolder:
    """Copy this folder and you have copied the session. pools: each state of its pool; the last one is meant.

    kept: what was read of files that never change, for all states of the pool.
    """

    path: Path
    pools: tuple[PoolRef, ...] = (FIRST,)
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def part(self, number: int) -> SessionFolder:
        """The folder as it was with an earlier pool: of that one are the source and the pictures that came with it."""
        return replace(self, pools=self.pools[:number])

    @property
    def parts(self) -> dict[int, SessionFolder]:
        """By number, the earlier pools that items of this one came with."""
        return {number: self.part(number) for number in np.unique(self.rows[:, 0]).tolist()}

    @property
    def home(self) -> Path:
        """Where the files of the pool lie."""
        return self.path / self.pools[-1].folder

    @property
    def events(self) -> Path:
        """The database of events."""
        return self.path / "events.sqlite"

    @property
    def source(self) -> Path:
        """The copy of the table that came with this pool."""
        if len(self.pools) == 1:
            return self.path / f"source{Path(self.config.source).suffix.lower()}"
        return self.home / next((name for name in self.pools[-1].digests if name.startswith("source")), "source")

    @property
    def encoder(self) -> Path:
        """How a row of the table becomes features."""
        return self.path / "encoder.json"

    @property
    def rounds(self) -> Path:
        """What each round saw of the pool."""
        return self.path / "rounds"

    @property
    def guidelines(self) -> Path:
        """What the owner agreed with the annotators, in Markdown."""
        return self.path / "guidelines.md"

    @property
    def progress(self) -> Path:
        """How far the work in the background is."""
        return self.path / "progress.json"

    @property
    def has_pictures(self) -> bool:
        """Whether the items are pictures or frames, rather than rows of a table."""
        return (self.path / MEDIA).exists()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns; none of pictures."""
        if self.has_pictures:
            return ()
        path = self.verify(self.encoder.name)
        with reading(path):
            known = parse_json(path.read_text(encoding="utf-8"))
        return tuple(str(each["name"]) for each in (known["schema"] or known)["columns"])

    @property
    def media_note(self) -> dict[str, Any]:
        """Where the pictures that came with this pool lie, and how they were read."""
        return cast("dict[str, Any]", self._read_json(MEDIA))

    @property
    def config(self) -> SessionConfig:
        """What the session was started with."""
        if "config" not in self.kept:
            self.kept["config"] = read_config(self.path / "config.json")
        return cast("SessionConfig", self.kept["config"])

    @property
    def identity(self) -> str:
        """What the pool is known by: the session's id, with the pool's number after a change."""
        return self.config.session if len(self.pools) == 1 else f"{self.config.session}-{len(self.pools)}"

    @property
    def n_items(self) -> int:
        n_items = self.pools[-1].n_items
        return self.config.n_items if n_items is None else n_items

    def verify(self, name: str) -> Path:
        """The path of a file that the session rests on; refused where it is not what it was when it was written."""
        own: Mapping[str, str] = self.pools[-1].digests
        path = self.home / name if name in own else self.path / name
        digest = own.get(name) or self.config.digests.get(name)
        if digest is not None:
            compare(path, digest)
        return path

    @cached_property
    def ids(self) -> tuple[str, ...]:
        ids, path = self._read_json(IDS), self.home / IDS
        if not isinstance(ids, list) or len(ids) != self.n_items:
            raise DamagedError(f"{path} is not this session's list of items; restore it from a copy.")
        return tuple(str(item) for item in ids)

    @cached_property
    def pool(self) -> Floats:
        return self._read_array(FEATURES, n_rows=self.n_items)

    @cached_property
    def rows(self) -> np.ndarray:
        """Where each item comes from: (N, 2) of the number of the pool that brought it and its row in that source."""
        if len(self.pools) == 1:
            return np.stack([np.ones(self.n_items, np.int64), np.arange(self.n_items)], axis=1)
        return self._read_array(ROWS, n_rows=self.n_items)

    def _read_array(self, name: str, n_dimensions: int = 2, n_rows: int | None = None) -> np.ndarray:
        """An array, mapped from disk. A matrix copies on write: torch warns of arrays that it must not write to."""
        path = self.verify(name)
        with reading(path):
            array: np.ndarray = np.load(path, mmap_mode="c" if n_dimensions == 2 else "r", allow_pickle=False)
        if array.ndim != n_dimensions or len(array) != (n_rows or len(array)):
            raise DamagedError(f"{path} has shape {array.shape}, not {n_rows} rows; restore it from a copy.")
        return array

    @cached_property
    def patches(self) -> Floats | None:
        """The patches (N, P, D) of the pictures; None where only whole pictures are looked at.

        They lie beside each list of pictures, and are mapped from disk; once pictures were added, they are brought
        together in memory.
        """
        if PATCHES not in self.config.digests:
            return None
        if len(self.pools) == 1:
            return self._read_array(PATCHES, 3, self.n_items)
        found = np.empty(0, np.float16)
        for number, part in self.parts.items():
            here = self.rows[:, 0] == number
            own = part._read_array(PATCHES, 3)
            found = found if found.size else np.empty((self.n_items, *own.shape[1:]), own.dtype)
            found[here] = own[self.rows[here, 1]]
        return found

    @cached_property
    def moments(self) -> Floats | None:
        """The number of its clip and the second (N, 2) of each frame; None where items are no frames."""
        if not self.has_pictures:
            return None
        known: dict[int, Any] = {number: part.media_note["moments"] for number, part in self.parts.items()}
        if any(moments is None for moments in known.values()):
            return None
        clips: dict[str, int] = {}
        found = np.empty((self.n_items, 2))
        for at, (number, row) in enumerate(self.rows.tolist()):
            clip, second = known[number][row]
            found[at] = clips.setdefault(clip, len(clips)), second
        return found

    @property
    def grid(self) -> Grid:
        note: dict[str, Any] = self.media_note["grid"]
        pairs: dict[str, Any] = {name: tuple(value) for name, value in note.items() if isinstance(value, list)}
        return Grid(**note | pairs)

    @cached_property
    def all_data(self) -> tuple[SourceData, ...]:
        """Where all the data lie, in order, for a session on a sample of them; empty for a session on all of them."""
        known = (*self.pools[-1].digests, *self.config.digests)
        if STREAM not in known and not (self.path / STREAM).exists():
            return ()
        note = self._read_json(STREAM)
        with reading(self.path / STREAM):
            return tuple(read_body(SourceData, each) for each in note)

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """The number of each item (N,) among all rows, for a sample; None where every row is an item."""
        return self._read_array(NUMBERS, n_rows=self.n_items)[:, 0] if self.all_data else None

    @property
    def n_rows(self) -> int | None:
        """How many rows the data have that the pool is a sample of; None where every row is an item."""
        return sum(whole.n_rows for whole in self.all_data) if self.all_data else None

    def _read_json(self, name: str) -> Any:
        path = self.verify(name)
        with reading(path):
            return parse_json(path.read_text(encoding="utf-8"))

    def new_model(self, name: str) -> str:
        """The relative path of a new, empty model folder that belongs to the caller alone.

        A process that died after saving leaves a folder that no event names; it is never overwritten. What one that
        died while saving left is removed.
        """
        return self._new_folder(f"models/{name}")

    def new_pool(self) -> str:
        """The relative path of a new, empty folder for the next pool, in the same way."""
        return self._new_folder(f"pools/{len(self.pools) + 1:04d}")

    def _new_folder(self, name: str) -> str:
        remove_all_leftovers(self.path / Path(name).parent)
        for place in chain([name], (f"{name}-{turn}" for turn in count(2))):
            with explaining(self.path / place), suppress(FileExistsError):  # of two processes only one makes it
                (self.path / place).mkdir(parents=True)
                return place
        raise AssertionError("there is always another name")


def lay_out(path: Path, config: SessionConfig, ids: Sequence[str], features: Floats) -> SessionFolder:
    """Write a new session's ids, features and, last, its config: without a config it is no session.

    The config keeps digests of all files that are there by then.
    """
    if len(ids) != config.n_items or len(features) != config.n_items:
        raise SessionError(f"{len(ids)} ids and {len(features)} rows were given for {config.n_items} items.")
    if len(set(ids)) != len(ids):
        raise SessionError("Item ids repeat; every item of a session needs one of its own.")
    write_items(path, ids, features)
    write_config(path / "config.json", replace(config, digests=digests_of(path, "events.sqlite")))
    return SessionFolder(path)


def write_pool(place: SessionFolder, new: NewPool) -> PoolRef:
    """Write the folder of a new pool; it counts for nothing until an event names it."""
    folder = place.new_pool()
    with building(place.path / folder, private=True) as partial:
        if new.write is not None:
            new.write(partial)
        write_items(partial, new.ids, new.features)
        _save(partial / ROWS, np.ascontiguousarray(new.rows, np.int64))
        digests = digests_of(partial, ".")
    return replace(new.ref, number=len(place.pools) + 1, folder=folder, n_items=len(new.ids), digests=digests)


def write_sample_notes(path: Path, all_data: Sequence[SourceData], numbers: np.ndarray) -> None:
    """Write where the data of a sample lie, and which of all their rows each item (N,) is."""
    write_whole(path / STREAM, json.dumps([body_of(whole) for whole in all_data], indent=1).encode())
    _save(path / NUMBERS, np.ascontiguousarray(numbers, np.int64)[:, None])


def write_patches(path: Path, patches: Floats) -> None:
    """Write the patches (n, P, D) of pictures beside the list of these."""
    _save(path / PATCHES, np.asarray(patches, np.float16))


def write_items(path: Path, ids: Sequence[str], features: Floats) -> None:
    """Write what follows from the table alone: equal tables give equal files."""
    write_whole(path / IDS, json.dumps(list(ids), ensure_ascii=False).encode())
    _save(path / FEATURES, np.ascontiguousarray(features, np.float32))


def _save(path: Path, array: np.ndarray) -> None:
    with replacing(path) as file:
        np.save(file, array, allow_pickle=False)


CHECKED = ".checked.json"
YOUNG = 2 * 10**9  # nanoseconds: a file that changed so recently could change again without a trace in its times


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise DamagedError(f"{path} is missing; restore it from a copy.") from error
    except OSError as error:
        raise explain(error, path, "read") from error


def digests_of(folder: Path, leave_out: str) -> dict[str, str]:
    """The digests of the files directly in a folder, but for those whose names start so."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(leave_out))
    return {path.name: digest_of(path) for path in files}


def compare(path: Path, digest: str) -> None:
    """Refuse a file that is not what it was; one that was compared before and was not touched since is not read."""
    noted, now = path.with_name(CHECKED), _marks(path)
    known = _read(noted)
    if now is not None and known.get(path.name) == now:
        return
    if digest_of(path) != digest:
        raise DamagedError(
            f"{path} is not what it was when the session was made: it is damaged, or was changed by hand. "
            f"`soel check {path.parent}` says what that means; else restore it from a copy."
        )
    if now is not None and now == _marks(path):
        with suppress(StorageError):  # on a disk that is full or read-only, it is read again next time
            content = json.dumps({**known, path.name: now}).encode()
            write_whole(noted, content, private=True, lasting=False)


def _marks(path: Path) -> list[int] | None:
    """What changes with a file's content: size, times, inode. None where the last change is too recent to tell."""
    try:
        found = path.stat()
    except OSError:
        return None
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < YOUNG:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _read(noted: Path) -> Mapping[str, object]:
    try:
        known = parse_json(noted.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
