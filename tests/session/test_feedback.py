"""Answers to alarms: rows that lie in no file are kept, answered, taken into the pool and learnt from; none is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel.errors import UnknownItemError
from soel.session import Answer, Session, SessionOptions
from soel.session.create import create_session, open_session
from soel.session.feedback import ALARMS, Alarm, adopt_answered, find_alarms, keep_alarms, record_feedback
from soel.types import Verdict


def make_session(tmp_path: Path, id_column: str | None) -> Session:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"load": rng.normal(size=60), "shop": rng.choice(["a", "b"], 60)})
    if id_column:
        rows.insert(0, id_column, [f"r{row}" for row in range(60)])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return create_session(tmp_path / "session", tmp_path / "rows.csv", SessionOptions(id_column=id_column, budget=5))


def alarm(item: str, load: str = "9.25", **more: str) -> Alarm:
    return Alarm(item, {**more, "shop": "a", "load": load}, 3.0, "v1", "2026-01-01T00:00:00+00:00")


def say(session: Session, item: str, verdict: Verdict = Verdict.ANOMALY, who: str = "ann") -> int:
    return record_feedback(session, [(who, Answer(item, verdict))]).n_stored


def test_the_newest_alarm_of_an_item_is_found_and_an_unfinished_line_is_no_alarm(tmp_path: Path) -> None:
    session = make_session(tmp_path, "row")
    keep_alarms(session.folder, [alarm("x", "1"), alarm("y")])
    with (session.folder.path / ALARMS).open("a") as file:
        file.write('{"item": "z", "row"')
    keep_alarms(session.folder, [alarm("x", "2")])
    found = find_alarms(session.folder, {"x", "y", "z"})
    assert {item: kept.row["load"] for item, kept in found.items()} == {"x": "2", "y": "9.25"}


def test_an_answer_to_a_row_of_the_pool_is_an_ordinary_one(tmp_path: Path) -> None:
    session = make_session(tmp_path, "row")
    assert say(session, "r3") == 1
    assert session.state.labels == {"r3": 1}
    assert not session.state.waiting
    assert say(session, "r3") == 0


@pytest.mark.parametrize("id_column", ["row", None])
def test_an_answer_to_an_alarm_waits_and_then_counts_as_any_other(tmp_path: Path, id_column: str | None) -> None:
    session = make_session(tmp_path, id_column)
    if id_column:
        item, kept = "new", alarm("new", row="new")
    else:
        item, kept = content_id_of(tmp_path), alarm(content_id_of(tmp_path))
    keep_alarms(session.folder, [kept])
    assert say(session, item) == 1
    assert session.state.labels == {}
    assert set(session.state.waiting) == {item}
    again = open_session(session.folder.path)  # another process knows the same
    assert say(again, item, Verdict.NORMAL) == 1
    assert adopt_answered(session) is not None
    assert session.ids[-1] == item
    assert session.state.labels == {item: 0}
    assert not session.state.waiting
    assert adopt_answered(session) is None
    assert say(session, item) == 1
    assert session.state.labels == {item: 1}
    assert session.state.n_left == 5  # the budget is for questions


def content_id_of(folder: Path) -> str:
    from soel.tables.open import read_table

    path = folder / "one.csv"
    path.write_text("load,shop\n9.25,a\n8.5,b\n")
    return str(read_table(path).ids[0])


def test_an_id_that_nobody_knows_stores_nothing(tmp_path: Path) -> None:
    session = make_session(tmp_path, "row")
    keep_alarms(session.folder, [alarm("x", row="x")])
    with pytest.raises(UnknownItemError, match="'nobody'"):
        record_feedback(session, [("ann", Answer("x", Verdict.ANOMALY)), ("ann", Answer("nobody", Verdict.ANOMALY))])
    assert not session.state.waiting
    assert not session.state.answers


def test_an_item_that_was_removed_is_not_brought_back_by_an_answer(tmp_path: Path) -> None:
    from soel.session.growth import remove_items

    session = make_session(tmp_path, "row")
    keep_alarms(session.folder, [alarm("r3", row="r3")])
    remove_items(session, ["r3"])
    with pytest.raises(UnknownItemError):
        say(session, "r3")
