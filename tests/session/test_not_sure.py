"""Asking about what the last fit is not sure of."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess.conformal import UnsureBand
from soel.errors import SessionError
from soel.session import Session
from tests.session.again import differing
from tests.session.test_spot_check import learn


def unsure_items(session: Session) -> set[str]:
    _, model = session.fitted()
    scores = session.pool_scores(model)
    held = UnsureBand.of(scores, model.estimate.low, model.estimate.high).holds(scores)
    return {item for item, is_held in zip(session.ids, held, strict=True) if is_held}


def test_before_a_fit_nothing_is_surer(session: Session) -> None:
    with pytest.raises(SessionError, match="known after a fit"):
        session.ask(3, not_sure=True)


def test_the_round_holds_only_what_is_not_sure(session: Session) -> None:
    learn(session)
    wanted = unsure_items(session) - set(session.state.labels)
    asked = session.ask(3, not_sure=True)
    assert len(wanted) >= 3
    assert set(asked.items) <= wanted
    assert session.state.rounds[-1].options["not_sure"] is True
    assert not session.state.rounds[0].options.get("not_sure")


def test_all_that_is_not_sure_comes_first_where_it_is_too_little(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(session)
    unlabelled = [item for item in session.ids if item not in session.state.labels]
    few = set(unlabelled[-2:])
    monkeypatch.setattr(UnsureBand, "holds", lambda band, scores: np.isin(session.ids, list(few)))
    asked = session.ask(5, not_sure=True).items
    assert set(asked[:2]) == few
    assert len(set(asked)) == 5
    assert set(asked) <= set(unlabelled)
    session.tell({asked[0]: "skip"})
    assert len(session.state.open) == 5, "an item of the reserve steps in"


@pytest.mark.parametrize("n", [3, 12])
def test_a_round_of_it_can_be_repeated(session: Session, n: int) -> None:
    learn(session)
    session.ask(n, not_sure=True)
    assert differing(session) == []
