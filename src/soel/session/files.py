"""Files that are whole or absent, and on disk before anyone is told of them."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from soel.errors import SessionError
from soel.types import Floats


@dataclass(frozen=True)
class PoolRecord:
    """The pool as one round's model saw it. scores: (N,), embeddings: (N, D)."""

    scores: Floats
    embeddings: Floats


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, sync, then rename: a reader finds the old file or the new one."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all of it is on disk, and leaves no trace otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


def copy_durably(source: Path, target: Path) -> None:
    """Copy a file of any size and wait until it is on disk."""
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a rename inside this folder durable, where the system lets a folder be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def save_record(folder: Path, number: int, record: PoolRecord) -> tuple[str, str]:
    """Write what a round saw; returns the file's name and its SHA-256.

    The name carries the content's hash, so that two processes that draw the same round at the same
    moment cannot overwrite one another.
    """
    scores, embeddings = np.asarray(record.scores, np.float64), np.asarray(record.embeddings, np.float32)
    draft = folder / f"{number:04d}-{secrets.token_hex(8)}.npz"
    with replacing(draft) as file:
        np.savez(file, scores=scores, embeddings=embeddings)
    digest = _digest(draft)
    name = f"{number:04d}-{digest[:12]}.npz"
    draft.replace(folder / name)
    sync_folder(folder)
    return name, digest


def load_record(path: Path, digest: str, n_items: int) -> PoolRecord:
    """Read it back; a file that changed since is refused."""
    if _digest(path) != digest:
        raise SessionError(f"{path.name} is not the file that the round recorded; restore it from a copy.")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            record = PoolRecord(arrays["scores"], arrays["embeddings"])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); restore it from a copy.") from error
    if record.scores.shape != (n_items,) or len(record.embeddings) != n_items:
        raise SessionError(f"{path.name} is about {len(record.scores)} items, not {n_items}; restore it from a copy.")
    return record


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror}); restore it from a copy.") from error
