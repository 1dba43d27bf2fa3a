"""The folder of a session: where each file lies, and how a new one is laid out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from soel.durable import explain, replacing, telling, write_whole
from soel.errors import DamagedError, SessionError
from soel.session.config import SessionConfig, read_config, write_config
from soel.session.digests import compare, digests_of
from soel.types import Floats

STREAM = "stream.json"


@dataclass(frozen=True)
class Whole:
    """The data that a session's items were drawn from. address: where they lie. n_rows: how many rows they have.

    fingerprint: of their files. id_column, label_column: their own columns, None where there is none.
    """

    address: str
    fingerprint: str
    n_rows: int
    id_column: str | None = None
    label_column: str | None = None


@dataclass(frozen=True)
class SessionFolder:
    """Copy this folder and you have copied the session."""

    path: Path

    @property
    def events(self) -> Path:
        """The database of events."""
        return self.path / "events.sqlite"

    @property
    def source(self) -> Path:
        """The copy of the table that the items come from."""
        return self.path / f"source{Path(self.config.source).suffix.lower()}"

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

    @cached_property
    def config(self) -> SessionConfig:
        """What the session was started with."""
        return read_config(self.path / "config.json")

    def checked(self, name: str) -> Path:
        """The path of a file that the session rests on; refused where it is not what it was at the start."""
        digest, path = self.config.digests.get(name), self.path / name
        if digest is not None:
            compare(path, digest)
        return path

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The item ids, in row order."""
        ids, path = self._read_json("ids.json"), self.path / "ids.json"
        if not isinstance(ids, list) or len(ids) != self.config.n_items:
            raise DamagedError(f"{path} is not this session's list of items; restore it from a copy.")
        return tuple(str(item) for item in ids)

    @cached_property
    def pool(self) -> Floats:
        """The features (N, d), mapped from disk."""
        path = self.checked("features.npy")
        try:
            # Copy on write: torch warns about arrays it must not write to, and the file stays as it is.
            pool: Floats = np.load(path, mmap_mode="c", allow_pickle=False)
        except OSError as error:
            raise explain(error, path, "read") from error
        except (ValueError, EOFError) as error:
            raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
        if pool.ndim != 2 or len(pool) != self.config.n_items:
            raise DamagedError(
                f"{path} has shape {pool.shape}, not {self.config.n_items} rows; restore it from a copy."
            )
        return pool

    @cached_property
    def whole(self) -> Whole | None:
        """Where the rest of the data lies, for a session on a sample of them; None for a session on all of them."""
        if STREAM not in self.config.digests and not (self.path / STREAM).exists():
            return None
        try:
            return Whole(**self._read_json(STREAM))
        except TypeError as error:
            raise DamagedError(f"{self.path / STREAM} cannot be read ({error}); restore it from a copy.") from error

    def _read_json(self, name: str) -> Any:
        path = self.checked(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise explain(error, path, "read") from error
        except ValueError as error:
            raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error

    def new_model(self, name: str) -> str:
        """The relative path of a new, empty model folder that belongs to the caller alone.

        A process that died after saving leaves a folder that no event names; it is never overwritten.
        """
        turn, place = 1, f"models/{name}"
        while not _claim(self.path / place):
            turn += 1
            place = f"models/{name}-{turn}"
        return place


def _claim(folder: Path) -> bool:
    """Whether this call made the folder; of two processes only one does."""
    with telling(folder):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            return False
    return True


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


def write_items(path: Path, ids: Sequence[str], features: Floats) -> None:
    """Write what follows from the table alone: equal tables give equal files."""
    write_whole(path / "ids.json", json.dumps(list(ids), ensure_ascii=False).encode())
    with replacing(path / "features.npy") as file:
        np.save(file, np.ascontiguousarray(features, np.float32), allow_pickle=False)
