"""Files that are whole or absent, and on disk before anyone is told of them."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

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
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
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
    buffer = io.BytesIO()
    np.savez(
        buffer,
        scores=np.asarray(record.scores, np.float64),
        embeddings=np.asarray(record.embeddings, np.float32),
    )
    content = buffer.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    name = f"{number:04d}-{digest[:12]}.npz"
    write_whole(folder / name, content)
    return name, digest


def load_record(path: Path, digest: str, n_items: int) -> PoolRecord:
    """Read it back; a file that changed since is refused."""
    content = _read(path)
    if hashlib.sha256(content).hexdigest() != digest:
        raise SessionError(f"{path.name} is not the file that the round recorded; restore it from a copy.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            record = PoolRecord(arrays["scores"], arrays["embeddings"])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); restore it from a copy.") from error
    if record.scores.shape != (n_items,) or len(record.embeddings) != n_items:
        raise SessionError(f"{path.name} is about {len(record.scores)} items, not {n_items}; restore it from a copy.")
    return record


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror}); restore it from a copy.") from error
