"""Sessions on pictures and clips: from the files to scores, and what people look at meanwhile."""

from __future__ import annotations

import csv
import functools
import http.server
import io
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import DataError, LabelError, SchemaError, SessionError
from soel.images import extractors, picture_pool
from soel.images.extractors import RESNET152, file_digest, open_extractor
from soel.images.picture_pool import MediaOptions
from soel.images.source import Reading
from soel.session import Session, SessionOptions, create, pictures, score_file
from soel.session.item_tables import read_items, readable_rows
from soel.session.labels import export_labels
from soel.session.pictures import SessionMedia, media_summary, open_media
from tests.images.makers import ColourExtractor, make_clip, make_folder, noise, residual_network

pytestmark = pytest.mark.usefixtures("colours")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "pictures", 9)


@pytest.fixture
def session(tmp_path: Path, folder: Path) -> Iterator[Session]:
    with closing(
        create.create_session(tmp_path / "s", folder, SessionOptions(budget=3), media=MediaOptions(normal="plain"))
    ) as opened:
        yield opened


def test_a_folder_becomes_a_session(session: Session) -> None:
    assert session.config.n_items == 9
    assert session.folder.pool.shape == (9, 6)
    names, rows = readable_rows(session.folder, session.ids[:2])
    assert names == ["name"]
    assert rows == [["odd/picture0.png"], ["odd/picture3.png"]]
    known = read_items(session.folder).excluded["label"].tolist()
    assert [int(code) for code in known] == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_a_moved_folder_scores_under_the_same_ids(session: Session, folder: Path, tmp_path: Path) -> None:
    asked = session.ask(2)
    session.tell(dict.fromkeys(asked.items, "normal"))
    session.fit()
    folder.rename(tmp_path / "elsewhere")
    own = score_file.score_file(session, None, tmp_path / "own.csv")
    moved = score_file.score_file(session, tmp_path / "elsewhere", tmp_path / "moved.csv")
    assert {row["id"]: row["score"] for row in own["top"]} == {row["id"]: row["score"] for row in moved["top"]}


def test_other_weights_than_the_session_s_are_refused(
    session: Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: ColourExtractor(fingerprint="others"))
    with pytest.raises(DataError, match="another one"):
        score_file.score_file(session, folder, tmp_path / "a.csv")


def test_files_left_out_are_remembered(tmp_path: Path, folder: Path) -> None:
    (folder / "empty.png").write_bytes(b"")
    cut = folder / "plain" / "picture1.png"
    cut.write_bytes(cut.read_bytes()[:400])
    with pytest.raises(DataError, match="cannot be read: empty"):
        create.create_session(
            tmp_path / "s", folder, SessionOptions(budget=2), media=MediaOptions(reading=Reading(strict=True))
        )
    assert not (tmp_path / "s").exists()
    with closing(create.create_session(tmp_path / "s", folder, SessionOptions(budget=2))) as session:
        assert session.config.n_items == 8
    told = media_summary(tmp_path / "s")["left_out"]
    assert "empty.png" in told
    assert "picture1.png" in told


def test_coco_names_the_files_of_pictures(session: Session, tmp_path: Path) -> None:
    items = session.ask(2).items
    session.tell(dict.fromkeys(items, "anomaly"))
    path, _ = export_labels(session, "coco", tmp_path / "coco.json", score_file.name_items(session))
    names = dict(zip(session.ids, (row[0] for row in readable_rows(session.folder, session.ids)[1]), strict=True))
    written = {image["item_id"]: image["file_name"] for image in json.loads(path.read_text())["images"]}
    assert written == {item: names[item] for item in items}


def test_new_pictures_that_cannot_be_read_are_named(session: Session, folder: Path, tmp_path: Path) -> None:
    new = make_folder(tmp_path / "new", 3)
    (new / "empty.png").write_bytes(b"")
    cut = new / "plain" / "picture1.png"
    cut.write_bytes(cut.read_bytes()[:400])
    found = pictures.read_new_pictures(session.folder.path, new)
    assert [item.name for item in found.items] == ["odd/picture0.png", "plain/picture2.png"]
    assert [file.name for file in found.skipped] == ["empty.png", "plain/picture1.png"]
    assert "the file is empty" in found.skipped[0].reason
    assert "cannot be decoded" in found.skipped[1].reason


def test_one_picture_is_scored(session: Session, folder: Path, tmp_path: Path) -> None:
    session.tell(dict.fromkeys(session.ask(2).items, "normal"))
    session.fit()
    one = score_file.score_file(session, folder / "odd" / "picture3.png", tmp_path / "one.csv")
    every = score_file.score_file(session, folder, tmp_path / "all.csv")
    assert one["n_items"] == 1
    (same,) = [row for row in every["top"] if row["file"] == "picture3.png"]
    assert (one["top"][0]["file"], one["top"][0]["score"]) == ("picture3.png", same["score"])


