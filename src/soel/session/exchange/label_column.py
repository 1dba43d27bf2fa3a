"""Labels that a table brings with it, taken in as answers of a named person."""

from __future__ import annotations

import numpy as np

from soel.checks import check_labels
from soel.errors import ConfigError
from soel.session import Answer, Session
from soel.session.exchange.entries import grow_budget
from soel.tables.session_tables import read_items
from soel.types import UNLABELLED, Label, Verdict


def take_label_column(session: Session, who: str) -> int:
    """Take the labels of the session's label column in as answers of `who`; returns how many there were.

    The budget grows by as many: it is for new questions.
    """
    if session.config.label_column is None:
        raise ConfigError(f"There is no column whose labels could be taken in as answers of {who!r}. Name one.")
    place, before = session.folder, session.state
    cells = read_items(place).excluded[session.config.label_column]
    codes = check_labels(cells, len(cells))
    labelled = np.flatnonzero(codes != UNLABELLED)
    answers = [(who, Answer(place.ids[row], Verdict(Label(codes[row]).word))) for row in labelled]
    session.take_in(answers)
    grow_budget(session, before)
    return len(answers)
