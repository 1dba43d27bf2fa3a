"""Answers to alarms: rows that lie in no file are kept, answered, taken into the pool and learnt from; none is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel.errors import UnknownItemError
from soel.session import Answer, Session, SessionOptions
from soel.session.alarms import FOLDER, find_kept, keep_served, open_rows
from soel.session.create import create_session, open_session
from soel.session.feedback import adopt_answered, record_feedback
from soel.session.item_tables import read_encoder
from soel.tables.frame import read_frame
from soel.types import Verdict


def make_session(tmp_path: Path, id_column: str | None) -> Session:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"load": rng.normal(size=60), "shop": rng.choice(["a", "b"], 60)})
    if id_column:
        rows.insert(0, id_column, [f"r{row}" for row in range(60)])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return create_session(tmp_path / "session", tmp_path / "rows.csv", SessionOptions(id_column=id_column, budget=5))


def keep(session: Session, item: str, load: str = "9.25", **more: str) -> None:
    """Keep an alarm as the endpoint does."""
    cells = {**more, "shop": "a", "load": load}
    x = read_encoder(session.folder).encode(read_frame(pd.DataFrame({"load": [float(load)], "shop": ["a"]})))
    figures = {"score": 3.0, "probability": 0.5, "p_value": 0.01, "alarm": True}
    flags = dict.fromkeys(("drawn", "sampled", "outside"), False)
    said = {"input": "2026-01-01 00:00:00", "row": 1, "name": item, "group": "", "why": "", "model": "v1"}
    row = {"alarm_id": item, **said, **figures, **flags, "cells": json.dumps(cells), "features": x[0].tolist()}
    keep_served(session.folder, [row])


def kept_load(session: Session, *items: str) -> dict[str, str]:
    found = find_kept(session.folder, session.state, items, ["cells"])
    return {item: json.loads(row["cells"])["load"] for item, row in found.items()}


def say(session: Session, item: str, verdict: Verdict = Verdict.ANOMALY, who: str = "ann") -> int:
    return record_feedback(session, [(who, Answer(item, verdict))]).n_stored


def test_the_newest_alarm_of_an_item_is_found_and_an_unfinished_line_is_no_alarm(tmp_path: Path) -> None:
    session = make_session(tmp_path, "row")
    keep(session, "x", "1")
    keep(session, "y")
    (path,) = (session.folder.path / FOLDER).glob("served-*.jsonl")
    with path.open("a") as file:
        file.write('{"alarm_id": "z", "row"')  # of a process that was killed
    assert kept_load(session, "x", "y", "z") == {"x": "1", "y": "9.25"}
    keep(session, "x", "2")
    assert kept_load(session, "x", "y", "z") == {"x": "2", "y": "9.25"}
    assert [row["alarm_id"] for row in open_rows(session.folder, session.state, ())] == ["y", "x"]


def test_an_answer_to_a_row_of_the_pool_is_an_ordinary_one(tmp_path: Path) -> None:
    session = make_session(tmp_path, "row")
    assert say(session, "r3") == 1
    assert session.state.labels == {"r3": 1}
    assert say(session, "r3") == 0


@pytest.mark.parametrize("id_column", ["row", None])
def test_an_answer_to_an_alarm_waits_and_then_counts_as_any_other(tmp_path: Path, id_column: str | None) -> None:
    session = make_session(tmp_path, id_column)
    item = "new" if id_column else content_id_of(tmp_path)
    keep(session, item, **({id_column: item} if id_column else {}))
    assert say(session, item) == 1
    assert session.state.labels == {item: 1}
    assert item not in session.ids
    assert open_rows(session.folder, session.state, ()) == []
    again = open_session(session.folder.path)  # another process knows the same
    assert say(again, item, Verdict.NORMAL) == 1
    assert adopt_answered(session) is not None
    assert session.ids[-1] == item
    assert session.state.labels == {item: 0}
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
    keep(session, "x", row="x")
    with pytest.raises(UnknownItemError, match="'nobody'"):
        record_feedback(session, [("ann", Answer("x", Verdict.ANOMALY)), ("ann", Answer("nobody", Verdict.ANOMALY))])
    assert not session.state.answers


def test_an_item_that_was_removed_is_not_brought_back_by_an_answer(tmp_path: Path) -> None:
    from soel.session.growth import remove_items

    session = make_session(tmp_path, "row")
    keep(session, "r3", row="r3")
    remove_items(session, ["r3"])
    with pytest.raises(UnknownItemError):
        say(session, "r3")
