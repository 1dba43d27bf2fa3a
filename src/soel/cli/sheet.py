"""The sheet of questions: a CSV that an expert fills in a spreadsheet and hands back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from soel.errors import LabelError, SessionError, SoelError, naming
from soel.session import Answer, Session, TellResult
from soel.session.item_tables import readable_rows
from soel.session.labels import import_labels, is_scored, read_answer
from soel.tables.rows import read_rows, write_rows

COLUMNS = ("item", "label", "note", "because", "session")
N_SHOWN = 5


def write_sheet(session: Session, items: Sequence[str], out: Path) -> None:
    """Write one line per item: the answer first, then the data's own columns to judge it by, last what is ours."""
    _check_replaceable(session, out)
    header, rows = readable_rows(session.folder, items)
    lines = [[item, "", "", "", *row, session.config.session] for item, row in zip(items, rows, strict=True)]
    *first, last = COLUMNS
    write_rows(out, [*first, *_tell_apart(header), last], lines)


def tell_sheet(session: Session, path: Path, who: str) -> TellResult:
    """Store the answers of a filled sheet, all or none; what is wrong with one is told with the sheet's name."""
    if is_scored(path):
        return import_labels(session, path, who)
    with naming(path.name):
        return session.tell(read_sheet(session, path), who)


def read_sheet(session: Session, path: Path) -> list[Answer]:
    """The answers of a filled sheet, all of them or an error; an empty label is no answer yet."""
    rows = read_rows(path)
    missing = [name for name in ("item", "label", "session") if rows and name not in rows[0]]
    if missing:
        raise LabelError(f"{path.name} lacks the column {', '.join(missing)}; fill in the sheet that `soel ask` wrote.")
    filled = [(number, row) for number, row in enumerate(rows, start=2) if row["label"].strip()]
    _check_session(session, path, [row["session"].strip() for _, row in filled])
    answers, faults = [], []
    for number, row in filled:
        try:
            answer = read_answer(row["item"].strip(), row)
            session.check_columns(answer.item, answer.because or ())
            answers.append(answer)
        except LabelError as error:
            faults.append(f"row {number} ({row['item']!r}): {error}")
    if faults:
        more = f" And {len(faults) - N_SHOWN} more." if len(faults) > N_SHOWN else ""
        raise LabelError(f"{path.name} was refused, nothing was stored: {' '.join(faults[:N_SHOWN])}{more}")
    return answers


def _check_session(session: Session, path: Path, given: Sequence[str]) -> None:
    others = sorted({name for name in given if name != session.config.session})
    if others:
        raise SessionError(
            f"{path.name} was written for session {others[0]!r}, this is {session.config.session}; "
            "nothing was stored. Tell it to the session it belongs to."
        )


def _check_replaceable(session: Session, out: Path) -> None:
    """Never overwrite answers that nobody has told yet, nor a file that is no sheet of ours."""
    if not out.exists():
        return
    try:
        answers = read_sheet(session, out)
    except SoelError as error:
        raise SessionError(
            f"{out} exists and is not a sheet of this session that could be replaced; choose another --out."
        ) from error
    held = session.state.answers
    known = {
        (item, vote.verdict, named) for item in held for vote in held[item].votes for named in (None, vote.because)
    }
    if any((answer.item, answer.verdict, answer.because) not in known for answer in answers):
        raise SessionError(f"{out} holds answers that were not told yet; tell it first, or choose another --out.")


def _tell_apart(header: Sequence[str]) -> list[str]:
    """The data's column names, told apart from the sheet's own."""
    names: list[str] = []
    for name in header:
        while name in COLUMNS or name in names:
            name = f"data {name}"
        names.append(name)
    return names
