"""Label Studio's JSON: a list of tasks, each with its annotations. Decisions are its ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soel.errors import LabelError
from soel.exchange.entries import Entry, EntryKind
from soel.session import read_verdict
from soel.types import Verdict

ITEM, LABEL, NOTE = "item_id", "label", "note"  # data field, and the names of the two controls


def as_tasks(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One task per item, in the order of the first entry on it."""
    by_item: dict[str, list[Entry]] = {}
    for entry in entries:
        by_item.setdefault(entry.item, []).append(entry)
    return [
        {"id": number, "data": {ITEM: item}, "annotations": [_annotation(entry) for entry in own]}
        for number, (item, own) in enumerate(by_item.items(), start=1)
    ]


def read_tasks(tasks: Sequence[Any]) -> list[Entry]:
    """What the annotations say."""
    entries: list[Entry] = []
    for number, task in enumerate(tasks, start=1):
        try:
            item = _item_of(task["data"])
            found = [_read_annotation(item, annotation) for annotation in task.get("annotations", [])]
            entries += [entry for entry in found if entry is not None]
        except LabelError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise LabelError(
                f"Task {number} is not one of Label Studio with a field {ITEM!r} in its data "
                f"({type(error).__name__}: {error}); nothing was stored."
            ) from error
    return entries


def _annotation(entry: Entry) -> dict[str, Any]:
    result = []
    if entry.verdict not in (None, Verdict.SKIP):
        result.append(_control(LABEL, "choices", {"choices": [entry.verdict.value]}))
    if entry.note:
        result.append(_control(NOTE, "textarea", {"text": [entry.note]}))
    return {
        "completed_by": {"email": entry.who},
        "created_at": entry.at,
        "was_cancelled": entry.verdict is Verdict.SKIP,
        "ground_truth": entry.kind is EntryKind.DECISION,
        "result": result,
    }


def _control(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "item", "type": kind, "value": dict(value)}


def _read_annotation(item: str, annotation: Mapping[str, Any]) -> Entry | None:
    """What one annotation says; None where it says nothing."""
    verdict, note = None, ""
    for part in annotation["result"]:
        if part["type"] == "choices":
            verdict = read_verdict(str(part["value"]["choices"][0]))
        elif part["type"] == "textarea":
            note = str(part["value"]["text"][0])
    if annotation.get("was_cancelled"):
        verdict = Verdict.SKIP
    if verdict is None and not note:
        return None
    who, at = _name(annotation.get("completed_by")), str(annotation.get("created_at") or "")
    if verdict is None:
        return Entry(item, None, note, who, at, EntryKind.NOTE)
    is_decision = bool(annotation.get("ground_truth")) and verdict.label is not None
    return Entry(item, verdict, note, who, at, EntryKind.DECISION if is_decision else EntryKind.ANSWER)


def _item_of(data: Mapping[str, Any]) -> str:
    return str(data[ITEM] if ITEM in data else data["id"])


def _name(person: Any) -> str:
    """Label Studio names people by an account with an e-mail address, or by a number."""
    if isinstance(person, Mapping):
        named = person.get("email") or person.get("username") or person.get("first_name")
        return str(named or person.get("id") or "")
    return "" if person is None else f"annotator {person}"