def test_thumbnails_are_made_once_and_outlive_the_files(session: Session, folder: Path) -> None:
    media = SessionMedia(session.folder)
    assert media.kind == "image"
    item = session.ids[4]
    first = media.thumbnail(item, 16)
    assert Image.open(io.BytesIO(first)).size == (16, 11)
    shutil.rmtree(folder)
    again = SessionMedia(session.folder)
    assert again.thumbnail(item, 16) == first
    with pytest.raises(SessionError, match="no longer at"):
        again.thumbnail(item, 17)


def test_pictures_are_found_at_their_new_place(session: Session, folder: Path, tmp_path: Path) -> None:
    media = SessionMedia(session.folder)
    known = media.thumbnail(session.ids[0], 32)
    shutil.rmtree(session.folder.path / "thumbnails")
    folder.rename(tmp_path / "elsewhere")
    moved = SessionMedia(session.folder, tmp_path / "elsewhere")
    assert moved.thumbnail(session.ids[0], 32) == known


def test_clips_with_labels_and_the_items_around_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_clip(tmp_path / "clips" / f"{name}.mp4", 20)
    (tmp_path / "labels.json").write_text(json.dumps({"a": "0" * 20, "b": "0" * 10 + "1" * 10}))
    media = MediaOptions(reading=Reading(every=4), labels=tmp_path / "labels.json")
    with closing(
        create.create_session(tmp_path / "s", tmp_path / "clips", SessionOptions(budget=2), media=media)
    ) as session:
        known = read_items(session.folder).excluded["label"].tolist()
        assert [int(code) for code in known] == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
        shown = SessionMedia(session.folder)
        assert shown.kind == "video"
        item = session.ids[2]
        around = shown.items_around(item, 0.4)
        assert [round(seconds, 3) for seconds, _ in around] == [-0.4, 0, 0.4]
        assert [near for _, near in around] == list(session.ids[1:4])
    assert "<<patches=yes>>" in media_summary(tmp_path / "s")["chosen"]  # or nobody would know that frames have maps


def test_a_table_with_a_column_of_paths(tmp_path: Path, folder: Path) -> None:
    table = tmp_path / "list.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "file", "label"])
        for number, path in enumerate(sorted(folder.rglob("*.png"))):
            writer.writerow([f"k{number}", path.relative_to(tmp_path), int(number < 2)])
        writer.writerow(["k99", "pictures/none.png", 0])
    media = MediaOptions(path_column="file")
    made = create.create_session(
        tmp_path / "s", table, SessionOptions(id_column="key", label_column="label", budget=2), media=media
    )
    with closing(made) as session:
        assert session.ids[:2] == ("k0", "k1")
        assert len(session.ids) == 9
        shown = SessionMedia(session.folder)
        assert Image.open(io.BytesIO(shown.thumbnail("k3", 64))).size == (30, 20)
    with pytest.raises(SchemaError, match="no column picture"):
        create.create_session(tmp_path / "t", table, media=MediaOptions(path_column="picture"))


def test_labels_from_a_table_and_wrong_ones(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "known.csv").write_text("name,label\nodd/picture0.png,anomaly\nplain/picture1.png,normal\n")
    media = MediaOptions(labels=tmp_path / "known.csv")
    with closing(create.create_session(tmp_path / "s", folder, SessionOptions(budget=2), media=media)) as session:
        cells = read_items(session.folder).excluded["label"].tolist()
    assert sorted(str(cell) for cell in cells if cell not in (None, "")) == ["0", "1"]
    with pytest.raises(LabelError, match="plain"):
        create.create_session(tmp_path / "t", folder, media=replace(media, labels=None, normal="nothing"))
    (tmp_path / "known.csv").write_text("name,label\nother.png,normal\n")
    with pytest.raises(LabelError, match="names none"):
        create.create_session(tmp_path / "t", folder, media=media)


def test_a_table_is_no_session_on_pictures(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n5,7\n")
    with closing(create.create_session(tmp_path / "s", tmp_path / "a.csv", SessionOptions(budget=2))) as session:
        assert open_media(session.folder) is None
        assert media_summary(tmp_path / "s") == {}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_a_network_is_fetched_once_and_only_with_its_checksum(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = residual_network(tmp_path / "served" / RESNET152.name)
    monkeypatch.setenv("SOEL_MODELS", server)
    with pytest.raises(DataError, match="checksum"):
        open_extractor("resnet152")
    small = replace(RESNET152, checksum=file_digest(path))
    monkeypatch.setattr(extractors, "REMOTE", {"resnet152": small})
    fetched = open_extractor("resnet152")
    path.unlink()
    kept = open_extractor("resnet152")
    pictures = np.stack([noise(seed, kept.size, kept.size) for seed in range(2)])
    assert (kept.name, kept.fingerprint) == ("resnet152", fetched.fingerprint)
    np.testing.assert_array_equal(kept.features(pictures), fetched.features(pictures))
