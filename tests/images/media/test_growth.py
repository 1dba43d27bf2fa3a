"""Pictures and clips that come later: features for the new ones only, shown from where they lie."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import DataError
from soel.images import picture_pool
from soel.images.picture_pool import MediaOptions
from soel.images.source import Reading
from soel.session import SessionOptions, create, score_file
from soel.session.growth import add_data
from soel.session.item_tables import readable_rows
from soel.session.pictures import SessionMedia
from tests.images.makers import ColourExtractor, make_clip, make_folder

pytestmark = pytest.mark.usefixtures("colours")


def paint(path: Path, *colours: tuple[int, int, int]) -> Path:
    path.mkdir()
    for number, colour in enumerate(colours):
        Image.new("RGB", (24, 16), colour).save(path / f"new {number}.png")
    return path


def test_more_pictures_are_shown_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, more = make_folder(tmp_path / "pictures", 9), paint(tmp_path / "more", (200, 10, 10), (10, 200, 10))
    with closing(create.create_session(tmp_path / "s", folder, SessionOptions(budget=3))) as session:
        before = np.array(session.folder.pool)
        session.tell({session.ids[0]: "normal"}, "ann")
        session.fit()
        assert add_data(session, more).n_added == 2
        assert len(session.ids) == 11
        np.testing.assert_array_equal(session.folder.pool[:9], before)
        media = SessionMedia(session.folder)
        assert [item.name for item in media.items[-2:]] == ["new 0.png", "new 1.png"]
        shown = Image.open(io.BytesIO(media.thumbnail(session.ids[-1], 16))).convert("RGB").getpixel((4, 4))
        assert isinstance(shown, tuple)
        assert shown[1] > 150 > shown[0], "the picture itself, from where it lies"
        assert media.nearest(session.ids[-1], session.ids[:3], 1)
        assert score_file.score_file(session, None, tmp_path / "scores.csv")["n_items"] == 11
        names, rows = readable_rows(session.folder, [session.ids[0], session.ids[-1]])
        assert rows[1][names.index("name")] == "new 1.png"
        with pytest.raises(DataError, match="All of more is in the session already"):
            add_data(session, more)
        paint(tmp_path / "again", (200, 10, 10), (1, 2, 200))
        assert add_data(session, tmp_path / "again", replace=True).n_added == 1, "an equal picture is the same one"
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(DataError, match="holds no pictures"):
            add_data(session, tmp_path / "t.csv")
        monkeypatch.setattr(picture_pool, "open_extractor", lambda which: ColourExtractor(fingerprint="others"))
        with pytest.raises(DataError, match="another one than the session began with"):
            add_data(session, paint(tmp_path / "third", (9, 9, 9)))


def test_clips_of_one_name_that_come_later_are_others(tmp_path: Path) -> None:
    make_clip(tmp_path / "march" / "a.mp4", 20)
    make_clip(tmp_path / "april" / "a.mp4", 12)
    media = MediaOptions(reading=Reading(every=4))
    data = tmp_path / "march"
    with closing(create.create_session(tmp_path / "s", data, SessionOptions(budget=2), media=media)) as session:
        assert add_data(session, tmp_path / "april").n_added == 3, "equal frames of another clip are other items"
        assert len(set(session.ids)) == 8
        shown = SessionMedia(session.folder)
        assert [item for _, item in shown.items_around(session.ids[6], 5)] == list(session.ids[5:])
        assert [item for _, item in shown.items_around(session.ids[0], 5)] == list(session.ids[:5])
        assert shown.thumbnail(session.ids[7], 32)


def test_a_list_of_files_keeps_its_ids_and_can_be_corrected(tmp_path: Path) -> None:
    paint(tmp_path / "p", (200, 10, 10), (10, 200, 10), (10, 10, 200), (90, 90, 90))

    def write(name: str, rows: dict[str, int]) -> Path:
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["key", "file"], *([key, f"p/new {at}.png"] for key, at in rows.items())])
        return tmp_path / name

    options, media = SessionOptions(id_column="key", budget=2), MediaOptions(path_column="file")
    first = write("a.csv", {"k0": 0, "k1": 1})
    with closing(create.create_session(tmp_path / "s", first, options, media=media)) as session:
        assert add_data(session, write("b.csv", {"k2": 2})).n_added == 1
        fixed = write("c.csv", {"k0": 3})
        with pytest.raises(DataError, match="are in the session already, such as 'k0'"):
            add_data(session, fixed)
        shown = SessionMedia(session.folder)
        before = shown.thumbnail("k0", 16)
        assert add_data(session, fixed, replace=True).n_replaced == 1
        assert session.ids == ("k0", "k1", "k2")
        corrected = SessionMedia(session.folder)
        assert corrected.thumbnail("k0", 16) != before
