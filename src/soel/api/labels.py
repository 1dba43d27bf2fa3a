"""Answers of an earlier session for a new one, and of two sessions of the same data in one: matched item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soel.api.sessions import open_session
from soel.api.sources import read_items
from soel.data.frame import Frame
from soel.data.row_ids import content_ids
from soel.errors import LabelError, SchemaError, SessionError
from soel.exchange.entries import Entry, EntryKind, list_entries, store_entries
from soel.exchange.label_files import read_labels
from soel.media.picture_pool import MEDIA, read_note
from soel.session import Session, SessionFolder, SessionState

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
        return _store(session, entries, {item: item for item in session.ids}, "id", source.name)
    with closing(open_session(source, store)) as other:
        twins, by = match_items(session.folder, other.folder)
        return _store(session, list_entries(other.state), twins, by, source.name)


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
            f"{len(missing)} labelled items of {other} are not in this session, such as {_shown(missing)}; nothing was "
            "stored. Add their data first, or take over the rest: soel export, then soel init --labels."
        )
    return _store(session, entries, twins, by, str(other))


def match_items(own: SessionFolder, other: SessionFolder) -> tuple[Mapping[str, str], str]:
    """The item of this session for each of the other one's that is here too, and by what they were matched."""
    if _ids_from(own) == _ids_from(other):
        known = set(own.ids)
        return {item: item for item in other.ids if item in known}, "id"
    if (own.path / MEDIA).exists() or (other.path / MEDIA).exists():
        raise SessionError("The items of the two sessions are named in different ways and cannot be matched.")
    mine, theirs = read_items(own).frame, read_items(other).frame
    if set(mine.columns) != set(theirs.columns):
        differing = sorted(set(mine.columns) ^ set(theirs.columns))
        raise SchemaError(
            f"Rows are matched by their content, and the two tables differ in columns: {', '.join(differing)}. Give "
            "both an id column."
        )
    here = dict(zip(_content(mine), own.ids, strict=True))
    return {item: here[same] for same, item in zip(_content(theirs), other.ids, strict=True) if same in here}, "content"


def _ids_from(place: SessionFolder) -> str:
    """Where ids come from: a column that names items, their content, or the numbers of rows in certain files."""
    if (place.path / MEDIA).exists():
        return "pictures" if read_note(place.path).get("id_column") is None else "names of pictures"
    if place.wholes and place.wholes[0].id_column is None:
        return f"row numbers in {place.wholes[0].fingerprint}"
    return "names" if place.config.id_column is not None else "content"


def _content(frame: Frame) -> list[str]:
    ordered = Frame({name: frame.columns[name] for name in sorted(frame.columns)}, True)
    return [str(item) for item in content_ids(ordered)]


def _store(session: Session, entries: Sequence[Entry], twins: Mapping[str, str], by: str, name: str) -> TakenLabels:
    found = [_as(entry, twins[entry.item]) for entry in entries if entry.item in twins]
    if entries and not found:
        raise LabelError(
            f"None of the {len(entries)} entries of {name} is about an item of this session: they name "
            f"{_shown([entry.item for entry in entries])}, and here is {session.ids[0]!r}. Nothing was stored."
        )
    before = session.state
    fresh = [entry for entry in found if not _is_outdated(before, entry)]
    stored = store_entries(session, fresh)
    more = session.state.n_spent - before.n_spent
    room = session.folder.n_items - session.state.budget
    if min(more, room) > 0:
        session.extend(min(more, room))
    n_known = stored.n_repeated + len(found) - len(fresh)
    return TakenLabels(stored.n_stored, n_known, len(entries) - len(found), by)


def _as(entry: Entry, item: str) -> Entry:
    return Entry(item, entry.verdict, entry.note, entry.who, entry.at, entry.kind)


def _is_outdated(state: SessionState, entry: Entry) -> bool:
    """Whether the same person said something later here."""
    answered = state.answers.get(entry.item)
    if answered is None or not entry.at:
        return False
    said = answered.decision if entry.kind is EntryKind.DECISION else answered.vote_of(entry.who)
    return entry.kind is not EntryKind.NOTE and said is not None and said.at > entry.at


def _shown(items: Sequence[str]) -> str:
    return ", ".join(repr(item) for item in items[:N_SHOWN]) + (" and more" if len(items) > N_SHOWN else "")
