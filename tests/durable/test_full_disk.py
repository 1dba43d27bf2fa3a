"""A disk that fills up while something is written: the file is named, nothing is half-written, the next try goes on."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from soel.errors import DiskFullError
from soel.files import building, copy_whole, write_whole
from soel.images.extract import GrowingMatrix
from soel.model_folder import read_model, write_model
from soel.session.pool_records import PoolRecord, load_record, save_record
from soel.tables.rows import write_table
from tests.disks import SmallDisk

LARGE = np.arange(4 << 20, dtype=np.float32)  # twice the disk


def test_a_model(disk: SmallDisk) -> None:
    write_model(disk.path / "model", {"a": LARGE[:10]}, {"x": 1})
    with pytest.raises(DiskFullError, match=r"weights\.safetensors cannot be written: the disk is full"):
        write_model(disk.path / "model", {"a": LARGE}, {"x": 2})
    assert read_model(disk.path / "model")[1] == {"x": 1}
    assert [path.name for path in disk.path.iterdir()] == ["model"]
    write_model(disk.path / "model", {"a": LARGE[:20]}, {"x": 3})
    assert read_model(disk.path / "model")[1] == {"x": 3}


def test_a_file_and_a_copy(disk: SmallDisk, tmp_path: Path) -> None:
    write_whole(disk.path / "report.html", b"old")
    (tmp_path / "large").write_bytes(LARGE.tobytes())
    for write in (
        lambda: write_whole(disk.path / "report.html", LARGE.tobytes()),
        lambda: copy_whole(tmp_path / "large", disk.path / "report.html"),
    ):
        with pytest.raises(DiskFullError, match=r"report\.html cannot be written: the disk is full"):
            write()
    assert (disk.path / "report.html").read_bytes() == b"old"
    assert [path.name for path in disk.path.iterdir()] == ["report.html"]


def test_a_folder_that_others_fill(disk: SmallDisk) -> None:
    def fill() -> None:
        with building(disk.path / "folder") as draft:
            np.save(draft / "large.npy", LARGE)

    with pytest.raises(DiskFullError, match="folder cannot be written: the disk is full"):
        fill()
    assert list(disk.path.iterdir()) == []


def test_the_record_of_a_round(disk: SmallDisk) -> None:
    record = PoolRecord(LARGE.astype(np.float64), LARGE[:, None])
    with pytest.raises(DiskFullError, match=r"0001-.*\.npz cannot be written: the disk is full"):
        save_record(disk.path, 1, record)
    assert list(disk.path.iterdir()) == []
    small = PoolRecord(LARGE[:5].astype(np.float64), LARGE[:5, None])
    name, digest = save_record(disk.path, 1, small)
    assert load_record(disk.path / name, digest, 5).scores.tolist() == [0, 1, 2, 3, 4]


def test_the_cache_of_features_goes_on_where_it_was(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soel.images.extract.SYNC_SECONDS", 0.0)
    rows = LARGE[: 8 << 10].reshape(8, -1)

    def grow() -> None:
        with GrowingMatrix(disk.path / "cache", 8) as matrix:
            for at in range(matrix.done, 8):
                matrix.append(rows[at : at + 1], {})
                if at == 3:
                    disk.fill()

    with pytest.raises(DiskFullError, match=r"cache/.* cannot be written: the disk is full"):
        grow()
    disk.free()
    with GrowingMatrix(disk.path / "cache", 8) as matrix:
        assert 3 <= matrix.done < 8
        for at in range(matrix.done, 8):
            matrix.append(rows[at : at + 1], {})
        np.testing.assert_array_equal(matrix.finish(), rows)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("full", ["where it is written", "the temporary folder"])
def test_a_workbook(disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str) -> None:
    out = disk.path / "scores.xlsx" if full == "where it is written" else tmp_path / "scores.xlsx"
    if full == "the temporary folder":
        monkeypatch.setattr("tempfile.tempdir", str(disk.path))
    disk.fill()
    rows = ([row, f"{row:x}" * 40] for row in range(5_000))
    with pytest.raises(DiskFullError, match=r"scores\.xlsx cannot be written: the disk is full"):
        write_table(out, ["row", "text"], rows)
    gc.collect()  # what is left half-closed would complain now
    assert not out.exists()
