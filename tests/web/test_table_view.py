"""Cards of rows: what stands out comes first, and the words are true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from soel.tables.frame import Frame
from soel.tables.open import read_table
from soel.web.cards import Look, TableView
from soel.web.measure import Categories, NumberMeasure, measure

IDS = [f"r{row}" for row in range(100)]


def make_view() -> TableView:
    rng = np.random.default_rng(0)
    width, height = rng.normal(10, 1, 100), rng.normal(5, 1, 100)
    colour = np.array(["red"] * 60 + ["blue"] * 39 + ["gold"], object)
    height[0], width[1], height[2] = 50.0, np.nan, -40.0
    return TableView(IDS, lambda: Frame({"width": width, "height": height, "colour": colour}, named=True))


def test_what_stands_out_comes_first_and_the_rest_keeps_its_order() -> None:
    card = make_view().card("r0", {})
    assert [field.name for field in card.fields] == ["height", "width", "colour"]
    assert [field.stands_out for field in card.fields] == [True, False, False]
    assert card.n_standing_out == 1
    assert card.fields[0].words.startswith("higher than 99 % of the rows, typical ")


def test_values_are_shown_as_people_wrote_them(tmp_path: Path) -> None:
    rows = [f"{10 + row % 7},5 bar;{'ja' if row % 3 else 'nein'}" for row in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["druck;läuft", *rows]))
    table = read_table(tmp_path / "a.csv")
    card = TableView(list(table.ids), lambda: table.frame).card(table.ids[0], {})
    shown = {field.name: (field.value, field.words) for field in card.fields}
    assert shown["druck"][0] == "10.5 bar"
    assert shown["läuft"] == ("nein", "in 33 % of the rows, typical ja")


def test_a_column_of_ids_names_the_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n".join(["order_id;size", *(f"A-{row};{row % 7}" for row in range(60))]))
    table = read_table(tmp_path / "a.csv")
    view = TableView(list(table.ids), lambda: table.frame, named=False)
    assert view.title(table.ids[3]) == "A-3"


def test_a_rare_category_and_a_rare_gap_stand_out() -> None:
    rare, gap = make_view().card("r99", {}), make_view().card("r1", {})
    assert (rare.fields[0].name, rare.fields[0].value) == ("colour", "gold")
    assert rare.fields[0].words == "in 1 % of the rows, typical red"
    assert (gap.fields[0].name, gap.fields[0].value) == ("width", "missing")
    assert gap.fields[0].strip is not None
    assert gap.fields[0].strip.mark is None


def test_known_anomalies_are_no_measure_of_what_is_usual() -> None:
    view = make_view()
    before = view.card("r0", {}).fields[0]
    after = view.card("r0", {"r2": 1}).fields[0]
    assert before.strip is not None
    assert after.strip is not None
    assert after.strip.low != before.strip.low, "the anomaly at -40 no longer stretches the strip"
    assert view.card("r0", {"r2": 0}).fields[0] == before


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(-1e7, 1e7))
@example([1e6, 1e6 + 2e-10], 1e6)
@example([5e-324], 0.0)
def test_every_value_has_a_place_on_its_strip(values: list[float], value: float) -> None:
    numbers = measure(np.array(values))
    strip = numbers.strip(value)
    assert isinstance(numbers, NumberMeasure)
    assert strip is not None
    assert strip.mark is not None
    assert 0 <= strip.mark <= 1
    assert max(strip.bars) == 1
    assert min(strip.bars) >= 0
    assert numbers.distance(value) >= 0


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=40), st.text(max_size=3))
def test_a_category_that_was_never_seen_is_the_rarest(cells: list[str | None], other: str) -> None:
    column = np.empty(len(cells), object)
    column[:] = cells
    usual = measure(column)
    assert isinstance(usual, Categories)
    strip = usual.strip(other)
    assert strip is not None
    assert strip.mark is not None
    if other not in cells:
        assert usual.distance(other) >= max(usual.distance(cell) for cell in cells)
        assert usual.words(other, True).startswith("in 0 % of the rows")


def test_what_is_said_of_a_value_fits_the_group_it_stands_in() -> None:
    usual = measure(np.arange(101.0))
    assert usual.words(60.0, False) == "typical 50"
    assert usual.words(100.0, False) == "at the upper end, typical 50"
    assert usual.words(0.0, False) == "at the lower end, typical 50"
    assert usual.words(90.0, True) == "higher than 89 % of the rows, typical 50"
    assert usual.words(-3.0, True) == "lower than 100 % of the rows, typical 50"


@pytest.mark.parametrize(("value", "text"), [(1234567.0, "1,234,567"), (0.123456789, "0.123457"), (-2.0, "-2")])
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    assert measure(np.array([1.0, 2.0])).text(value) == text


def test_a_column_without_spread_or_without_values_does_no_harm() -> None:
    constant, empty = measure(np.full(90, 3.0)), measure(np.full(4, np.nan))
    assert constant.distance(3.0) == 0
    assert constant.distance(3.1) > 2.5
    assert (empty.distance(2.0), empty.words(2.0, False), empty.strip(2.0)) == (0.0, "", None)


def test_times_are_written_as_people_do() -> None:
    when = np.array(["2024-01-01", "2024-01-02T12:30:00", "2024-01-03", "NaT"], "datetime64[us]")
    view = TableView(["a", "b", "c", "d"], lambda: Frame({"when": when}, named=True))
    assert [view.card(item, {}).fields[0].value for item in "abcd"] == [
        "2024-01-01",
        "2024-01-02 12:30:00",
        "2024-01-03",
        "missing",
    ]
    strip = view.card("b", {}).fields[0].strip
    assert strip is not None
    assert (strip.low, strip.high) == ("earlier", "later")


def make_wide(n_columns: int = 298) -> TableView:
    """Nothing but chance, half of it with wide tails, and one value in row 7 that is none."""
    rng = np.random.default_rng(3)
    ids = [f"r{row}" for row in range(1000)]
    columns = {f"c{at}": rng.normal(size=1000) if at % 2 else rng.standard_t(3, 1000) for at in range(n_columns)}
    columns["c100"][7] = 60.0
    return TableView(ids, lambda: Frame(columns, named=True))


def test_chance_makes_hardly_any_value_of_a_wide_row_stand_out() -> None:
    view = make_wide()
    standing_out = [view.card(f"r{row}", {}).n_standing_out for row in range(100, 300)]
    assert np.mean(standing_out) < 0.3
    assert view.card("r7", {}).fields[0].name == "c100"
    assert view.card("r7", {}).fields[0].stands_out


def test_a_wide_row_is_folded_and_can_be_searched() -> None:
    view = make_wide()
    card = view.card("r7", {})
    assert (len(card.fields), card.n_fields) == (30, 298)
    found = view.card("r7", {}, Look(" C10", most=3))
    assert [field.name for field in found.fields] == ["c100", "c10", "c101"]
    assert (found.n_fields, found.n_standing_out) == (11, 1)
    assert len(view.card("r7", {}, Look(most=500)).fields) == 298


@given(st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=60), st.floats(0.001, 0.5))
def test_no_more_than_the_share_of_rows_stands_out_by_its_category(cells: list[str], share: float) -> None:
    column = np.array(cells, object)
    usual = measure(column)
    cut = usual.reach(share)
    assert np.mean([usual.distance(cell) >= cut for cell in cells]) <= share


@pytest.mark.parametrize("share", [0.05, 0.01, 0.001])
def test_the_reach_of_a_column_follows_its_tails(share: float) -> None:
    rng = np.random.default_rng(5)
    for values in (rng.normal(size=4000), rng.standard_t(3, 4000), rng.exponential(size=4000)):
        usual = measure(values)
        farther = np.mean([usual.distance(value) > usual.reach(share) for value in values])
        assert farther < 2 * share + 0.001
    assert measure(rng.normal(size=4000)).reach(0.05) == pytest.approx(1.96, abs=0.15)


def test_a_share_of_anomalies_below_a_tenth_does_not_hide_itself() -> None:
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(size=372), rng.normal(8, 0.5, 28)])
    usual = measure(values)
    assert np.mean([usual.distance(value) > usual.reach(0.01) for value in values[372:]]) > 0.9


def test_a_rare_but_repeated_number_is_no_news() -> None:
    flags = np.array([0.0] * 950 + [1.0] * 50)
    usual = measure(flags)
    assert usual.distance(1.0) < usual.reach(0.001) <= usual.distance(2.0)


def test_rows_without_names_are_called_by_their_number() -> None:
    ids = ["5ac90f4f6b20a34e-0", "5ac90f4f6b20a34e-1"]
    view = TableView(ids, lambda: Frame({"x": np.array([1.0, 2.0])}, named=True), named=False)
    assert [view.title(item) for item in (*ids, "gone-0")] == ["#1", "#2", "gone-0"]
    assert view.card(ids[1], {}).title == "#2"
