"""Items of one session that are the same as items of another, and what was answered there, stored here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from soel.errors import LabelError, SchemaError, SessionError
from soel.session import Session, SessionFolder, SessionState
from soel.session.create import open_session
from soel.session.items import read_items
from soel.session.label_formats import Entry, EntryKind, grow_budget, list_entries, store_entries
from soel.session.labels import read_labels
from soel.tables.frame import Frame
from soel.tables.ids import content_ids
from soel.tables.open import Table

N_SHOWN = 5


@dataclass(frozen=True)
class TakenLabels:
    """What was taken over. n_stored: answers, decisions and notes. n_known: those that said nothing new, or were older
    than what the same person said here. n_left_out: those about items that are not here. by: 'id' or 'content'.
    """

    n_stored: int
    n_known: int
    n_left_out: int
    by: str


def match_items(own: SessionFolder, other: SessionFolder) -> tuple[Mapping[str, str], str]:
    """The item of this session for each of the other one's that is here too, and by what they were matched."""
    if _ids_from(own) == _ids_from(other):
        known = set(own.ids)
        return {item: item for item in other.ids if item in known}, "id"
    if own.has_pictures or other.has_pictures:
        raise SessionError("The items of the two sessions are named in different ways and cannot be matched.")
    return match_by_content(read_items(own), own.ids, read_items(other), other.ids), "content"


def _ids_from(place: SessionFolder) -> str:
    """Where ids come from: a column that names items, their content, or the numbers of rows in certain files."""
    if place.has_pictures:
        return "pictures" if SessionFolder(place.path).media_note["id_column"] is None else "names of pictures"
    if place.wholes and place.wholes[0].id_column is None:
        return f"row numbers in {place.wholes[0].fingerprint}"
    return "names" if place.config.id_column is not None else "content"


def match_by_content(own: Table, own_ids: Sequence[str], other: Table, other_ids: Sequence[str]) -> dict[str, str]:
    """The own item for each of the other table's that has the same content. ids: in the order of the rows."""
    mine, theirs = own.frame, other.frame
    if set(mine.columns) != set(theirs.columns):
        differing = sorted(set(mine.columns) ^ set(theirs.columns))
        raise SchemaError(
            f"Rows are matched by their content, and the two tables differ in columns: "
            f"{', '.join(map(repr, differing))}. Give both an id column."
        )
    here = dict(zip(_content(mine), own_ids, strict=True))
    return {item: here[same] for same, item in zip(_content(theirs), other_ids, strict=True) if same in here}


def _content(frame: Frame) -> list[str]:
    ordered = Frame({name: frame.columns[name] for name in sorted(frame.columns)}, True)
    return [str(item) for item in content_ids(ordered)]


def store_for_twins(
    session: Session, entries: Sequence[Entry], twins: Mapping[str, str], by: str, name: str
) -> TakenLabels:
    """Store the entries about items that are here too. by: what they were matched by. name: of what they come from."""
    found = [_as(entry, twins[entry.item]) for entry in entries if entry.item in twins]
    if entries and not found:
        raise LabelError(
            f"None of the {len(entries)} entries of {name} is about an item of this session: they name "
            f"{name_some([entry.item for entry in entries])}, and here is {session.ids[0]!r}. Nothing was stored."
        )
    before = session.state
    fresh = [entry for entry in found if not _is_outdated(before, entry)]
    stored = store_entries(session, fresh)
    grow_budget(session, before)
    n_known = stored.n_repeated + len(found) - len(fresh)
    return TakenLabels(stored.n_stored, n_known, len(entries) - len(found), by)


def _as(entry: Entry, item: str) -> Entry:
    return replace(entry, item=item)


def _is_outdated(state: SessionState, entry: Entry) -> bool:
    """Whether the same person said or drew something later here."""
    if entry.kind is EntryKind.MARK:
        return bool(entry.at) and any(m.who == entry.who and m.at > entry.at for m in state.marks.get(entry.item, ()))
    answered = state.answers.get(entry.item)
    if answered is None or not entry.at:
        return False
    own = answered.decision if entry.kind is EntryKind.DECISION else answered.vote_of(entry.who)
    return entry.kind is not EntryKind.NOTE and own is not None and own.at > entry.at


def name_some(items: Sequence[str]) -> str:
    """The first few of these items, in words."""
    return ", ".join(repr(item) for item in items[:N_SHOWN]) + (" and more" if len(items) > N_SHOWN else "")


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
        if other.config.session == session.config.session:
            raise SessionError(f"{source} is the same session, or a copy of it; there is nothing to take over.")
        twins, by = match_items(session.folder, other.folder)
        return store_for_twins(session, list_entries(other.state), twins, by, source.name)
