"""Maps of alarms: drawn over the picture, boxed where the defect is, in the forms that others read."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.cli.main import main
from soel.errors import SessionError
from soel.images import picture_pool
from soel.images.grids import Grid
from soel.images.maps import GAP, draw_overlay, find_boxes
from soel.images.picture_pool import MediaOptions
from soel.session import Session, SessionOptions, create
from soel.session.score_file import write_maps
from soel.types import Floats
from tests.images.media.test_patches import ask_and_fit, make_pictures
from tests.images.test_patches import PlaceExtractor


def grid_of(values: Floats) -> Grid:
    return Grid(*values.shape)


def test_a_box_lies_where_the_map_passes_the_limit() -> None:
    values = np.zeros((4, 4))
    values[3, 0] = 2.0
    (box,) = find_boxes(values.ravel(), grid_of(values), 80, 80)
    assert box.x == 0
    assert 55 <= box.y <= 65
    assert box.y + box.height == 80
    assert 15 <= box.width <= 25
    assert box.peak == 2
    assert find_boxes(np.full(16, 0.99), Grid(4, 4), 80, 80) == []


def test_boxes_are_in_pixels_of_the_whole_picture() -> None:
    values = np.zeros((4, 4))
    values[:, 0] = 3.0
    (box,) = find_boxes(values.ravel(), Grid(4, 4, (0.0, 0.3, 1.0, 0.7)), 40, 100)
    assert (box.x, box.y, box.height) == (30, 0, 40)


def test_the_worst_box_comes_first() -> None:
    values = np.zeros((5, 5))
    values[0, 0], values[4, 4] = 1.5, 2.5
    assert [box.peak for box in find_boxes(values.ravel(), grid_of(values), 50, 50)] == [2.5, 1.5]


def test_colour_covers_unusual_places_and_no_others() -> None:
    picture, values = np.full((40, 60, 3), 100, np.uint8), np.zeros((4, 4))
    values[0, 3] = 2.0
    drawn = np.asarray(Image.open(io.BytesIO(draw_overlay(picture, values.ravel(), grid_of(values)))))
    assert drawn.shape == picture.shape
    red, green, blue = drawn[2, 57].tolist()
    assert red > 140
    assert max(green, blue) < 75
    assert (drawn[20:] == 100).all()


@pytest.mark.parametrize("shade", [0, 60, 128, 255])
def test_a_light_and_a_dark_line_side_by_side_show_the_limit_on_any_picture(shade: int) -> None:
    picture, values = np.full((80, 80, 3), shade, np.uint8), np.zeros((4, 4))
    values[1, 1] = 2.0
    drawn = np.asarray(Image.open(io.BytesIO(draw_overlay(picture, values.ravel(), grid_of(values)))))
    beyond = Grid(4, 4).enlarge(values.reshape(1, -1), 80, 80)[0] > 1
    first = int(np.flatnonzero(beyond[30])[0])
    assert (drawn[30, first - GAP - 1] == 255).all()
    assert (drawn[30, first - GAP - 2] == 0).all()
    lines = (drawn == 255).all(axis=2) | (drawn == 0).all(axis=2)
    assert shade in (0, 255) or not lines[beyond].any(), "no line lies on what is beyond the limit"
    shown = draw_overlay(np.full_like(picture, shade // 2), values.ravel(), grid_of(values))
    assert shade == 0 or (drawn[30, 30] != np.asarray(Image.open(io.BytesIO(shown)))[30, 30]).any()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    data = make_pictures(tmp_path / "pictures")
    made = create.create_session(tmp_path / "s", data, SessionOptions(budget=4))
    ask_and_fit(made, 4)
    return made


def test_alarms_of_the_session_and_of_new_pictures_are_mapped(session: Session, tmp_path: Path) -> None:
    with closing(session):
        told = write_maps(session, None, tmp_path / "own", "alarms=3")
        fresh = make_pictures(tmp_path / "new", 12, first=500)
        write_maps(session, fresh, tmp_path / "fresh", "alarms=3")
    assert told["n_maps"] == 3
    for folder in (tmp_path / "own", tmp_path / "fresh"):
        entries = json.loads((folder / "boxes.json").read_text())
        assert sorted(entry["name"] for entry in entries) == ["00.png", "01.png", "02.png"]
        for entry in entries:
            grid = np.load(folder / entry["overlay"].replace(".png", ".npy"))
            assert grid.shape == (2, 2)
            assert grid.argmax() == 3  # the lower right quarter
            worst = entry["boxes"][0]
            assert worst["x"] + worst["width"] == worst["y"] + worst["height"] == 80
            with Image.open(folder / entry["overlay"]) as overlay:
                assert overlay.size == (80, 80)
        sheet = list(csv.DictReader((folder / "sheet.csv").read_text().splitlines()))
        assert [row["alarm"] for row in sheet] == ["yes"] * 3 + ["no"] * (len(sheet) - 3)
        assert len(sheet) == (40 if folder.name == "own" else 12)
        assert [float(row["score"]) for row in sheet] == sorted((float(row["score"]) for row in sheet), reverse=True)
        x, y, width, height = map(int, sheet[0]["boxes"].split(";")[0].split())
        assert x + width == y + height == 80
        coco = json.loads((folder / "coco.json").read_text())
        assert len(coco["images"]) == 3
        assert {a["image_id"] for a in coco["annotations"]} == {1, 2, 3}
        assert all(len(a["bbox"]) == 4 and a["category_id"] == 1 for a in coco["annotations"])


def test_the_command_writes_maps(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session.close()
    words = ["score", str(tmp_path / "s"), "--out", str(tmp_path / "a.csv"), "--maps", str(tmp_path / "maps")]
    assert main([*words, "--threshold", "alarms=2"]) == 0
    assert "2 pictures with" in capsys.readouterr().out
    assert len(list((tmp_path / "maps").glob("*.png"))) == 2
    mine = tmp_path / "maps" / "0009-photo.png"
    mine.touch()
    assert main([*words, "--threshold", "alarms=1"]) == 0
    assert {path.stem[:4] for path in (tmp_path / "maps").glob("0*")} == {"0001", "0009"}, "no overlay is left over"
    assert mine.exists()


def test_a_session_on_whole_pictures_has_no_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    data = make_pictures(tmp_path / "pictures", 8)
    made = create.create_session(tmp_path / "s", data, SessionOptions(budget=2), media=MediaOptions(patches="no"))
    with closing(made), pytest.raises(SessionError, match="patches='yes'"):
        write_maps(made, None, tmp_path / "maps")
