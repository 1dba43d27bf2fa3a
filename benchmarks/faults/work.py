"""What an owner and an annotator do with a session, step by step; begun again, it goes on where it was.

Each step that changes something is announced before and acknowledged after, so that a judge knows what must be there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from soel.files import remove_leftovers
from soel.session import Session, SessionOptions, create, score_file
from soel.session.growth import add_data, remove_items
from soel.session.labels import export_labels
from soel.types import Verdict

N_ITEMS, N_MORE, N_ASKED, WHO = 24, 4, 3, "ann"
GUIDELINES = "Look twice."
Note = Callable[[str, str, str], None]  # 'try' or 'ok', what, and of which item


def write_table(path: Path) -> None:
    """A small table with two outliers."""
    values = np.random.default_rng(0).normal(size=(N_ITEMS, 3)).round(3)
    values[:2] += 9
    rows = (f"i{n},{a},{b},{c}\n" for n, (a, b, c) in enumerate(values.tolist()))
    path.write_text("id,a,b,c\n" + "".join(rows))


def write_more(path: Path) -> Path:
    """Further rows of the same kind."""
    values = np.random.default_rng(1).normal(size=(N_MORE, 3)).round(3)
    rows = (f"i{N_ITEMS + n},{a},{b},{c}\n" for n, (a, b, c) in enumerate(values.tolist()))
    path.write_text("id,a,b,c\n" + "".join(rows))
    return path


def verdict_of(item: str) -> Verdict:
    """What the annotator thinks of an item."""
    return Verdict.ANOMALY if item in ("i0", "i1") else Verdict.NORMAL


def work(folder: Path, table: Path, note: Note) -> None:
    """Do whatever is not done yet."""
    if not (folder / "config.json").exists():
        note("try", "create", "")
        remove_leftovers(folder)
        create.create_session(folder, table, SessionOptions(id_column="id", budget=2 * N_ASKED)).close()
        note("ok", "create", "")
    with closing(create.open_session(folder)) as session:
        _label(session, 1, note)
        if session.guidelines != GUIDELINES:
            note("try", "guidelines", "")
            session.write_guidelines(GUIDELINES)
            note("ok", "guidelines", "")
        _change_mind(session, note)
        _label(session, 1, note)
        if not session.state.fits:
            note("try", "fit", "")
            session.fit()
            note("ok", "fit", "")
        _grow(session, table, note)
        _label(session, 2, note)
        for name in ("labels.csv", "labels.json"):
            note("try", "export", name)
            export_labels(session, Path(name).suffix[1:], folder / name)
            note("ok", "export", name)
        note("try", "score", "")
        score_file.score_file(session, None, folder / "scores.csv")
        note("ok", "score", "")


def _grow(session: Session, table: Path, note: Note) -> None:
    """Add rows, and remove one that is of no use."""
    more = write_more(table.with_name("more.csv"))
    if not any(pool.n_added for pool in session.state.pools):
        note("try", "add", "")
        add_data(session, more)
        note("ok", "add", "")
    if not any(pool.n_removed for pool in session.state.pools):
        note("try", "remove", "")
        remove_items(session, [f"i{N_ITEMS}"])
        note("ok", "remove", "")


def _label(session: Session, number: int, note: Note) -> None:
    """Ask, and answer every question of the first `number` rounds."""
    if len(session.state.rounds) < number:
        note("try", "round", str(number))
        session.ask(N_ASKED)
        note("ok", "round", str(number))
    for drawn in session.state.rounds[:number]:
        for item in (draw.item for draw in drawn.asked):
            wanted = verdict_of(item)
            vote = session.state.vote_of(item, WHO)
            if vote is None or vote.verdict != wanted:
                note("try", wanted.value, item)
                session.tell({item: wanted}, WHO)
                note("ok", wanted.value, item)


def _change_mind(session: Session, note: Note) -> None:
    """Say the opposite of one item once, take it back, and note that this was done."""
    item = session.state.rounds[0].asked[0].item
    if any(each.text == "sure" for each in session.state.notes_of(item)):
        return
    other = Verdict.NORMAL if verdict_of(item) is Verdict.ANOMALY else Verdict.ANOMALY
    note("try", other.value, item)
    session.tell({item: other}, WHO)
    note("ok", other.value, item)
    note("try", "undo", item)
    session.undo(WHO)
    note("ok", "undo", item)
    note("try", "note", item)
    session.note(item, "sure", WHO)
    note("ok", "note", item)
