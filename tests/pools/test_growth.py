"""A session lives on: data are added, corrected and removed, and labels stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.api import sessions
from soel.api.repairs import repair
from soel.api.replays import replay_session
from soel.api.scores import score_file
from soel.data.encoder import Encoder
from soel.data.frame import Frame
from soel.data.session_streams import find_row_numbers
from soel.data.session_tables import read_items, readable_rows
from soel.data.thinning import draw_rows
from soel.errors import DamagedError, DataError, SchemaError, SessionError, UnknownItemError
from soel.pools.growth import add_data
from soel.session import Session, SessionOptions
from soel.session.growth import remove_items, take_rows
from soel.stores.checks import Finding, check_session
from tests.table_session import Make

HEADER = "name,item_id,x,y,truth\n"


def more_rows(path: Path, n_rows: int, first: int = 100, shift: float = 0.0) -> Path:
    values = np.random.default_rng(first).normal(size=(n_rows, 3)).round(3) + shift
    lines = (f"{first + row},{a},{b},{c},0\n" for row, (a, b, c) in enumerate(values.tolist()))
    path.write_text(HEADER + "".join(f"=n{line}" for line in lines))
    return path


def header_of(session: Session) -> str:
    return session.folder.source.read_text().splitlines()[0] + "\n"


def _files(folder: Path) -> tuple[Finding, ...]:
    """All findings but those on models, which the fake engine writes in a form of its own."""
    return tuple(finding for finding in check_session(folder) if not finding.name.startswith("models/"))


def label(session: Session, n: int) -> tuple[str, ...]:
    asked = session.ask(n).items
    session.tell({item: "anomaly" if row < 2 else "normal" for row, item in enumerate(asked)}, "ann")
    return asked


@pytest.fixture
def grown(make: Make, tmp_path: Path) -> Session:
    """A session with a fit, to which six rows were added."""
    session = make(budget=8)
    global HEADER
    HEADER = header_of(session)
    label(session, 4)
    session.fit()
    add_data(session, more_rows(tmp_path / "march.csv", 6))
    return session


def test_added_rows_are_items_and_labels_stay(grown: Session) -> None:
    state, status = grown.state, grown.status()
    assert status.n_items == grown.config.n_items + 6
    assert grown.ids[-6:] == tuple(f"=n{row}" for row in range(100, 106))
    assert (status.n_labels, status.pool, state.pool.n_added) == (4, 2, 6)
    assert not state.fit_is_current
    assert status.next == "fit"
    table = read_items(grown.folder)
    assert table.ids.tolist() == list(grown.ids)
    assert table.frame.n_rows == status.n_items
    assert len(readable_rows(grown.folder, ["=n100", "=n0"])[1]) == 2


def test_features_of_known_items_are_taken_as_they_are(grown: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    n_items = grown.config.n_items
    np.testing.assert_array_equal(grown.folder.pool[:n_items], np.load(grown.folder.path / "features.npy"))
    encoded = list[int]()
    real = Encoder.encode

    def count(encoder: Encoder, frame: Frame) -> Any:
        encoded.append(frame.n_rows)
        return real(encoder, frame)

    monkeypatch.setattr(Encoder, "encode", count)
    add_data(grown, more_rows(grown.folder.path.parent / "april.csv", 3, first=200))
    assert encoded == [3]


def test_the_last_fit_still_scores_and_questions_are_about_all(grown: Session, tmp_path: Path) -> None:
    summary = score_file(grown, None, tmp_path / "scores.csv")
    assert summary["n_items"] == grown.status().n_items
    far = more_rows(tmp_path / "far.csv", 2, first=300, shift=50.0)
    add_data(grown, far)
    asked = grown.ask(4).items
    assert grown.state.pools_of(grown.state.rounds[-1]) == grown.state.pools
    assert len(grown.record(grown.state.rounds[-1]).scores) == grown.status().n_items
    assert len(grown.record(grown.state.rounds[0]).scores) == grown.config.n_items, "an old round saw the old pool"
    grown.tell(dict.fromkeys(asked, "normal"), "ann")
    grown.fit()
    assert grown.state.fit_is_current
    assert len(grown.engine.loop.seen[-1]) == 2, "both rounds are evidence, each on its own pool"  # type: ignore[attr-defined]
    assert {len(each.scores) for each in grown.engine.loop.seen[-1]} == {  # type: ignore[attr-defined]
        grown.config.n_items,
        grown.status().n_items,
    }
    assert grown.why(asked[0]).item == asked[0]
    assert grown.why(grown.state.rounds[0].asked[0].item).round == 1


def test_the_warm_up_is_made_again_for_the_grown_pool(grown: Session) -> None:
    assert grown.state.warm_up is None
    grown.fit()
    assert grown.state.warm_up is not None
    assert [event.kind for event in grown.events].count("warm-up") == 2


def test_replay_proves_every_round_on_the_pool_as_it_was(grown: Session) -> None:
    asked = grown.ask(4).items
    grown.tell(dict.fromkeys(asked, "normal"), "ann")
    grown.fit()
    remove_items(grown, ["=n5"])
    grown.fit()
    steps = replay_session(grown)
    assert [step.difference for step in steps if step.difference] == []
    whats = [step.what for step in steps]
    assert whats[:3] == ["data", "data of pool 2", "data of pool 3"]
    assert whats.count("warm-up") == 3
    assert [what for what in whats if what.startswith("round")] == ["round 1", "round 2"]


def test_ids_that_are_there_are_an_error_or_replaced(grown: Session, tmp_path: Path) -> None:
    item = grown.state.rounds[0].asked[0].item
    fixed = tmp_path / "fixed.csv"
    fixed.write_text(f"{HEADER}{item},1.5,2.5,3.5,0\n=n500,0.1,0.2,0.3,0\n")
    with pytest.raises(DataError, match=r"1 of the 2 ids of fixed\.csv are in the session already, such as.*--replace"):
        add_data(grown, fixed)
    before, kept = grown.state.labels[item], grown.status().n_items
    pool = add_data(grown, fixed, replace=True)
    assert (pool.n_added, pool.n_replaced, grown.status().n_items) == (1, 1, kept + 1)
    assert grown.state.labels[item] == before
    assert readable_rows(grown.folder, [item])[1][0][:3] == [1.5, 2.5, 3.5]
    row = grown.ids.index(item)
    assert not np.array_equal(grown.folder.pool[row], grown.folder.part(2).pool[row])


def test_a_file_that_reads_differently_is_an_error_naming_the_column(grown: Session, tmp_path: Path) -> None:
    columns = HEADER.strip().split(",")
    odd = tmp_path / "odd.csv"
    odd.write_text(f"{HEADER}=n900,high,0.2,0.3,0\n")
    with pytest.raises(SchemaError, match=columns[1]):
        add_data(grown, odd)
    odd.write_text(f"{columns[0]},{columns[1]},{columns[2]}\n=n900,1,2\n")
    with pytest.raises(SchemaError, match=columns[3]):
        add_data(grown, odd)
    assert grown.status().pool == 2, "nothing was changed"
    assert len(list((grown.folder.path / "pools").iterdir())) == 1


def test_removed_items_leave_with_what_was_said_of_them(grown: Session, tmp_path: Path) -> None:
    item = grown.state.rounds[0].asked[0].item
    pool = remove_items(grown, [item])
    assert (pool.n_removed, grown.status().n_labels, grown.status().pool) == (1, 3, 3)
    assert item not in grown.ids
    with pytest.raises(UnknownItemError):
        grown.tell({item: "normal"}, "ann")
    grown.fit()
    back = tmp_path / "back.csv"
    back.write_text(f"{HEADER}{item},1.5,2.5,3.5,0\n")
    add_data(grown, back)
    assert grown.status().n_labels == 4, "an item that comes back finds its answers"
    with pytest.raises(SessionError, match="no item 'nobody'; nothing was removed"):
        remove_items(grown, ["nobody"])


def test_an_open_question_about_a_removed_item_is_asked_no_more(make: Make) -> None:
    session = make(budget=8)
    asked = session.ask(4).items
    remove_items(session, asked[:1])
    assert asked[0] not in session.state.open
    assert len(session.state.open) == 4, "one of the reserve steps in"


def test_no_more_is_removed_than_the_budget_allows(make: Make) -> None:
    session = make(budget=20)
    with pytest.raises(SessionError, match="items would be left, fewer than the budget of 20 labels"):
        remove_items(session, list(session.ids)[: len(session.ids) - 5])
    assert session.status().pool == 1


def test_two_who_change_the_pool_at_once_both_come_through(grown: Session, tmp_path: Path) -> None:
    other = sessions.open_session(grown.folder.path)
    known = grown.state
    add_data(other, more_rows(tmp_path / "april.csv", 3, first=200))
    late = take_rows(grown.folder_with(known.pools), np.ones(known.pool.n_items or 0, bool), known.pool)
    assert grown.change_pool(known, late) is None, "it did not know of the other change"
    folders = {path.name for path in (grown.folder.path / "pools").iterdir()}
    assert folders == {Path(pool.folder).name for pool in grown.state.pools[1:]}, "what counts for nothing is gone"
    remove_items(grown, ["=n200"])
    assert grown.status().n_items == other.status().n_items == grown.config.n_items + 6 + 2
    other.close()


def test_a_round_drawn_from_a_pool_that_changed_meanwhile_is_drawn_again(
    grown: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = grown._draw, list[int]()

    def draw(*given: Any) -> Any:
        drawn = real(*given)
        if not calls:
            calls.append(1)
            add_data(sessions.open_session(grown.folder.path), more_rows(tmp_path / "april.csv", 3, first=200))
        return drawn

    monkeypatch.setattr(grown, "_draw", draw)
    asked = grown.ask(2)
    assert len(asked.items) == 2
    assert grown.state.pools_of(grown.state.rounds[-1]) == grown.state.pools
    assert [step.difference for step in replay_session(grown) if step.difference] == []


def test_rows_without_ids_count_on_and_are_the_same_only_if_that_is_said(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{a},{b}\n" for a, b in np.random.default_rng(0).normal(size=(30, 2)).round(2)]
    first.write_text("x,y\n" + "".join(rows))
    second.write_text("x,y\n" + rows[0] + "7.5,8.5\n")
    session = sessions.create_session(tmp_path / "s", first, SessionOptions(budget=5))
    with pytest.raises(DataError, match=r"All of a\.csv is in the session already"):
        add_data(session, first)
    assert add_data(session, second, replace=True).n_added == 1
    assert add_data(session, tmp_path / "b.csv", replace=True).n_added == 0
    third = tmp_path / "c.csv"
    third.write_text("x,y\n" + rows[0] + rows[0] + "9.5,8.5\n")
    assert add_data(session, third).n_added == 3
    digest = session.ids[0].rpartition("-")[0]
    assert [item for item in session.ids if item.startswith(digest)] == [f"{digest}-{turn}" for turn in range(3)]
    assert read_items(session.folder).ids.tolist() == list(session.ids)
    session.close()


def _write_rows(folder: Path, parts: dict[str, range], with_ids: bool = True, add: float = 0.0) -> None:
    values = np.random.default_rng(1).normal(size=(900, 2)).round(6) + add
    for name, rows in parts.items():
        lines = [f"r{row},{values[row, 0]},{values[row, 1]}\n" for row in rows]
        lines = lines if with_ids else [line.partition(",")[2] for line in lines]
        (folder / f"{name}.csv").write_text(("id,x,y\n" if with_ids else "x,y\n") + "".join(lines))


def test_a_table_without_ids_grows_to_its_limit(tmp_path: Path) -> None:
    _write_rows(tmp_path, {"a": range(80), "b": range(80, 400)}, with_ids=False)
    session = sessions.create_session(tmp_path / "s", tmp_path / "a.csv", SessionOptions(budget=4, pool_rows=100))
    with pytest.raises(SessionError, match=r"more than its --pool-rows 100, and a fair sample .* needs an id column"):
        add_data(session, tmp_path / "b.csv")
    session.close()


def test_a_table_that_grows_beyond_its_limit_becomes_the_sample_of_all_rows(tmp_path: Path) -> None:
    parts = {"a": range(60), "b": range(60, 90), "c": range(90, 700), "d": range(700, 900), "all": range(900)}
    _write_rows(tmp_path, parts)
    options = SessionOptions(id_column="id", budget=4, pool_rows=100, seed=3)
    session = sessions.create_session(tmp_path / "s", tmp_path / "a.csv", options)
    first = session.ids[0]
    session.tell({first: "normal"}, "ann")
    assert [add_data(session, tmp_path / f"{name}.csv").n_displaced for name in "b"] == [0]
    assert session.status().n_rows is None, "every row is an item"
    change = add_data(session, tmp_path / "c.csv")
    assert (change.n_added > 0, session.status().n_rows) == (True, 700)
    add_data(session, tmp_path / "d.csv")
    at_once = sessions.create_session(tmp_path / "once", tmp_path / "all.csv", options)
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
    session = sessions.create_session(tmp_path / "s", tmp_path / "a.csv", options)
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
    assert session.folder.wholes[1].address == str(tmp_path / "corrected" / "b.csv")
    (tmp_path / "b.csv").unlink()
    session.fit()
    assert score_file(session, None, tmp_path / "scores.csv")["n_items"] == 700
    session.close()


def test_a_corrected_file_with_other_rows_is_refused(tmp_path: Path) -> None:
    parts = {"a": range(400), "fewer": range(399), "others": range(1, 401)}
    _write_rows(tmp_path, parts)
    options = SessionOptions(id_column="id", budget=4, pool_rows=120)
    session = sessions.create_session(tmp_path / "s", tmp_path / "a.csv", options)
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
    session = sessions.create_session(tmp_path / "grown", tmp_path / "a.csv", options)
    pools = [add_data(session, tmp_path / f"{name}.csv") for name in "bc"]
    at_once = sessions.create_session(tmp_path / "once", tmp_path / "all.csv", options)
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
    from tests.session.fake_engine import FakeEngine

    monkeypatch.setattr(sessions, "engine_maker", lambda place: lambda: FakeEngine(place.config))
    values = np.random.default_rng(1).normal(size=(3000, 3)).round(6)
    lines = [f"r{row},{a},{b},{c}\n" for row, (a, b, c) in enumerate(values.tolist())]
    (tmp_path / "a.csv").write_text("id,x,y,z\n" + "".join(lines[:200]))
    (tmp_path / "b.csv").write_text("id,x,y,z\n" + "".join(lines[200:]))
    session = sessions.create_session(
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
    assert [step.difference for step in replay_session(session) if step.difference] == []
    session.close()


def test_an_answer_that_comes_in_while_a_sample_grows_makes_it_grow_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).normal(size=(900, 2)).round(6)
    for name, rows in {"a": range(150), "b": range(150, 900)}.items():
        text = "".join(f"r{row},{values[row, 0]},{values[row, 1]}\n" for row in rows)
        (tmp_path / f"{name}.csv").write_text("id,x,y\n" + text)
    session = sessions.create_session(
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


def test_check_looks_at_every_pool_and_repairs_what_follows_from_its_tables(grown: Session) -> None:
    folder = grown.folder.path
    found = {finding.name: finding.is_whole for finding in _files(folder)}
    assert all(found.values())
    assert {f"pools/0002/{name}" for name in ("ids.json", "features.npy", "rows.npy", "source.csv")} <= set(found)
    (folder / "pools/0002/features.npy").write_bytes(b"no array")
    with pytest.raises(DamagedError, match=r"features\.npy is not what it was"):
        _ = sessions.open_session(folder).folder.pool
    damaged = _files(folder)
    assert [finding.name for finding in damaged if finding.is_whole is False] == ["pools/0002/features.npy"]
    assert repair(folder, damaged) == ["pools/0002/features.npy"]
    assert all(finding.is_whole for finding in _files(folder))


def test_a_crash_before_the_event_leaves_the_session_as_it_was(
    grown: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(events: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grown._store, "append", crash)
    with pytest.raises(KeyboardInterrupt):
        add_data(grown, more_rows(tmp_path / "april.csv", 3, first=200))
    again = sessions.open_session(grown.folder.path)
    assert (again.status().pool, again.status().n_items) == (2, grown.config.n_items + 6)
    add_data(again, tmp_path / "april.csv")
    assert again.state.pool.folder == "pools/0003-2", "what was left behind is never overwritten"
    assert all(finding.is_whole for finding in _files(again.folder.path))
    again.close()


def test_the_events_say_what_changed(grown: Session) -> None:
    event = next(event for event in grown.events if event.kind == "pool")
    assert event.who == "owner"
    assert event.body["data"] == "march.csv"
    assert json.loads(json.dumps(event.body["digests"])).keys() >= {"ids.json", "features.npy", "source.csv"}
