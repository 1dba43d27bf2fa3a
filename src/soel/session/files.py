"""What a round saw of the pool, as a file that is checked when it is read."""

from __future__ import annotations

import secrets
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soel.durable import move, replacing
from soel.errors import DamagedError
from soel.session.digests import digest_of
from soel.types import Floats


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
