from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.errors import ConfigError
from soel.report import page
from soel.report.facts import Picture, PoolFacts, ReportFacts, Strip, Threshold, TopItem
from soel.report.page import MAP_KEY, render, write_report

MakeFacts = Callable[..., ReportFacts]
MakePool = Callable[..., PoolFacts]
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


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[ReportFacts], Reader]:
    """Renders with a stand-in for the plotting bundle, which would drown everything else."""
    monkeypatch.setattr(page, "_plotly", lambda: "/* bundle */")
    return lambda facts: Reader(render(facts))


Read = Callable[[ReportFacts], Reader]


def test_the_sections_come_in_order(read: Read, facts: ReportFacts) -> None:
    text = read(facts).text
    titles = ["Alarms", "Share of anomalies", "Labels", "Fitted 2025-01-01", "Scores", "The most anomalous items"]
    titles += ["What the alarms have in common", "Map of the data", "How sure the numbers are", "What was asked"]
    titles += ["How it compares", "Training", "How this was made", "How to go on"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_what_is_not_given_is_not_shown(read: Read, make_facts: MakeFacts) -> None:
    nothing = dict.fromkeys(("history", "top", "comparison", "next_steps", "queries", "in_common", "patterns"), ())
    text = read(make_facts(**nothing, fitted="")).text
    for title in (
        "Training",
        "The most",
        "How it compares",
        "How to go on",
        "True share",
        "Cover",
        "Fitted",
        "in common",
    ):
        assert title not in text
    assert "Nothing has been asked yet" in text


def test_one_line_of_facts_leads(read: Read, make_facts: MakeFacts) -> None:
    text = read(make_facts(true_contamination=0.1, cover_radius=2.5)).text.replace("\u00a0", " ")
    assert "Alarms 36 score above 9.1 Real alarms not checked" in text
    assert "Share of anomalies 9 % 80 % range 5 to 15 % True share 10 %" in text
    assert "Labels 2 1 anomaly, 1 normal" in text
    assert text.index("Show the settings") < text.index("Cover radius: the farthest item from a query 2.5")
    checked = read(make_facts(real_alarms=(7.6, 20.2), n_checked=12)).text
    assert "Real alarms 8 to 20 by a spot check of 12" in checked
    none = read(make_facts(threshold=Threshold(math.inf, "false-alarms=0.01", 0))).text
    assert "Alarms 0 no score raises one" in none


def test_an_alarm_has_chips_with_the_column_that_they_are_about(read: Read, facts: ReportFacts) -> None:
    reader = read(facts)
    assert "heat 12.5 ↑ 3" in reader.text
    assert reader.text.index("short") < reader.text.index("whole")
    (strip,) = reader.named("svg")
    assert strip["aria-hidden"] == "true"
    assert [attrs["x1"] for attrs in reader.named("line")] == ["19.2", "86.4"]
    assert len(reader.named("rect")) == 2  # of an empty bar there is none


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_law_a_strip_holds_both_values(column: list[float], value: float, usual: float) -> None:
    strip = Strip.of(np.array([*column, np.nan]), value, usual)
    assert 0 <= min(strip.value, strip.usual) <= max(strip.value, strip.usual) <= 1
    assert (strip.value < strip.usual) <= (value < usual)
    assert max(strip.bars) == 1
    assert min(strip.bars) >= 0


@pytest.mark.parametrize("has_map", [True, False])
def test_pictures_have_a_legend_only_where_places_are_drawn(read: Read, make_facts: MakeFacts, has_map: bool) -> None:
    picture = Picture(b"\x89PNG rest", has_map)
    reader = read(make_facts(top=[TopItem("a.png", 1.0, 1, "unlabelled", True, picture=picture)]))
    assert (MAP_KEY in reader.text) is has_map
    assert any(str(attrs.get("src")).startswith("data:image/png") for attrs in reader.named("img"))


def test_every_plot_and_table_has_words(read: Read, facts: ReportFacts) -> None:
    reader = read(facts)
    plots = [attrs for attrs in reader.named("div") if attrs.get("class") == "plot"]
    assert len(plots) == 3
    assert all(len(attrs["aria-label"] or "") > 40 for attrs in plots)
    assert len(reader.named("caption")) == len(reader.named("table")) == 3
    assert all(attrs.get("scope") == "col" for attrs in reader.named("th"))


def test_every_plot_has_a_place_on_the_page(read: Read, facts: ReportFacts) -> None:
    reader = read(facts)
    places = {attrs.get("id") for attrs in reader.named("div")}
    assert {f"plot-{figure['name']}" for figure in json.loads(reader.scripts[0])} <= places


def test_hostile_words_stay_words(read: Read, make_facts: MakeFacts) -> None:
    calm, hostile = read(make_facts()), read(make_facts(word=HOSTILE))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in calm.tags]
    assert len(hostile.scripts) == 3
    assert "alert(1)" in hostile.text
    assert not any(name.startswith("on") for _, attrs in hostile.tags for name in attrs)


