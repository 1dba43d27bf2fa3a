from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from soel.profiles import PAPER, Schedule
from soel.reproduce.chart import draw, panels
from soel.reproduce.results import Point, Results
from soel.reproduce.settings import HEADER, settings_rows
from soel.reproduce.toy import WAYS, draw_toy, toy_data, toy_panels

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
        ("<a>, f1", ["SOEL", "Mar & co"]),
        ("b, f1", ["SOEL", "Mar & co"]),
    ]
    assert [x for x, _, _ in shown[0].lines[0].points] == [20, 40, 160]


def test_the_picture_is_well_formed_and_higher_is_higher() -> None:
    root = ElementTree.fromstring(draw(panels(points(), "budget"), "labels"))
    lines = root.findall(f".//{SVG}polyline")
    assert len(lines) == 4
    heights = [float(place.split(",")[1]) for place in lines[0].attrib["points"].split()]
    assert heights == sorted(heights, reverse=True)
    assert any(text.text == "<a>, f1" for text in root.iter(f"{SVG}text"))


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
