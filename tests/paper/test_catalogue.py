"""The catalogue, its downloads and archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soel.download import RemoteFile
from soel.errors import ConfigError, DataError
from soel_paper import catalogue, sources
from soel_paper.catalogue import CATALOGUE, ClassSets, Dataset, LabelledRows, find_dataset
from soel_paper.sources import DataFolder, DataSource, content_digest, data_folder, fetch, load, unpack
from tests.paper.server import Server


@pytest.mark.parametrize("dataset", CATALOGUE.values(), ids=lambda dataset: dataset.name)
def test_an_entry_says_all_there_is_to_know(dataset: Dataset) -> None:
    assert dataset.licence
    assert dataset.local
    assert dataset.protocol in ("contaminated", "natural", "one-vs-rest", "frames")
    for file in dataset.files:
        assert file.address.startswith("http")
        assert len(file.checksum) in (32, 64) or len(dataset.content) == 32


def test_a_wrong_name_is_answered_with_the_list() -> None:
    with pytest.raises(ConfigError, match="soel_paper datasets"):
        find_dataset("no-such")


def test_rows_are_read_and_checked(tmp_path: Path) -> None:
    np.savez(tmp_path / "pima.npz", X=np.ones((3, 2)), y=[[0], [1], [0]])
    rows = load(find_dataset("pima"), DataFolder(tmp_path, given=True))
    assert isinstance(rows, LabelledRows)
    assert rows.x.dtype == np.float32
    assert rows.is_anomaly.tolist() == [False, True, False]
    np.savez(tmp_path / "pima.npz", X=np.ones((3, 2)), y=[0, 2, 0])
    with pytest.raises(DataError, match="0 and 1"):
        load(find_dataset("pima"), DataFolder(tmp_path, given=True))


def test_fetched_tables_must_hold_the_known_values(tmp_path: Path) -> None:
    np.savez(tmp_path / "pima.npz", X=np.ones((3, 2)), y=[0, 1, 0])
    with pytest.raises(DataError, match="its source has changed"):
        load(find_dataset("pima"), DataFolder(tmp_path, given=False))
    known = replace(
        find_dataset("pima"), content=content_digest(LabelledRows(np.ones((3, 2)), np.array([False, True, False])))
    )
    assert isinstance(load(known, DataFolder(tmp_path, given=False)), LabelledRows)


@pytest.fixture
def adbench(server: Server, tmp_path: Path) -> Dataset:
    """Pima as ADBench serves it: a compressed .npz without a published checksum."""
    rng = np.random.default_rng(0)
    np.savez_compressed(tmp_path / "29_Pima.npz", X=rng.normal(size=(2000, 8)), y=np.arange(2000) % 3 == 0)
    server.content = (tmp_path / "29_Pima.npz").read_bytes()
    rows = catalogue.read_rows(tmp_path / "29_Pima.npz")
    (file,) = find_dataset("pima").files
    return replace(find_dataset("pima"), files=(replace(file, address=server.address),), content=content_digest(rows))


def test_a_table_is_fetched_and_known_by_its_values(adbench: Dataset, server: Server, tmp_path: Path) -> None:
    folder, seen = DataFolder(tmp_path / "data", given=True), list[int]()
    path = fetch(adbench, folder, lambda done, total: seen.append(done))
    assert (path.name, path.read_bytes(), seen[-1]) == ("pima.npz", server.content, len(server.content))
    rows = load(adbench, folder)
    assert isinstance(rows, LabelledRows)
    assert (rows.x.shape, int(rows.is_anomaly.sum())) == ((2000, 8), 667)
    assert fetch(adbench, folder) == path
    assert len(server.asked) == 1


def test_a_table_of_other_values_is_not_kept(adbench: Dataset, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data", given=True)
    with pytest.raises(DataError, match="its source has changed"):
        fetch(replace(adbench, content="0" * 32), folder)
    assert folder.find(adbench) is None


def test_what_is_no_table_is_not_kept(adbench: Dataset, server: Server, tmp_path: Path) -> None:
    folder, server.content = DataFolder(tmp_path / "data", given=True), b"<html>moved</html>"
    with pytest.raises(DataError, match="must hold the arrays"):
        fetch(adbench, folder)
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize("name", [d.name for d in CATALOGUE.values() if d.kind == "table" and d.files])
def test_every_table_with_an_address_has_the_values_we_measured_on(name: str) -> None:
    dataset, source = find_dataset(name), DataSource()
    if not source.present(name):
        pytest.skip(f"{name} is not in the data folder")
    rows = source.load(name)
    assert isinstance(rows, LabelledRows)
    assert content_digest(rows) == dataset.content


def test_no_pickle_is_ever_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "pima.npz", X=np.array([{}], object), y=[0])
    with pytest.raises(DataError, match="must hold the arrays"):
        load(find_dataset("pima"), DataFolder(tmp_path, given=True))


def test_idx_files_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    for part, n in (("train", 3), ("t10k", 2)):
        images = np.arange(n * 4, dtype=np.uint8).reshape(n, 2, 2)
        _write_idx(folder / f"{part}-images-idx3-ubyte.gz", images)
        _write_idx(folder / f"{part}-labels-idx1-ubyte.gz", np.arange(n, dtype=np.uint8))
    sets = load(find_dataset("fashion-mnist"), DataFolder(tmp_path, given=True))
    assert isinstance(sets, ClassSets)
    assert sets.x_train[2].tolist() == [[8, 9], [10, 11]]
    assert sets.y_test.tolist() == [0, 1]


def _write_idx(path: Path, values: np.ndarray, cut: int = 0) -> None:
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(head + values.tobytes()[: values.size - cut]))


def test_cifar_is_fetched_unpacked_and_read(tmp_path: Path) -> None:
    inside = tmp_path / "made" / "cifar-10-batches-bin"
    inside.mkdir(parents=True)
    row = np.concatenate([[7], np.repeat([10, 20, 30], 1024)]).astype(np.uint8)
    for name in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
        (inside / name).write_bytes(row.tobytes() * 2)
    archive = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(archive, "w:gz") as content:
        content.add(inside, inside.name)
    file = RemoteFile(archive.name, archive.as_uri(), hashlib.md5(archive.read_bytes()).hexdigest())
    dataset, folder = replace(find_dataset("cifar10"), files=(file,)), DataFolder(tmp_path / "data", given=False)
    folder.path.mkdir()
    (folder.path / archive.name).write_bytes(archive.read_bytes())
    assert fetch(dataset, folder).name == "cifar-10-batches-bin"
    sets = load(dataset, folder)
    assert isinstance(sets, ClassSets)
    assert (len(sets.x_train), sets.y_train[0], sets.x_train[0, 0, 0].tolist()) == (10, 7, [10, 20, 30])


@pytest.fixture
def ucsd(tmp_path: Path) -> Path:
    """Two clips for training and two for the test in UCSD's own layout, with what else lies there."""
    for clip in ("Train/Train001", "Train/Train002", "Test/Test001", "Test/Test002", "Test/Test002_gt"):
        (tmp_path / clip).mkdir(parents=True)
        for number in range(1, 6):
            (tmp_path / clip / f"{number:03d}.tif").touch()
    (tmp_path / "Test" / "Test001" / ".DS_Store").touch()
    lines = (
        "TestVideoFile = {};",
        "TestVideoFile{end+1}.gt_frame = [2:3];",
        "TestVideoFile{end+1}.gt_frame = [1, 4:5];",
    )
    (tmp_path / "Test" / "UCSDped1.m").write_text("\n".join(lines))
    return tmp_path


