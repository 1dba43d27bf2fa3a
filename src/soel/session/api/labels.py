"""Answers of an earlier session for a new one, and of two sessions of the same data in one: matched item by item."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from soel.errors import SessionError
from soel.session import Session
from soel.session.api.sessions import open_session
from soel.session.exchange.entries import list_entries
from soel.session.exchange.label_files import read_labels
from soel.session.exchange.twins import TakenLabels, match_items, name_some, store_for_twins


def take_labels(session: Session, source: str | Path, store: str | None = None) -> TakenLabels:
    """Take over the answers of an earlier session, by its folder, or of a file of labels, under the names they carry.

    Items are matched by id where ids are names or follow from the content. Where they are row numbers, which say
    nothing in other data, they are matched by the content of the rows. The budget grows by the items that were
    labelled so: it is for new questions. store: the address of the other session's events.
    """
    source = Path(source)
    if not (source / "config.json").is_file():
        if source.is_dir():
            raise SessionError(f"{source} is neither a session's folder nor a file of labels. Give one of them.")
        entries = read_labels(source)
        return store_for_twins(session, entries, {item: item for item in session.ids}, "id", source.name)
    with closing(open_session(source, store)) as other:
        twins, by = match_items(session.folder, other.folder)
        return store_for_twins(session, list_entries(other.state), twins, by, source.name)


def merge_session(session: Session, other: str | Path, store: str | None = None) -> TakenLabels:
    """Take in the answers of another session of the same data, person by person; the other one stays as it is.

    Where the same person said different things, the later answer holds. Answers about items that are not here are an
    error, and then nothing is stored.
    """
    with closing(open_session(Path(other), store)) as second:
        if second.config.session == session.config.session:
            raise SessionError(f"{other} is the same session, or a copy of it; there is nothing to merge.")
        twins, by = match_items(session.folder, second.folder)
        entries = list_entries(second.state)
    missing = sorted({entry.item for entry in entries if entry.item not in twins})
    if missing:
        raise SessionError(
            f"{len(missing)} labelled items of {other} are not in this session, such as {name_some(missing)}; nothing "
            "was stored. Add their data first, or take over the rest: `soel export`, then `soel init --labels`."
        )
    return store_for_twins(session, entries, twins, by, str(other))
