"""Arrays of pictures: MedMNIST's layout, CIFAR's, idx files, and files that lie."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import ConfigError, DataError
from soel.images.source import Reading, holds_pictures, image_array, open_source, read_arrays


def pictures(seed: int, n: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)


def save(path: Path, **arrays: Any) -> None:
    np.savez_compressed(path, **arrays)


def test_medmnist_joins_its_parts(tmp_path: Path) -> None:
    arrays = {f"{part}_images": pictures(at, 3, 8, 8) for at, part in enumerate(("train", "val", "test"))}
    labels = {f"{part}_labels": np.array([[at], [0], [1]]) for at, part in enumerate(("train", "val", "test"))}
    save(tmp_path / "some.npz", **arrays, **labels)
    source = open_source(tmp_path / "some.npz")
    assert [item.name for item in source.items[2:5]] == ["train 2", "val 0", "val 1"]
    assert [item.category for item in source.items[:7]] == ["0", "0", "1", "1", "0", "1", "2"]
    picture = next(iter(source.read([3])))
    np.testing.assert_array_equal(picture, np.repeat(arrays["val_images"][0][..., None], 3, axis=2))


def test_train_and_test_in_the_other_common_layout(tmp_path: Path) -> None:
    parts = {"x_train": pictures(0, 4, 6, 6, 3), "y_train": np.arange(4), "x_test": pictures(1, 2, 6, 6, 3)}
    save(tmp_path / "c.npz", **parts, y_test=np.array([7, 8], np.uint8))
    source = open_source(tmp_path / "c.npz")
    assert [item.category for item in source.items] == ["0", "1", "2", "3", "7", "8"]
    np.testing.assert_array_equal(next(iter(source.read([5]))), parts["x_test"][1])


def idx(values: np.ndarray) -> bytes:
    return struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes()


def test_idx_files_with_their_labels(tmp_path: Path) -> None:
    for part, n in (("train", 4), ("t10k", 2)):
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pictures(n, n, 5, 5))))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(n, dtype=np.uint8))))
    source = open_source(tmp_path)
    assert [item.name for item in source.items[:3]] == ["t10k 0", "t10k 1", "train 0"]
    assert [item.category for item in source.items] == ["0", "1", "0", "1", "2", "3"]
    one = open_source(tmp_path / "train-images-idx3-ubyte.gz")
    assert [item.id for item in one.items] == [item.id for item in source.items[2:]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (struct.pack(">HBBIII", 0, 8, 3, 2**31, 2**10, 2**10), "claims more"),  # it takes no memory
        (idx(pictures(0, 40, 5, 5))[:-10], "holds 990 of 1000 values"),  # cut off
        (struct.pack(">HBB70I", 0, 8, 70, *[1] * 70) + b"\0", "no idx file of bytes"),
        (struct.pack(">HBBIII", 0, 8, 3, 5, 0, 13057), r"train-images-idx3-ubyte\.gz: .*must be bytes"),
    ],
)
def test_an_idx_file_that_is_not_what_it_says(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(DataError, match=why):
        open_source(path)
    path.with_suffix("").write_bytes(content)
    with pytest.raises(DataError):
        open_source(path.with_suffix(""))


def test_an_array_that_claims_more_than_is_there(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": (2**20, 2**10, 2**10)}
    np.lib.format.write_array_header_1_0(buffer, header)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("train_images.npy", buffer.getvalue() + b"\0" * 50)
    with pytest.raises(DataError, match="claims"):
        open_source(tmp_path / "a.npz")


def test_arrays_that_are_not_needed_stay_packed(tmp_path: Path) -> None:
    evil = np.empty(2, object)
    evil[:] = [{"a": 1}, {"b": 2}]
    parts = {"train_images": pictures(0, 2, 4, 4), "train_labels": np.arange(2)}
    save(tmp_path / "a.npz", **parts, notes=evil, masks=np.zeros((900, 900), bool))
    source = open_source(tmp_path / "a.npz", Reading(max_unpacked=2 * 16 + 2 * 8))
    assert [item.category for item in source.items] == ["0", "1"]
    np.savez(tmp_path / "b.npz", train_images=parts["train_images"], train_labels=evil)
    with pytest.raises(DataError, match=r"b\.npz cannot be read"):
        open_source(tmp_path / "b.npz")


@pytest.mark.parametrize("name", ["a.npz", "train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"])
def test_pictures_beyond_the_limit_are_refused_before_they_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, many = tmp_path / name, np.zeros((64, 128, 128), np.uint8)
    if name == "a.npz":
        save(path, train_images=many)
    else:
        path.write_bytes(gzip.compress(idx(many)) if name.endswith(".gz") else idx(many))
    assert len(open_source(path, Reading(max_unpacked=many.size)).items) == 64
    for module, attribute in ((np, "frombuffer"), (np, "load")):
        monkeypatch.setattr(module, attribute, lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(DataError, match=rf"{name} has 1,048,576 bytes .* limit is 1,048,575.*max_unpacked="):
        open_source(path, Reading(max_unpacked=many.size - 1))


def test_a_limit_is_a_number_of_bytes() -> None:
    with pytest.raises(ConfigError, match="max_unpacked is a number of bytes above 0, got 0"):
        Reading(max_unpacked=0)


def _zip_version(content: bytes) -> bytes:
    """The same archive, whose directory says that a far newer unzip is needed."""
    at = content.index(b"PK\x01\x02")
    return content[: at + 6] + b"\x7e" + content[at + 7 :]


def _zip_stream(content: bytes) -> bytes:
    """The same archive with packed bytes that cannot be unpacked."""
    at = content.index(b".npy") + 4
    at += int.from_bytes(content[28:30], "little")
    return content[:at] + b"\xff" * 12 + content[at + 12 :]


@pytest.mark.parametrize("spoil", [_zip_version, _zip_stream])
def test_a_damaged_archive_is_the_file_s_fault(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "p.npz"
    save(path, train_images=np.zeros((5, 8, 8, 3), np.uint8))
    path.write_bytes(spoil(path.read_bytes()))
    assert not holds_pictures(path), "whoever reads it as a table says what is wrong"
    with pytest.raises(DataError, match=r"p\.npz cannot be read"):
        read_arrays(path)


@pytest.mark.parametrize(("shape", "kind"), [((3, 4, 4, 2), "u1"), ((3, 4, 4), "f4"), ((0, 4, 4), "u1")])
def test_what_is_no_array_of_pictures(shape: tuple[int, ...], kind: str) -> None:
    with pytest.raises(DataError, match="must be bytes"):
        image_array("X", np.zeros(shape, kind))
