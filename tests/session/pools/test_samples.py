"""Tables that grow beyond the pool: samples of all rows, and corrected files for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import SessionError
from soel.session import SessionOptions, create
from soel.session.growth import add_data, remove_items
from soel.session.item_tables import read_items
from soel.session.pool import find_row_numbers
from soel.session.score_file import score_file
from soel.tables.batches import draw_rows
from tests.session.again import differing
from tests.session.pools.conftest import label


def _write_rows(folder: Path, parts: dict[str, range], with_ids: bool = True, add: float = 0.0) -> None:
    values = np.random.default_rng(1).normal(size=(900, 2)).round(6) + add
    for name, rows in parts.items():
        lines = [f"r{row},{values[row, 0]},{values[row, 1]}\n" for row in rows]
        lines = lines if with_ids else [line.partition(",")[2] for line in lines]
        (folder / f"{name}.csv").write_text(("id,x,y\n" if with_ids else "x,y\n") + "".join(lines))


def test_a_table_without_ids_grows_to_its_limit(tmp_path: Path) -> None:
    _write_rows(tmp_path, {"a": range(80), "b": range(80, 400)}, with_ids=False)
    session = create.create_session(tmp_path / "s", tmp_path / "a.csv", SessionOptions(budget=4, pool_rows=100))
    with pytest.raises(SessionError, match=r"more than its pool_rows=100, and a fair sample .* needs an id column"):
        add_data(session, tmp_path / "b.csv")
    session.close()


def test_a_table_that_grows_beyond_its_limit_becomes_the_sample_of_all_rows(tmp_path: Path) -> None:
    parts = {"a": range(60), "b": range(60, 90), "c": range(90, 700), "d": range(700, 900), "all": range(900)}
    _write_rows(tmp_path, parts)
    options = SessionOptions(id_column="id", budget=4, pool_rows=100, seed=3)
    session = create.create_session(tmp_path / "s", tmp_path / "a.csv", options)
    first = session.ids[0]
    session.tell({first: "normal"}, "ann")
    assert [add_data(session, tmp_path / f"{name}.csv").n_displaced for name in "b"] == [0]
    assert session.status().n_rows is None, "every row is an item"
    change = add_data(session, tmp_path / "c.csv")
    assert (change.n_added > 0, session.status().n_rows) == (True, 700)
    add_data(session, tmp_path / "d.csv")
    at_once = create.create_session(tmp_path / "once", tmp_path / "all.csv", options)
    assert set(session.ids) - {first} == set(at_once.ids) - {first}
    assert first in session.ids, "what was answered stays"
    drawn = read_items(session.folder)
    again = read_items(at_once.folder)
    known = dict(zip(again.ids.tolist(), again.frame.columns["x"].tolist(), strict=True))
    for item, value in zip(drawn.ids.tolist(), drawn.frame.columns["x"].tolist(), strict=True):
        assert known.get(item, value) == value
    remove_items(session, [session.ids[-1]])
    assert len(find_row_numbers(session.folder)) == len(session.ids)
    session.fit()
    summary = score_file(session, None, tmp_path / "scores.csv")
    assert summary["n_items"] == 900, "all rows of all data are scored"
    for each in (session, at_once):
        each.close()


@pytest.mark.parametrize("with_ids", [True, False])
def test_a_corrected_file_replaces_its_rows_in_a_sample(tmp_path: Path, with_ids: bool) -> None:
    _write_rows(tmp_path, {"a": range(400), "b": range(400, 700)}, with_ids)
    options = SessionOptions(id_column="id" if with_ids else None, budget=4, pool_rows=120, seed=3)
    session = create.create_session(tmp_path / "s", tmp_path / "a.csv", options)
    add_data(session, tmp_path / "b.csv")
    session.tell({session.ids[0]: "normal"}, "ann")
    ids, before = session.ids, read_items(session.folder).frame.columns["x"].copy()
    (tmp_path / "corrected").mkdir()
    _write_rows(tmp_path / "corrected", {"b": range(400, 700)}, with_ids, add=100.0)
    change = add_data(session, tmp_path / "corrected" / "b.csv", replace=True)
    assert session.ids == ids
    assert session.status().n_labels == 1
    after = read_items(session.folder).frame.columns["x"]
    late = find_row_numbers(session.folder) >= 400
    np.testing.assert_allclose(after, before + 100 * late)
    assert change.n_replaced == late.sum() > 0
    assert session.folder.n_rows == 700
    assert session.folder.all_data[1].address == str(tmp_path / "corrected" / "b.csv")
    (tmp_path / "b.csv").unlink()
    session.fit()
    assert score_file(session, None, tmp_path / "scores.csv")["n_items"] == 700
    session.close()


def test_a_corrected_file_with_other_rows_is_refused(tmp_path: Path) -> None:
    parts = {"a": range(400), "fewer": range(399), "others": range(1, 401)}
    _write_rows(tmp_path, parts)
    options = SessionOptions(id_column="id", budget=4, pool_rows=120)
    session = create.create_session(tmp_path / "s", tmp_path / "a.csv", options)
    for name in ("fewer", "others"):
        with pytest.raises(
            SessionError, match=f"{name}.csv has .* corrects none of the session's data .a.csv with 400"
        ):
            add_data(session, tmp_path / f"{name}.csv", replace=True)
    session.close()


@pytest.mark.parametrize("with_ids", [True, False])
def test_a_grown_sample_is_the_one_that_all_rows_would_have_given(tmp_path: Path, with_ids: bool) -> None:
    values = np.random.default_rng(1).normal(size=(900, 2)).round(6)
    lines = [f"r{row},{a},{b}\n" if with_ids else f"{a},{b}\n" for row, (a, b) in enumerate(values.tolist())]
    head = "id,x,y\n" if with_ids else "x,y\n"
    for name, part in {"a": lines[:400], "b": lines[400:700], "c": lines[700:], "all": lines}.items():
        (tmp_path / f"{name}.csv").write_text(head + "".join(part))
    options = SessionOptions(id_column="id" if with_ids else None, budget=4, pool_rows=120, seed=3)
    session = create.create_session(tmp_path / "grown", tmp_path / "a.csv", options)
    pools = [add_data(session, tmp_path / f"{name}.csv") for name in "bc"]
    at_once = create.create_session(tmp_path / "once", tmp_path / "all.csv", options)
    assert set(session.ids) == set(at_once.ids)
    assert set(session.ids) == {f"r{row}" if with_ids else str(row) for row in draw_rows(900, 120, 3)}
    assert all(pool.n_displaced == pool.n_added > 0 for pool in pools)
    assert session.status().n_rows == 900
    places = {item: row for row, item in enumerate(at_once.ids)}
    raw = {s: read_items(s.folder).frame.columns["x"] for s in (session, at_once)}
    for row, item in enumerate(session.ids):
        assert raw[session][row] == raw[at_once][places[item]]
    for each in (session, at_once):
        each.close()


def test_items_that_were_answered_or_are_asked_stay_in_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.session.fake_learner import use_fake_learner

    use_fake_learner(monkeypatch)
    values = np.random.default_rng(1).normal(size=(3000, 3)).round(6)
    lines = [f"r{row},{a},{b},{c}\n" for row, (a, b, c) in enumerate(values.tolist())]
    (tmp_path / "a.csv").write_text("id,x,y,z\n" + "".join(lines[:200]))
    (tmp_path / "b.csv").write_text("id,x,y,z\n" + "".join(lines[200:]))
    session = create.create_session(
        tmp_path / "s", tmp_path / "a.csv", SessionOptions(id_column="id", budget=8, pool_rows=100)
    )
    told = label(session, 4)
    asked = session.ask(4).items
    pool = add_data(session, tmp_path / "b.csv")
    assert {*told, *asked} <= set(session.ids)
    assert pool.n_displaced > 80
    assert session.status().n_labels == 4
    label(session, 4)
    session.fit()
    summary = score_file(session, None, tmp_path / "scores.csv")
    assert summary["n_items"] == 3000, "all rows of all data are scored"
    remove_items(session, [asked[0]])
    assert session.folder.n_rows == 3000
    assert differing(session) == []
    session.close()


def test_an_answer_that_comes_in_while_a_sample_grows_makes_it_grow_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).normal(size=(900, 2)).round(6)
    for name, rows in {"a": range(150), "b": range(150, 900)}.items():
        text = "".join(f"r{row},{values[row, 0]},{values[row, 1]}\n" for row in rows)
        (tmp_path / f"{name}.csv").write_text("id,x,y\n" + text)
    session = create.create_session(
        tmp_path / "s", tmp_path / "a.csv", SessionOptions(id_column="id", budget=4, pool_rows=100)
    )
    gives_way = next(item for item in session.ids if int(item[1:]) not in draw_rows(900, 100, 0))
    real, tries = session.change_pool, list[int]()

    def change(*given: Any) -> Any:
        if not tries:
            session.tell({gives_way: "anomaly"}, "ann")
        tries.append(1)
        return real(*given)

    monkeypatch.setattr(session, "change_pool", change)
    add_data(session, tmp_path / "b.csv")
    assert len(tries) == 2
    assert gives_way in session.ids
    session.close()
