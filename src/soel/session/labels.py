"""Labels in and out of a session: files of its own and of other tools, a column of the data, another session."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from soel.checks import check_labels, clean_name
from soel.errors import ConfigError, DataError, LabelError, SchemaError, SessionError, naming
from soel.files import parse_json, write_whole
from soel.records import body_of
from soel.session import Answer, Event, Session, SessionFolder, SessionState, TellResult, read_verdict
from soel.session.create import open_session
from soel.session.events import Answered, decision_on, join_names, read_names, verdict_of
from soel.session.item_tables import read_items
from soel.session.label_formats import as_coco, as_tasks, read_coco, read_tasks
from soel.session.marks import read_mark
from soel.tables.column import cell_text
from soel.tables.frame import Frame
from soel.tables.ids import content_ids
from soel.tables.open import Table, open_arrow
from soel.tables.read_options import UPLOADED
from soel.tables.rows import read_rows, write_rows, write_table
from soel.text import name_some
from soel.types import UNLABELLED, Label, Verdict

FORMATS = {
    "csv": "labels.csv",
    "json": "labels.json",
    "xlsx": "labels.xlsx",
    "parquet": "labels.parquet",
    "label-studio": "label-studio.json",
    "coco": "coco.json",
}
COLUMNS = ("item_id", "label", "note", "who", "at", "kind")
KIND_WORDS = {"decide": "decision", "note": "note", "mark": "mark"}  # of events; all others are answers
OURS, VERSION = "soel-labels", 1
SCORED = {"rank", "score", "alarm", "label", "who"}  # columns of a file that `score` wrote


def export_labels(
    session: Session,
    form: str | None = None,
    out: Path | None = None,
    names: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Path, int]:
    """Write everything that stands; returns the file and the number of entries.

    form: as the file's suffix says where it is None; CSV without one. names: columns that say what each item of the
    session is called, in row order; a file of labels has them for people, and whoever reads it in goes by the ids.
    """
    form = form or _form_of(out)
    if form not in FORMATS:
        raise ConfigError(f"{form!r} is not a format for labels. Use one of: {', '.join(FORMATS)}.")
    path = Path(out) if out is not None else session.folder.path / FORMATS[form]
    events = session.state.standing
    called = _names_by_item(session.ids, names or {}, {str(event.item) for event in events})
    if form in ("csv", "xlsx", "parquet"):
        if form != "csv" and path.suffix.lower() != f".{form}":
            raise ConfigError(f"Labels as {form} need a file called so, got {path.name!r}; call it {path.stem}.{form}.")
        rows = [_as_row(event) | called.get(str(event.item), {}) for event in events]
        beside = {"mark": "", "because": ""}  # what few entries have
        columns = list(dict.fromkeys(name for row in rows for name in row)) or list(COLUMNS)
        write = write_rows if form == "csv" else partial(write_table, what="labels")
        write(path, columns, [[row.get(name, beside.get(name)) for name in columns] for row in rows])
    elif form == "json":
        labels = [called.get(str(event.item), {}) | _as_entry(event) for event in events]
        _write_json(path, {"format": OURS, "version": VERSION, "session": session.config.session, "labels": labels})
    elif form == "coco":
        files = {item: _file_name(item, row, names or {}) for row, item in enumerate(session.ids)}
        _write_json(path, as_coco(events, files))
    else:
        _write_json(path, as_tasks(events))
    return path, len(events)


def _file_name(item: str, row: int, names: Mapping[str, Sequence[Any]]) -> str:
    """The path of a picture below the data's folder, or clip and second of a frame; the id where neither is known."""
    folder, file, name, clip, second = (
        names[key][row] if key in names else None for key in ("folder", "file", "name", "clip", "second")
    )
    if clip:
        return f"{clip} at {second:g} s"
    return "/".join(part for part in (folder, file) if part) or name or item


def _form_of(out: Path | None) -> str:
    """The form that a file's name asks for, else CSV; .json is ours, whatever other programs call so."""
    asked = "" if out is None else Path(out).suffix.lower().removeprefix(".")
    return asked if asked in FORMATS else "csv"


