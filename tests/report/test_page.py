from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from soel.report.facts import ReportFacts
from soel.report.page import Curve, read_asset, render, write_report
from soel.report.view import AlarmLine, InCommon, Picture
from soel.text import ENGLISH
from tests.report.conftest import make_map

MakeFacts = Callable[..., ReportFacts]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028\"'&lt;{}"
LOADING = {"src", "href", "srcset", "action", "data", "poster", "formaction", "background"}


class Reader(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def read(facts: ReportFacts) -> Reader:
    return Reader(render(facts))


def test_the_sections_come_in_order(facts: ReportFacts) -> None:
    text = read(facts).text
    titles = ["Alarms", "Share of anomalies", "Labels", "Fitted 2025-01-01", "The most anomalous items"]
    titles += ["What the alarms have in common", "Map of the data", "How sure the numbers are", "What was asked"]
    titles += ["How it compares", "Training", "How this was made", "How to go on"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_what_is_not_given_is_not_shown(make_facts: MakeFacts) -> None:
    nothing = dict.fromkeys(("history", "alarms", "comparison", "next_steps", "queries"), ())
    text = read(make_facts(**nothing, in_common=InCommon())).text
    for title in ("Training", "The most", "How it compares", "How to go on", "True share", "in common"):
        assert title not in text
    assert "Nothing has been asked yet" in text


def test_one_line_of_facts_leads(facts: ReportFacts, make_facts: MakeFacts) -> None:
    text = read(make_facts(line=replace(facts.line, true_share=0.1))).text
    assert "Alarms 36 score above 9.1 Real alarms not checked" in text
    assert "Share of anomalies 9 % 80 % range 5 % to 15 % True share 10 %" in text
    assert "Labels 2 1 anomaly, 1 normal" in text
    checked = read(make_facts(line=replace(facts.line, real=(8, 20), n_checked=12))).text
    assert "Real alarms 8 to 20 by a spot check of 12" in checked
    none = read(make_facts(line=replace(facts.line, n_alarms=0, threshold=None))).text
    assert "Alarms 0 no score raises one" in none


def test_an_alarm_has_chips_with_the_column_that_they_are_about(facts: ReportFacts) -> None:
    reader = read(facts)
    assert "heat 12.5 ↑ 3" in reader.text
    assert reader.text.index("short") < reader.text.index("whole")
    (strip,) = [attrs for attrs in reader.named("svg") if attrs.get("class") == "strip"]
    assert strip["aria-hidden"] == "true"
    marks = [attrs["x1"] for attrs in reader.named("line") if attrs.get("class") in ("usual", "own")]
    assert marks == ["19.2", "86.4"]
    assert "Most alike among the labelled items (anomaly): row-396" in reader.text
    assert "button" not in {tag for tag, _ in reader.tags}, "a report is for looking only"


@pytest.mark.parametrize("has_maps", [True, False])
def test_pictures_have_a_legend_only_where_places_are_drawn(make_facts: MakeFacts, has_maps: bool) -> None:
    pictures = {"a.png": Picture(b"\x89PNG rest", "image/png")}
    shown = [AlarmLine("a.png", "a.png", "image", 1, 1.0, 0.5, 0.1)]
    reader = read(make_facts(alarms=shown, pictures=pictures, has_maps=has_maps))
    assert (ENGLISH("zoom.map_key") in reader.text) is has_maps
    assert any(str(attrs.get("src")).startswith("data:image/png") for attrs in reader.named("img"))


def test_every_figure_and_table_has_words(facts: ReportFacts) -> None:
    reader = read(facts)
    figures = [attrs for _, attrs in reader.tags if attrs.get("role") == "img"]
    assert len(figures) == 3  # the histogram, the map, the training
    assert all(len(attrs["aria-label"] or "") > 30 for attrs in figures)
    assert len(reader.named("caption")) == len(reader.named("table")) == 3
    assert all(attrs.get("scope") == "col" for attrs in reader.named("th"))


def test_the_map_says_how_much_of_a_large_pool_it_shows(make_facts: MakeFacts) -> None:
    drawn = make_map(20_500)
    reader = read(make_facts(drawn))
    points = json.loads(reader.scripts[0])
    assert len(points["x"]) == len(points["words"]) == 20_000
    assert [each["verdict"] for each in points["labelled"]] == ["normal", "anomaly"]
    assert "20000 of 20500 items" in reader.text


def test_the_curve_is_the_mean_and_the_band_spans_the_members() -> None:
    curve = Curve.of([[3.0, 5.0], [1.0, 2.0]])
    assert curve.mean == "M0 25 L1000 87.5"
    assert curve.band == "M0 50 L1000 100 L1000 75 L0 0Z"
    assert "from 4 to 1.5" in curve.words


def test_hostile_words_stay_words(make_facts: MakeFacts) -> None:
    calm, hostile = read(make_facts()), read(make_facts(word=HOSTILE))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in calm.tags]
    assert len(hostile.scripts) == 2
    assert "alert(1)" in hostile.text
    assert not any(name.startswith("on") for _, attrs in hostile.tags for name in attrs)


def test_hostile_ids_are_plain_text_in_the_map(make_facts: MakeFacts) -> None:
    data = read(make_facts(word=HOSTILE)).scripts[0]
    assert not set("<>&\u2028") & set(data)
    assert any("alert(1)" in words for words in json.loads(data)["words"])


def test_a_backtick_part_is_code_and_still_escaped(make_facts: MakeFacts) -> None:
    reader = read(make_facts(next_steps=["Run `a<b>`.", "one ` alone"]))
    assert len(reader.named("code")) == 1
    assert "a<b>" in reader.text
    assert "one ` alone" in reader.text


def test_only_the_script_of_the_page_may_run(facts: ReportFacts) -> None:
    reader = read(facts)
    policy = next(a["content"] or "" for a in reader.named("meta") if a.get("http-equiv"))
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in reader.scripts[1:]]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


def test_nothing_is_loaded_from_anywhere(facts: ReportFacts) -> None:
    reader = read(facts)
    loads = [value for _, attrs in reader.tags for name, value in attrs.items() if name in LOADING]
    assert loads == ["data:,"]
    own = "".join(map(read_asset, ("shared.css", "report.css", "report.js", "map.js", "report.html")))
    assert not re.search(r"https?://|//\w|@import|url\(", re.sub(r" // [^\n]*", "", own))


def test_a_report_is_one_whole_small_file(facts: ReportFacts, tmp_path: Path) -> None:
    out = write_report(facts, tmp_path / "deep" / "report.html")
    text = out.read_text("utf-8")
    assert text.endswith("</html>\n")
    assert text.count("</script>") == 2
    assert len(text) < 100_000
    assert list(out.parent.iterdir()) == [out]


def test_the_same_facts_give_the_same_page(facts: ReportFacts) -> None:
    assert render(facts) == render(facts)


def test_a_failed_report_leaves_the_old_one(
    facts: ReportFacts,
    make_facts: MakeFacts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = write_report(facts, tmp_path / "report.html")
    before = out.read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(make_facts(title="other"), out)
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


def test_half_a_character_does_not_cost_the_report(make_facts: MakeFacts, tmp_path: Path) -> None:
    drawn = make_map(3, names=["a\ud800", "b\x00", "c"], points=np.eye(3)[:, :2])
    out = write_report(make_facts(drawn), tmp_path / "report.html")
    assert "a?" in out.read_text("utf-8")