def test_hostile_ids_are_plain_text_in_the_plots(read: Read, make_facts: MakeFacts) -> None:
    data = read(make_facts(word=HOSTILE)).scripts[0]
    assert not set("<>&\u2028") & set(data)
    hover = [text for figure in json.loads(data) for trace in figure["traces"] for text in trace.get("text", [])]
    assert any("alert(1)" in text for text in hover)
    assert not any("<" in text for text in hover)


def test_a_backtick_part_is_code_and_still_escaped(read: Read, make_facts: MakeFacts) -> None:
    reader = read(make_facts(next_steps=["Run `a<b>`.", "one ` alone"]))
    assert len(reader.named("code")) == 1
    assert "a<b>" in reader.text
    assert "one ` alone" in reader.text


def test_only_the_two_scripts_of_the_page_may_run(read: Read, facts: ReportFacts) -> None:
    reader = read(facts)
    policy = next(a["content"] or "" for a in reader.named("meta") if a.get("http-equiv"))
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in reader.scripts[1:]]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


def test_nothing_is_loaded_from_anywhere(read: Read, facts: ReportFacts) -> None:
    reader = read(facts)
    loads = [value for _, attrs in reader.tags for name, value in attrs.items() if name in LOADING]
    assert loads == ["data:,"]
    own = page._asset("page.css") + page._asset("page.js") + page._asset("report.html")
    assert not re.search(r"https?://|//\w|@import|url\(", re.sub(r" // [^\n]*", "", own))


def test_the_plots_never_offer_to_upload_the_data() -> None:
    assert "showSendToCloud: false" in page._asset("page.js")


def test_every_colour_in_the_figures_is_known_to_the_style(read: Read, facts: ReportFacts) -> None:
    known = set(re.findall(r"(--[\w-]+):", page._asset("page.css")))
    used = set(re.findall(r'"(--[\w-]+)"', read(facts).scripts[0]))
    assert used
    assert used <= known


def test_a_report_with_the_real_bundle_is_one_whole_file(facts: ReportFacts, tmp_path: Path) -> None:
    out = write_report(facts, tmp_path / "deep" / "report.html")
    text = out.read_text("utf-8")
    assert text.endswith("</html>\n")
    assert text.count("</script>") == 3
    assert "Plotly" in text
    assert list(out.parent.iterdir()) == [out]


def test_the_same_facts_give_the_same_page(facts: ReportFacts, read: Read) -> None:
    assert render(facts) == render(facts)


def test_a_failed_report_leaves_the_old_one(
    read: Read,
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


def test_half_a_character_does_not_cost_the_report(
    read: Read, make_facts: MakeFacts, make_pool: MakePool, tmp_path: Path
) -> None:
    pool = make_pool(3, ids=["a\ud800", "b\x00", "c"], points=np.eye(3)[:, :2])
    out = write_report(make_facts(pool), tmp_path / "report.html")
    assert "a?" in out.read_text("utf-8")


def test_without_plotly_the_extra_is_named(facts: ReportFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ConfigError, match=r"soel\[report\]"):
        render(facts)
