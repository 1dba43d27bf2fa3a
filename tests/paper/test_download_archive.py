from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from soel.errors import DataError
from soel_paper import downloads
from soel_paper.downloads import unpack


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
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as content:
        content.writestr("folder/two.bin", b"yy")
    assert (unpack(tmp_path / "b.zip", tmp_path / "zipped") / "folder" / "two.bin").read_bytes() == b"yy"


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


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
def test_zip_archives_too(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.writestr(name, b"y")
    with pytest.raises(DataError, match="outside of the folder"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_links_in_zip_archives_too(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="a link"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MAX_BYTES", 5)
    with pytest.raises(DataError, match="6 bytes, more than 5"):
        unpack(tar(tmp_path / "a.tar.gz", entry("one"), entry("two")), tmp_path / "out")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"a\.tar\.gz cannot be unpacked"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out")