def _names_by_item(
    ids: Sequence[str], names: Mapping[str, Sequence[Any]], wanted: Collection[str]
) -> dict[str, dict[str, Any]]:
    """What these items are called, without the columns that a file of labels has anyway."""
    own = [name for name in names if name not in (*COLUMNS, "mark", "because", "id", "item")]
    return {item: {name: names[name][row] for name in own} for row, item in enumerate(ids) if item in wanted}


def _as_entry(event: Event) -> dict[str, Any]:
    """An event as our JSON says it."""
    entry = {
        "item": event.item,
        "label": str(verdict_of(event) or ""),
        "note": event.body.get("note", ""),
        "who": event.who,
        "at": event.at,
        "kind": KIND_WORDS.get(event.kind, "answer"),
    }
    beside = {"mark": event.body} if event.kind == "mark" else {}
    return entry | beside | ({"because": event.body["because"]} if event.body.get("because") else {})


def _as_row(event: Event) -> dict[str, Any]:
    """The same as cells of a table."""
    entry = _as_entry(event)
    row = {"item_id": entry.pop("item")} | entry
    if "because" in row:
        row["because"] = join_names(row["because"])
    return row | {"mark": json.dumps(event.body)} if event.kind == "mark" else row


def _write_json(path: Path, content: Any) -> None:
    write_whole(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def import_labels(session: Session, path: Path, who: str | None = None) -> TellResult:
    """Store the labels of a file of any of the formats, all or none. who: in place of the names in it.

    Labels of items that were not asked about leave the budget as it is. Of a file that `score` wrote, rows that are not
    in the pool are left out and named.
    """
    path, before = Path(path), session.state
    with naming(path.name):
        rows = _read_rows(path)
        if rows and "alarm_id" in rows[0]:
            return _store_watched(session, rows, who)
        if rows and rows[0].keys() >= SCORED:
            told = _store_scored(session, rows, who)
        else:
            told = session.take_in(_signed(read_labels(path), who))
        grow_budget(session, before)
    return told


def is_scored(path: Path) -> bool:
    """Whether `score` or `watch` wrote a file."""
    rows = _read_rows(path)
    return rows is not None and len(rows) > 0 and (rows[0].keys() >= SCORED or "alarm_id" in rows[0])


def _store_watched(session: Session, rows: Sequence[Mapping[str, str]], who: str | None) -> TellResult:
    """The labels of rows that were watched; those without one wait on."""
    from soel.session.feedback import record_feedback

    filled = [row for row in rows if row.get("label", "").strip()]
    answers = [read_answer(row["alarm_id"], row) for row in filled]
    names = [who or row.get("who", "").strip() or "expert" for row in filled]
    return record_feedback(session, list(zip(names, answers, strict=True)))


def _signed(events: Sequence[Event], who: str | None) -> list[Event]:
    """Events under one name, or under the names they carry."""
    return [replace(event, who=clean_name(who or event.who or "expert")) for event in events]


def _store_scored(session: Session, rows: Sequence[Mapping[str, str]], who: str | None) -> TellResult:
    """The labels of rows that differ from what holds by now; those of other rows are left out and named."""
    column = next((name for name in (session.config.id_column, "id") if name and name in rows[0]), None)
    if column is None:
        raise LabelError(f"The rows lack the column {session.config.id_column or 'id'!r}; nothing was stored.")
    known, held = frozenset(session.ids), session.state.answers
    labelled = [(row[column].strip(), row) for row in rows if row["label"].strip()]
    here = [(item, row) for item, row in labelled if item in known]
    fresh = [(item, row) for item, row in here if _is_new(held.get(item), row)]
    events = [read_answer(item, row).event(row["who"].strip()) for item, row in fresh]
    told, unknown = session.take_in(_signed(events, who)), tuple(item for item, _ in labelled if item not in known)
    return replace(told, n_repeated=told.n_repeated + len(here) - len(fresh), unknown=unknown)


def _is_new(held: Answered | None, row: Mapping[str, str]) -> bool:
    """Whether a row of scores says something else of its item than what holds."""
    named = read_names(row.get("because") or "")
    return held is None or held.verdict != row["label"].strip() or bool(named and named != held.because)


def read_answer(item: str, row: Mapping[str, Any]) -> Answer:
    """The answer that a row of a table says: its label, its note, and the columns that it names."""
    named, note = read_names(row.get("because") or ""), str(row.get("note") or "").strip()
    return Answer(item, read_verdict(str(row["label"])), note or None, because=named or None)


def read_labels(path: Path) -> list[Event]:
    """What a file says; its form is told by the suffix and the content."""
    rows = _read_rows(path)
    if rows is not None:
        return _from_rows(path, rows)
    content = _read_json(path)
    if isinstance(content, list):
        return read_tasks(content)
    if isinstance(content, dict) and {"images", "annotations"} <= content.keys():
        return read_coco(content)
    if not isinstance(content, dict) or content.get("format") != OURS or content.get("version") != VERSION:
        raise LabelError(
            f"{path.name} holds neither labels that soel exported (version {VERSION}), nor tasks of Label Studio, nor "
            "annotations of COCO."
        )
    try:
        return [_from_entry(entry) for entry in content["labels"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise LabelError(f"{path.name} has an entry that is no label ({error}); nothing was stored.") from error


def _read_rows(path: Path) -> list[dict[str, str]] | None:
    """The rows of a table as text; None of a file that is none."""
    if path.suffix.lower() in (".xlsx", ".parquet"):
        rows: Sequence[Any] = open_arrow(path, UPLOADED)[0].to_pylist()
    elif path.suffix.lower() == ".json":
        content = _read_json(path)
        rows = content if isinstance(content, list) else []
        if not (rows and isinstance(rows[0], dict) and rows[0].keys() >= SCORED):
            return None
    else:
        return read_rows(path)
    return [{name: "" if cell is None else cell_text(cell) for name, cell in row.items()} for row in rows]


def _read_json(path: Path) -> Any:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Check the path.") from error
    except ValueError as error:
        raise LabelError(f"{path.name} is not JSON ({error}); nothing was stored.") from error


def _from_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> list[Event]:
    item = "item" if rows and "item_id" not in rows[0] and "item" in rows[0] else "item_id"  # a sheet has the former
    missing = [name for name in (item, "label") if rows and name not in rows[0]]
    if missing:
        raise LabelError(f"{path.name} lacks the column {', '.join(missing)}; nothing was stored.")
    if rows and "session" in rows[0]:  # a sheet: its other columns are those of the data, whatever they are called
        rows = [{name: row[name] for name in (item, "label", "note", "because") if name in row} for row in rows]
    filled = [row for row in rows if row["label"].strip() or _kind_of(row) in ("note", "mark")]
    return [_from_entry({**row, "item": row[item]}) for row in filled]


def _kind_of(entry: Mapping[str, Any]) -> str:
    return str(entry.get("kind") or "answer").strip().lower()


def _from_entry(entry: Mapping[str, Any]) -> Event:
    """The event that an entry of our own JSON, or a row of a table, says."""
    item, label, kind = str(entry["item"]), str(entry["label"]).strip(), _kind_of(entry)
    note, who, at = (str(entry.get(name) or "") for name in ("note", "who", "at"))
    who = who.strip()
    if kind == "mark":
        given = entry.get("mark")
        try:
            body = parse_json(given) if isinstance(given, str) else given
        except ValueError as error:
            raise LabelError(f"A mark cannot be read ({error}); nothing was stored.") from error
        mark = read_mark(who, body)
        return Event("mark", who, item, body_of(mark), at=at)
    if kind == "note":
        return Event("note", who, item, {"note": note}, at=at)
    if kind == "decision":
        return decision_on(item, read_verdict(label), who, at)
    if kind != "answer":
        raise LabelError(f"{kind!r} is not a kind of entry. Use answer, decision, note or mark.")
    return read_answer(item, entry).event(who, at)


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
    session.tell([Answer(place.ids[row], Verdict(Label(codes[row]).word)) for row in labelled], who)
    grow_budget(session, before)
    return len(labelled)


def grow_budget(session: Session, before: SessionState) -> None:
    """Let the budget grow by what was labelled since without having been asked: it is for questions."""
    now, asked = session.state, {*before.open, *(item for item, held in before.answers.items() if held.is_settled)}
    n_new = sum(held.is_settled and item not in asked for item, held in now.answers.items())
    more = min(n_new, session.folder.n_items - now.budget)
    if more > 0:
        session.extend(more)


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
        return _take_matching(session, read_labels(source), {item: item for item in session.ids}, "id", source.name)
    with closing(open_session(source, store)) as other:
        if other.config.session == session.config.session:
            raise SessionError(f"{source} is the same session, or a copy of it; there is nothing to take over.")
        matching, by = _match_items(session.folder, other.folder)
        return _take_matching(session, other.state.standing, matching, by, source.name)


def _take_matching(
    session: Session, events: Sequence[Event], matching: Mapping[str, str], by: str, name: str
) -> TakenLabels:
    """Store the events about items that are here too. by: what they were matched by. name: of what they come from."""
    found = [replace(event, item=matching[str(event.item)]) for event in events if event.item in matching]
    if events and not found:
        raise LabelError(
            f"None of the {len(events)} entries of {name} is about an item of this session: they name "
            f"{name_some([str(event.item) for event in events])}, and here is {session.ids[0]!r}. Nothing was stored."
        )
    before = session.state
    fresh = [event for event in found if not _is_outdated(before, event)]
    stored = session.take_in(_signed(fresh, None))
    grow_budget(session, before)
    n_known = stored.n_repeated + len(found) - len(fresh)
    return TakenLabels(stored.n_stored, n_known, len(events) - len(found), by)


def _is_outdated(state: SessionState, event: Event) -> bool:
    """Whether the same person said or drew something later here."""
    if not event.at or event.kind == "note":
        return False
    if event.kind == "mark":
        return any(m.who == event.who and m.at > event.at for m in state.marks.get(str(event.item), ()))
    answered = state.answers.get(str(event.item))
    if answered is None:
        return False
    own = answered.decision if event.kind == "decide" else answered.vote_of(event.who)
    return own is not None and own.at > event.at


def _match_items(own: SessionFolder, other: SessionFolder) -> tuple[Mapping[str, str], str]:
    """The item of this session for each of the other one's that is here too, and by what they were matched."""
    if _ids_from(own) == _ids_from(other):
        known = set(own.ids)
        return {item: item for item in other.ids if item in known}, "id"
    if own.has_pictures or other.has_pictures:
        raise SessionError("The items of the two sessions are named in different ways and cannot be matched.")
    mine, theirs = read_items(own), read_items(other)
    differing = sorted(set(mine.frame.columns) ^ set(theirs.frame.columns))
    if differing:
        raise SchemaError(
            f"Rows are matched by their content, and the two tables differ in columns: "
            f"{', '.join(map(repr, differing))}. Give both an id column."
        )
    here = dict(zip(_content(mine), own.ids, strict=True))
    return {item: here[same] for same, item in zip(_content(theirs), other.ids, strict=True) if same in here}, "content"


def _ids_from(place: SessionFolder) -> str:
    """Where ids come from: a column that names items, their content, or the numbers of rows in certain files."""
    if place.has_pictures:
        return "pictures" if SessionFolder(place.path).media_note["id_column"] is None else "names of pictures"
    if place.all_data and place.all_data[0].id_column is None:
        return f"row numbers in {place.all_data[0].fingerprint}"
    return "names" if place.config.id_column is not None else "content"


def _content(table: Table) -> list[str]:
    columns = table.frame.columns
    return [str(item) for item in content_ids(Frame({name: columns[name] for name in sorted(columns)}, True))]
