from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from soel_paper.figures import WAYS, draw_curves, draw_toy, panels, score_maps
from soel_paper.findings import FigurePoint, FigureTable, Position

SVG = "{http://www.w3.org/2000/svg}"


def points() -> FigureTable:
    return FigureTable(
        [
            FigurePoint(Position(dataset, method, budget, None, "perfect", "f1"), 50.0 + budget / 4, 1.0, 5)
            for dataset in ("<a>", "b")
            for method in ("SOEL", "Mar & co")
            for budget in (160, 20, 40)
        ]
    )


def texts(picture: bytes) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_a_panel_per_data_set_a_curve_per_method() -> None:
    shown = panels(points(), "budget")
    assert [(panel.title, list(panel.curves)) for panel in shown] == [
        ("<a>: F1, %", ["SOEL", "Mar & co"]),
        ("b: F1, %", ["SOEL", "Mar & co"]),
    ]
    assert shown[0].curves["SOEL"] == [(20, 55, 1), (40, 60, 1), (160, 90, 1)]


def test_the_picture_names_what_it_shows_and_repeats() -> None:
    shown = panels(points(), "budget")
    picture = draw_curves(shown, "budget")
    words = texts(picture)
    assert {"<a>: F1, %", "b: F1, %", "20", "40", "160", "labels"} <= set(words)
    assert words.count("SOEL") == words.count("Mar & co") == 1  # one legend for all panels
    assert picture == draw_curves(shown, "budget")


def test_estimates_stand_beside_the_truth() -> None:
    shares = [
        FigurePoint(Position("a", "diverse", 40, share, "perfect", measure), mean, 1.0, 5)
        for measure, mean in (("alpha_kde", 30.0), ("alpha_cover", 12.0))
        for share in (0.2, 0.05)
    ]
    (panel,) = panels(FigureTable(shares), "share")
    assert list(panel.curves) == ["true share", "kde", "cover"]
    assert panel.curves["true share"] == [(5, 5, 0), (20, 20, 0)]


def test_the_toy_figure_has_its_four_maps() -> None:
    shown = score_maps()
    assert [one.title for one in shown] == [title for title, _, _ in WAYS]
    every_label, classifier, contaminated, one_label = (one.auroc for one in shown)
    assert every_label > 0.95
    assert classifier < 0.6  # it cannot find new anomalies
    assert contaminated < every_label - 0.1  # what the paper shows: contamination does harm,
    assert one_label > every_label - 0.05  # and one label nearly repairs it
    assert all(one.scores.std() > 0 for one in shown)
    assert [f"{one.title}: AUROC {100 * one.auroc:.0f}" for one in shown] == texts(draw_toy(shown))
