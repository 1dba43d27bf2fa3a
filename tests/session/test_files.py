from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from soel.errors import SessionError
from soel.files import MARK, mark, take_lock
from soel.session import SessionFolder
from soel.session.pool_records import PoolRecord, load_record, save_record

RECORD = PoolRecord(np.array([0.1, -2.5, 1e300]), np.arange(6, dtype=np.float32).reshape(3, 2))


def test_a_record_comes_back_exactly(tmp_path: Path) -> None:
    name, digest = save_record(tmp_path, 3, RECORD)
    assert name.startswith("0003-")
    back = load_record(tmp_path / name, digest, 3)
    assert np.array_equal(back.scores, RECORD.scores)
    assert np.array_equal(back.embeddings, RECORD.embeddings)


def test_two_records_of_one_round_do_not_overwrite_one_another(tmp_path: Path) -> None:
    other = PoolRecord(RECORD.scores + 1, RECORD.embeddings)
    kept = [(record, save_record(tmp_path, 1, record)) for record in (RECORD, other)]
    for record, (name, digest) in kept:
        assert np.array_equal(load_record(tmp_path / name, digest, 3).scores, record.scores)


def test_a_record_of_another_pool_is_refused(tmp_path: Path) -> None:
    name, digest = save_record(tmp_path, 1, RECORD)
    with pytest.raises(SessionError, match="about 3 items, not 4"):
        load_record(tmp_path / name, digest, 4)


def test_a_record_with_objects_is_refused_without_running_them(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, allow_pickle=True, scores=np.array([print], dtype=object), embeddings=np.zeros((1, 1)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(SessionError, match="cannot be read"):
        load_record(path, digest, 1)


def test_what_a_killed_process_left_of_a_model_goes_with_the_next_one(tmp_path: Path) -> None:
    models = tmp_path / "models"
    dead, growing, backup = (models / f".fit-0001-{number}" for number in ("0a0a0a0a", "1b1b1b1b", "2c2c2c2c"))
    for folder in (dead, growing, backup):
        folder.mkdir(parents=True)
        (folder / "weights").touch()
    for folder in (dead, growing):
        mark(folder)
    lock = take_lock(growing / MARK)
    assert lock is not None
    assert SessionFolder(tmp_path).new_model("fit-0002") == "models/fit-0002"
    assert sorted(path.name for path in models.iterdir()) == [growing.name, backup.name, "fit-0002"]
    assert (backup / "weights").exists(), "it carries no mark of ours"
    lock.release()
