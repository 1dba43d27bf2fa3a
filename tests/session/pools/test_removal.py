"""Items leave a session, and come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel.errors import SessionError, UnknownItemError
from soel.session import Session, SessionOptions
from soel.session.create import create_session
from soel.session.growth import add_data, remove_items
from tests.session.pools.conftest import HEADER
from tests.table_session import Make


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


def test_answers_from_before_a_removal_count_for_their_items(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(120, 3))
    rows[100:] += 6
    table = pd.DataFrame(rows, columns=list("abc"))
    table.insert(0, "name", [f"r{at}" for at in range(120)])
    table.to_csv(tmp_path / "rows.csv", index=False)
    session = create_session(tmp_path / "session", tmp_path / "rows.csv", SessionOptions(id_column="name", budget=30))
    for n_gone in (60, 0):
        asked = session.ask(8).items
        session.tell({item: "anomaly" if int(item[1:]) >= 100 else "normal" for item in asked})
        free = [item for item in session.ids[:100] if item not in session.state.labels]
        if n_gone:
            remove_items(session, free[:n_gone])
    told = session.evidence()
    assert [len(each.rows) for each in told] == [8, 8]
    for each in told:
        assert len(each.scores) == len(session.ids) == 60
        names = [session.ids[row] for row in each.rows]
        assert [int(name[1:]) >= 100 for name in names] == each.labels.astype(bool).tolist()
    assert abs(session.fit().estimate.value - 1 / 3) < 0.15
    session.close()


def test_no_more_is_removed_than_the_budget_allows(make: Make) -> None:
    session = make(budget=20)
    with pytest.raises(SessionError, match="items would be left, fewer than the budget of 20 labels"):
        remove_items(session, list(session.ids)[: len(session.ids) - 5])
    assert session.status().pool == 1
