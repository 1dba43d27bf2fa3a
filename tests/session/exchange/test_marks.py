"""What was drawn on pictures, out of a session and into another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from soel.errors import LabelError
from soel.session import Session
from soel.session.labels import export_labels, import_labels
from soel.session.marks import Mark, Region
from soel.tables.rows import read_rows
from tests.table_session import Make

POINT = Region("point", ((0.25, 0.5),))
BOX = Region("box", ((0.1, 0.2), (0.5, 0.4)))
BRUSH = Region("brush", ((0.2, 0.2), (0.6, 0.6)), radius=0.05)
POLYGON = Region("polygon", ((0.1, 0.1), (0.9, 0.1), (0.5, 0.8)))


def drawn_session(make: Make) -> Session:
    session = make("source")
    session.tell({"=n1": "anomaly", "=n2": "normal"}, "ann")
    session.mark("=n1", Mark("ann", (POINT, BOX, POLYGON), 200, 100))
    session.mark("=n1", Mark("bob", (BRUSH,), 200, 100))
    return session


def marks(session: Session) -> dict[str, tuple[Region, ...]]:
    return {mark.who: mark.regions for mark in session.state.marks.get("=n1", ())}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_own_files_keep_every_stroke(make: Make, form: str) -> None:
    source, target = drawn_session(make), make("target")
    path, n_entries = export_labels(source, form)
    assert n_entries == 4
    assert import_labels(target, path).n_stored == 4
    assert marks(target) == marks(source)
    assert import_labels(target, path).n_stored == 0


def test_files_without_marks_have_no_column_for_them(make: Make) -> None:
    session = make("plain")
    session.tell({"=n1": "anomaly"}, "ann")
    assert "mark" not in read_rows(export_labels(session)[0])[0]


@pytest.mark.parametrize("form", ["label-studio", "coco"])
def test_other_tools_forms_keep_shapes_and_a_brush_as_its_outline(make: Make, form: str) -> None:
    source, target = drawn_session(make), make("target")
    import_labels(target, export_labels(source, form)[0])
    back = marks(target)
    shapes = [region.shape for region in back["ann"]]
    assert shapes == ["point", "box", "polygon"]
    for before, after in zip((POINT, BOX, POLYGON), back["ann"], strict=True):
        for expected, got in zip(sorted(before.points), sorted(after.points), strict=True):
            assert got == pytest.approx(expected, abs=1e-3)
    (outline,) = back["bob"]
    assert outline.shape == "polygon"
    assert target.state.labels["=n1"] == 1
    assert target.state.labels["=n2"] == 0


def test_the_form_of_label_studio_is_in_percent_with_the_size_in_pixels(make: Make) -> None:
    tasks = json.loads(export_labels(drawn_session(make), "label-studio")[0].read_text())
    parts = [part for task in tasks for note in task["annotations"] for part in note["result"]]
    (box,) = [part for part in parts if part["type"] == "rectanglelabels"]
    assert (box["original_width"], box["original_height"]) == (200, 100)
    assert box["value"]["rectanglelabels"] == ["anomaly"]
    assert [box["value"][name] for name in ("x", "y", "width", "height")] == pytest.approx([10, 20, 40, 20])


def test_the_form_of_coco_is_in_pixels(make: Make) -> None:
    content = json.loads(export_labels(drawn_session(make), "coco")[0].read_text())
    point, box, polygon, brush = content["annotations"]
    assert point["keypoints"] == [50, 50, 2]
    assert box["bbox"] == pytest.approx([20, 20, 80, 20])
    assert box["area"] == pytest.approx(1600)
    assert polygon["area"] == pytest.approx(160 * 70 / 2)
    assert len(brush["segmentation"][0]) >= 8
    image = content["images"][0]
    assert (image["width"], image["height"], image["label"]) == (200, 100, "anomaly")


def test_boxes_of_another_tool_make_anomalies(make: Make, tmp_path: Path) -> None:
    session, path = make("target"), tmp_path / "coco.json"
    image = {"id": 7, "file_name": "=n3", "width": 100, "height": 50}
    box = {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 10]}
    path.write_text(json.dumps({"images": [image], "annotations": [box], "categories": []}))
    import_labels(session, path, who="ann")
    assert session.state.labels["=n3"] == 1
    assert session.state.marks["=n3"][0].regions[0].points[0] == pytest.approx((0.1, 0.2))


@pytest.mark.parametrize(
    "content",
    [
        {"images": [], "annotations": [{"image_id": 4, "bbox": [0, 0, 1, 1]}]},
        {"images": [{"id": 1, "file_name": "=n1"}], "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1]}]},
        {"images": 3, "annotations": []},
    ],
)
def test_what_is_not_coco_is_refused_and_nothing_is_stored(make: Make, tmp_path: Path, content: Any) -> None:
    session, path = make("target"), tmp_path / "coco.json"
    path.write_text(json.dumps(content))
    with pytest.raises(LabelError):
        import_labels(session, path)
    assert not session.state.answers
