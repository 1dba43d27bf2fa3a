"""Marks: what is drawn, which places it covers, and that it is kept, taken back and learnt from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soel.errors import LabelError, UnknownItemError
from soel.images.grids import Grid
from soel.records import body_of
from soel.session import Session
from soel.session.marks import MOST_REGIONS, Mark, Region, marked_places, read_mark
from tests.session.conftest import MakeSession

GRID = Grid(4, 4)


def covered(region: Region, grid: Grid = GRID, width: int = 80, height: int = 80) -> list[int]:
    return np.flatnonzero(region.covers(grid, width, height)).tolist()


def mark(*regions: Region, who: str = "expert") -> Mark:
    return Mark(who, regions, 80, 80)


POINT = Region("point", ((0.6, 0.1),))
BOX = Region("box", ((0.9, 0.6), (0.55, 0.3)))


def test_a_point_is_one_place_and_a_box_all_that_it_touches() -> None:
    assert covered(POINT) == [2]
    assert covered(BOX) == [6, 7, 10, 11]
    assert covered(Region("point", ((1.0, 1.0),))) == [15]


def test_a_brush_covers_its_path() -> None:
    assert covered(Region("brush", ((0.125, 0.125), (0.875, 0.125)))) == [0, 1, 2, 3]
    assert covered(Region("brush", ((0.125, 0.125),), radius=0.2)) == [0, 1, 4]


def test_a_polygon_is_filled() -> None:
    corners = ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9))
    assert covered(Region("polygon", corners)) == list(range(16))


def test_only_the_seen_part_of_a_picture_has_places() -> None:
    at_the_rim = Region("point", ((0.05, 0.5),))
    assert covered(at_the_rim, Grid(4, 4, (0.0, 0.25, 1.0, 0.75)), width=160) == []
    assert covered(at_the_rim, Grid(4, 8), width=160) == [16]
    rim = Region("point", ((1.0, 1.0),))
    assert covered(rim, Grid(4, 4, first=(0.0, 0.0), step=(0.2, 0.2)).even) == [15], "each point lies in a place"


def test_the_outline_of_a_brush_covers_what_the_brush_does() -> None:
    brush = Region("brush", ((0.2, 0.2), (0.5, 0.4), (0.8, 0.8)), radius=0.1)
    corners = brush.outline(80, 80) / 80
    as_polygon = Region("polygon", tuple(map(tuple, corners.clip(0, 1).tolist())))
    assert set(covered(as_polygon)) == set(covered(brush))


@pytest.mark.parametrize(
    "body",
    [
        {"regions": [{"shape": "star", "points": [[0, 0]]}], "width": 9, "height": 9},
        {"regions": [{"shape": "point", "points": [[0, 1.5]]}], "width": 9, "height": 9},
        {"regions": [{"shape": "point", "points": [[0, float("nan")]]}], "width": 9, "height": 9},
        {"regions": [{"shape": "box", "points": [[0, 0]]}], "width": 9, "height": 9},
        {"regions": [{"shape": "polygon", "points": [[0, 0], [1, 1]]}], "width": 9, "height": 9},
        {"regions": [], "width": 0, "height": 9},
        {"regions": [body_of(POINT)] * (MOST_REGIONS + 1), "width": 9, "height": 9},
        {"regions": 3, "width": 9, "height": 9},
        {"width": 9, "height": 9},
    ],
)
def test_what_is_no_mark_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(LabelError):
        read_mark("expert", body)


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session()


def test_a_mark_is_kept_replaced_and_taken_back(session: Session) -> None:
    item = session.ids[0]
    session.mark(item, mark(POINT))
    session.mark(item, mark(POINT))  # says nothing new
    session.mark(item, mark(BOX, who="ann"))
    session.mark(item, mark(POINT, BOX))
    assert {each.who: each.regions for each in session.state.marks[item]} == {"ann": (BOX,), "expert": (POINT, BOX)}
    session.mark(item, mark())
    assert [each.who for each in session.state.marks[item]] == ["ann"]
    assert [event.kind for event in session.events].count("mark") == 4  # none is ever overwritten


def test_marks_on_unknown_items_are_refused(session: Session) -> None:
    with pytest.raises(UnknownItemError):
        session.mark("nothing", mark(POINT))
    assert not session.state.marks


def test_a_mark_counts_where_the_item_is_an_anomaly_and_the_fit_is_old_then(session: Session) -> None:
    item = session.ask(1).items[0]
    session.tell({item: "normal"})
    session.fit()
    session.mark(item, mark(BOX))
    assert session.state.fit_is_current
    session.tell({item: "anomaly"})
    plain = session.state.labels_digest
    session.mark(item, mark())
    assert session.state.labels_digest != plain
    session.fit()
    assert session.state.fit_is_current
    session.mark(item, mark(POINT))
    assert not session.state.fit_is_current


def test_marks_become_places_by_row() -> None:
    places = marked_places({1: [mark(POINT), mark(BOX, who="ann")]}, 3, GRID)
    assert places is not None
    assert np.flatnonzero(places[1]).tolist() == [2, 6, 7, 10, 11]
    assert not places[[0, 2]].any()
    assert marked_places({}, 3, GRID) is None