def test_published_frames_are_read_with_their_truth(ucsd: Path) -> None:
    frames, abnormal = catalogue.read_frames(ucsd)
    found = [f"{frame.parent.name}/{frame.stem}" for frame in np.array(frames)[abnormal]]
    assert found == ["Test001/002", "Test001/003", "Test002/001", "Test002/004", "Test002/005"]
    assert len(frames) == 20


def test_a_clip_that_is_not_listed_is_no_whole_copy(ucsd: Path) -> None:
    (ucsd / "Test" / "Test003").mkdir()
    with pytest.raises(DataError, match="3 test clips and lists 2"):
        catalogue.read_frames(ucsd)


def test_the_folder_is_named_or_taken_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.VARIABLE, str(tmp_path))
    assert data_folder() == DataFolder(tmp_path, given=True)
    monkeypatch.delenv(sources.VARIABLE)
    assert not data_folder().given
    with pytest.raises(DataError, match="does not exist"):
        data_folder(tmp_path / "absent")


def tar(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, 3 if kind == tarfile.REGTYPE else 0
    return member


def test_plain_files_are_unpacked(tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tar.gz", entry("folder", tarfile.DIRTYPE), entry("folder/one.bin"))
    assert (unpack(archive, tmp_path / "out") / "folder" / "one.bin").read_bytes() == b"xxx"


@pytest.mark.parametrize(
    "evil",
    [
        entry("../outside"),
        entry("folder/../../outside"),
        entry("/tmp/outside"),
        entry("..\\outside"),
        entry("C:/outside"),
        entry("link", tarfile.SYMTYPE, "/etc/passwd"),
        entry("link", tarfile.LNKTYPE, "folder/one.bin"),
        entry("pipe", tarfile.FIFOTYPE),
        entry("device", tarfile.CHRTYPE),
    ],
    ids=lambda member: member.name,
)
def test_what_leads_elsewhere_is_refused_before_anything_is_written(evil: tarfile.TarInfo, tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tar.gz", entry("good.bin"), evil)
    with pytest.raises(DataError, match="not unpacked"):
        unpack(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 5)
    with pytest.raises(DataError, match="6 bytes, more than 5"):
        unpack(tar(tmp_path / "a.tar.gz", entry("one"), entry("two")), tmp_path / "out")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"a\.tar\.gz cannot be unpacked"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out")
