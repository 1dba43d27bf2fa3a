"""Labels in and out of a session: CSV for spreadsheets, JSON, Label Studio's JSON, and COCO's for what was drawn."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from soel.checks import check_labels
from soel.errors import ConfigError, DataError, LabelError, naming
from soel.files import write_whole
from soel.session import Answer, Session, TellResult, read_verdict
from soel.session.events import body_of
from soel.session.items import read_items
from soel.session.label_formats import (
    Entry,
    EntryKind,
    as_coco,
    as_tasks,
    grow_budget,
    list_entries,
    read_coco,
    read_kind,
    read_tasks,
    store_entries,
)
from soel.session.marks import Mark, read_mark
from soel.tables.column import cell_text
from soel.tables.open import open_arrow
from soel.tables.read_options import UPLOADED
from soel.tables.rows import read_rows, write_rows, write_table
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
MARK, VERSION = "soel-labels", 1
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
    entries = list_entries(session.state)
    called = _NamesByItem(session.ids, names or {}, {entry.item for entry in entries})
    if form in ("csv", "xlsx", "parquet"):
        drawn = ["mark"] if any(entry.mark is not None for entry in entries) else []
        rows = [
            [*_as_mapping(e).values(), *(_mark_text(e) for _ in drawn), *called.of(e.item).values()] for e in entries
        ]
        write = write_rows if form == "csv" else partial(write_table, what="labels")
        write(_as(path, form), [*COLUMNS, *drawn, *called.columns], rows)
    elif form == "json":
        labels = [called.of(entry.item) | _as_mapping(entry) | _mark(entry) for entry in entries]
        _write_json(path, {"format": MARK, "version": VERSION, "session": session.config.session, "labels": labels})
    elif form == "coco":
        files = {item: _file_name(item, row, names or {}) for row, item in enumerate(session.ids)}
        _write_json(path, as_coco(entries, files))
    else:
        _write_json(path, as_tasks(entries))
    return path, len(entries)


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


def _as(path: Path, form: str) -> Path:
    """The path, if its suffix is that of the form: a sheet that is called otherwise could not be opened."""
    if form != "csv" and path.suffix.lower() != f".{form}":
        raise ConfigError(f"Labels as {form} need a file called so, got {path.name!r}; call it {path.stem}.{form}.")
    return path


def import_labels(session: Session, path: Path, who: str | None = None) -> TellResult:
    """Store the labels of a file of any of the formats, all or none. who: in place of the names in it.

    Labels of items that were not asked about leave the budget as it is. Of a file that `score` wrote, rows that are not
    in the pool are left out and named.
    """
    path, before = Path(path), session.state
    with naming(path.name):
        rows = _read_rows(path)
        if rows and rows[0].keys() >= SCORED:
            told = _store_scored(session, rows, who)
        else:
            told = store_entries(session, read_labels(path), who)
        grow_budget(session, before)
    return told


def is_scored(path: Path) -> bool:
    """Whether `score` wrote a file."""
    rows = _read_rows(path)
    return rows is not None and len(rows) > 0 and rows[0].keys() >= SCORED


def _store_scored(session: Session, rows: Sequence[Mapping[str, str]], who: str | None) -> TellResult:
    """The labels of rows that differ from what holds by now; those of other rows are left out and named."""
    column = next((name for name in (session.config.id_column, "id") if name and name in rows[0]), None)
    if column is None:
        raise LabelError(f"The rows lack the column {session.config.id_column or 'id'!r}; nothing was stored.")
    known, held = frozenset(session.ids), session.state.answers
    labelled = [{**row, "item": row[column].strip()} for row in rows if row["label"].strip()]
    here = [row for row in labelled if row["item"] in known]
    fresh = [row for row in here if row["item"] not in held or held[row["item"]].verdict != row["label"].strip()]
    entries = [Entry(row["item"], read_verdict(row["label"]), row.get("note", ""), row["who"], "") for row in fresh]
    told, unknown = store_entries(session, entries, who), [row["item"] for row in labelled if row["item"] not in known]
    return replace(told, n_repeated=told.n_repeated + len(here) - len(fresh), unknown=tuple(unknown))


def read_labels(path: Path) -> list[Entry]:
    """The entries of a file; its form is told by the suffix and the content."""
    rows = _read_rows(path)
    if rows is not None:
        return _from_rows(path, rows)
    content = _read_json(path)
    if isinstance(content, list):
        return read_tasks(content)
    if isinstance(content, dict) and {"images", "annotations"} <= content.keys():
        return read_coco(content)
    return _read_own(path, content)


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
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Check the path.") from error
    except (ValueError, RecursionError) as error:
        raise LabelError(f"{path.name} is not JSON ({error}); nothing was stored.") from error


def _from_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> list[Entry]:
    item = "item" if rows and "item_id" not in rows[0] and "item" in rows[0] else "item_id"  # a sheet has the former
    missing = [name for name in (item, "label") if rows and name not in rows[0]]
    if missing:
        raise LabelError(f"{path.name} lacks the column {', '.join(missing)}; nothing was stored.")
    if rows and "session" in rows[0]:  # a sheet: its other columns are those of the data, whatever they are called
        rows = [{name: row[name] for name in (item, "label", "note") if name in row} for row in rows]
    filled = [row for row in rows if row["label"].strip() or _kind_of(row) in (EntryKind.NOTE, EntryKind.MARK)]
    return [_from_mapping({**row, "item": row[item]}) for row in filled]


def _read_own(path: Path, content: Any) -> list[Entry]:
    if not isinstance(content, dict) or content.get("format") != MARK or content.get("version") != VERSION:
        raise LabelError(
            f"{path.name} holds neither labels that soel exported (version {VERSION}), nor tasks of Label Studio, nor "
            "annotations of COCO."
        )
    try:
        return [_from_mapping(entry) for entry in content["labels"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise LabelError(f"{path.name} has an entry that is no label ({error}); nothing was stored.") from error


def _from_mapping(entry: Mapping[str, Any]) -> Entry:
    item, label = str(entry["item"]), str(entry["label"]).strip()
    note, who, at = (str(entry.get(name) or "") for name in ("note", "who", "at"))
    kind = read_kind(str(entry.get("kind") or ""))
    if kind is EntryKind.MARK:
        return Entry(item, None, "", who.strip(), at, kind, _read_mark(who.strip(), entry.get("mark")))
    verdict = None if kind is EntryKind.NOTE else read_verdict(label)
    return Entry(item, verdict, note, who.strip(), at, kind)


def _read_mark(who: str, given: Any) -> Mark:
    """A mark from its JSON, or from the text of it in a cell."""
    try:
        body = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise LabelError(f"A mark cannot be read ({error}); nothing was stored.") from error
    if not isinstance(body, dict):
        raise LabelError(f"A mark holds regions, width and height, got {given!r}; nothing was stored.")
    return read_mark(who, body)


def _kind_of(row: Mapping[str, Any]) -> str:
    return str(row.get("kind") or "").strip().lower()


def _mark(entry: Entry) -> dict[str, Any]:
    return {} if entry.mark is None else {"mark": body_of(entry.mark)}


def _mark_text(entry: Entry) -> str:
    return "" if entry.mark is None else json.dumps(body_of(entry.mark))


class _NamesByItem:
    """What a few items are called, without the columns that a file of labels has anyway."""

    def __init__(self, ids: Sequence[str], names: Mapping[str, Sequence[Any]], wanted: Collection[str]) -> None:
        self.columns = [name for name in names if name not in (*COLUMNS, "mark", "id", "item")]
        self._names = names
        self._row_of = {item: row for row, item in enumerate(ids) if item in wanted}

    def of(self, item: str) -> dict[str, Any]:
        row = self._row_of.get(item)  # one that was removed is called by its id alone
        return {name: None if row is None else self._names[name][row] for name in self.columns}


def _as_mapping(entry: Entry) -> dict[str, str]:
    return {
        "item": entry.item,
        "label": _label(entry),
        "note": entry.note,
        "who": entry.who,
        "at": entry.at,
        "kind": entry.kind.value,
    }


def _label(entry: Entry) -> str:
    return "" if entry.verdict is None else entry.verdict.value


def _write_json(path: Path, content: Any) -> None:
    write_whole(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


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
