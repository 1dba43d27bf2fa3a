"""Items leave a session, and come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.errors import SessionError, UnknownItemError
from soel.session import Session
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


def test_no_more_is_removed_than_the_budget_allows(make: Make) -> None:
    session = make(budget=20)
    with pytest.raises(SessionError, match="items would be left, fewer than the budget of 20 labels"):
        remove_items(session, list(session.ids)[: len(session.ids) - 5])
    assert session.status().pool == 1
