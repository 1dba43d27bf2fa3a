from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from soel.profiles import PAPER, Schedule
from soel_reproduction.chart import Line, Panel, draw, panels, ticks
from soel_reproduction.results import Point, Results
from soel_reproduction.settings import HEADER, settings_rows
from soel_reproduction.toy import WAYS, draw_toy, toy_data, toy_panels

SVG = "{http://www.w3.org/2000/svg}"


def points() -> Results:
    at = {"share": "own", "expert": "perfect", "measure": "f1"}
    return Results(
        [
            Point({**at, "dataset": dataset, "method": method, "budget": str(budget)}, 50.0 + budget, 1.0, 5)
            for dataset in ("<a>", "b")
            for method in ("SOEL", "Mar & co")
            for budget in (160, 20, 40)
        ]
    )


def test_a_panel_per_data_set_a_line_per_method() -> None:
    shown = panels(points(), "budget")
    assert [(panel.title, [line.name for line in panel.lines]) for panel in shown] == [
        ("<a>: F1, %", ["SOEL", "Mar & co"]),
        ("b: F1, %", ["SOEL", "Mar & co"]),
    ]
    assert [x for x, _, _ in shown[0].lines[0].points] == [20, 40, 160]


def test_the_picture_is_well_formed_and_higher_is_higher() -> None:
    root = ElementTree.fromstring(draw(panels(points(), "budget"), "labels"))
    lines = root.findall(f".//{SVG}polyline")
    assert len(lines) == 4
    heights = [float(place.split(",")[1]) for place in lines[0].attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)
    assert any(text.text == "<a>: F1, %" for text in root.iter(f"{SVG}text"))


def test_estimates_stand_beside_the_truth() -> None:
    at = {"dataset": "a", "method": "diverse", "budget": "40", "expert": "perfect"}
    shares = [
        Point({**at, "measure": measure, "share": f"{share} %"}, mean, 1.0, 5)
        for measure, mean in (("alpha_kde", 30.0), ("alpha_cover", 12.0))
        for share in (20, 5)
    ]
    (panel,) = panels(Results(shares), "share")
    assert [line.name for line in panel.lines] == ["true share", "kde", "cover"]
    assert panel.lines[0].points == [(5, 5, 0), (20, 20, 0)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (91.2, 97.4, [90, 92, 94, 96, 98]),
        (0.345, 1.64, [0, 0.5, 1, 1.5, 2]),
        (5, 5, [5, 6]),
    ],
)
def test_ticks_are_round_and_enclose_the_values(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_bands_stay_within_what_is_possible() -> None:
    lines = [Line("a", [(1, 95.0, 20.0), (2, 60.0, 1.0)])]
    root = ElementTree.fromstring(draw([Panel("F1", lines, per_cent=True)], "labels"))
    band = root.find(f".//{SVG}polygon")
    assert band is not None
    assert min(float(place.split(",")[1]) for place in band.attrib["points"].split()) == 0
    assert "100" in {text.text for text in root.iter(f"{SVG}text")}
    assert "120" not in {text.text for text in root.iter(f"{SVG}text")}


def test_toy_anomalies_lie_off_the_ring() -> None:
    x, truth = toy_data(0)
    assert x[truth][:, 1].mean() < -1 < x[~truth][:, 1].mean()


def test_the_toy_figure_has_its_four_panels() -> None:
    shown = toy_panels(profile=replace(PAPER, tables=Schedule(epochs=10, learning_rate=1e-3)))
    assert [panel.title for panel in shown] == [title for title, _, _ in WAYS]
    assert all(panel.scores.std() > 0 and 0 <= panel.auroc <= 1 for panel in shown)
    root = ElementTree.fromstring(draw_toy(shown))
    assert len(root.findall(f"{SVG}g")) == 4


def test_settings_are_printed_for_every_profile() -> None:
    rows = settings_rows()
    assert {row[0] for row in rows} == {"default", "paper", "authors"}
    assert all(len(row) == len(HEADER) for row in rows)
