"""A session's folder is its owner's own, and every file that it rests on is compared before it is believed."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from soel.errors import DamagedError, ReadOnlyError
from soel.session import Session, SessionFolder, SessionOptions, create
from soel.session.check import check_session
from soel.session.item_tables import read_encoder, read_items, readable_rows
from soel.session.labels import export_labels
from soel.session.score_file import score_file
from tests.cli.conftest import write_table
from tests.disks import SmallDisk
from tests.session.fake_learner import use_fake_learner
from tests.table_session import Make


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_folder_is_private_whatever_the_umask(make: Make, umask: int) -> None:
    before = os.umask(umask)
    try:
        session = make()
        assert session.folder.path.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_an_encoder_that_describes_no_columns_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make()
    path = session.folder.path / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"columns": [{}]}))
    monkeypatch.setattr(SessionFolder, "verify", lambda place, name: place.path / name)  # its digest was renewed, too
    with pytest.raises(DamagedError, match=r"encoder\.json cannot be read \(The description of the columns"):
        read_encoder(session.folder)


@pytest.mark.parametrize("name", ["source.csv", "encoder.json"])
def test_one_changed_byte_of_the_table_or_its_encoder_is_noticed(make: Make, name: str) -> None:
    session = make()
    path = session.folder.path / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=f"{name} is not what it was"):
        read_items(session.folder)


@pytest.fixture
def labelled(make: Make, disk: SmallDisk) -> Path:
    """A session with three labels, on a small disk."""
    session = make(budget=6)
    asked = session.ask(3).items
    session.tell(dict.fromkeys(asked, "normal"), "ann")
    session.close()
    shutil.copytree(session.folder.path, disk.path / "session")
    return disk.path / "session"


def look(folder: Path, out: Path) -> Session:
    with closing(create.open_session(folder)) as session:
        assert session.status().n_labels == 3
        export_labels(session, "csv", out)
        assert len(readable_rows(session.folder, list(session.ids)[:2])[1]) == 2
        return session


def test_a_read_only_disk_can_be_looked_at_and_exported(labelled: Path, disk: SmallDisk, tmp_path: Path) -> None:
    disk.make_read_only()
    look(labelled, tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().count("normal") == 3
    with closing(create.open_session(labelled)) as session:
        with pytest.raises(ReadOnlyError, match=r"labels\.csv cannot be written: the disk is read-only"):
            export_labels(session, "csv", labelled / "labels.csv")
        with pytest.raises(ReadOnlyError, match=r"events\.sqlite cannot be used: the disk is read-only"):
            session.tell({session.ids[0]: "anomaly"}, "ann")


def test_a_full_disk_can_be_looked_at_and_exported(labelled: Path, disk: SmallDisk, tmp_path: Path) -> None:
    disk.fill()
    look(labelled, tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().count("normal") == 3


def test_a_session_below_a_folder_whose_name_is_no_text_asks_and_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_learner(monkeypatch)
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    table = write_table(place / "table.csv")
    with closing(create.create_session(place / "s", table, SessionOptions(id_column="name", budget=4))) as session:
        session.tell(dict.fromkeys(session.ask(2).items, "normal"))
        session.fit()
    with closing(create.open_session(place / "s")) as again:
        assert len(again.ask(2).items) == 2
        assert score_file(again, table, place / "scores.csv")["n_items"] == again.status().n_items
    assert all(finding.is_whole for finding in check_session(place / "s"))
