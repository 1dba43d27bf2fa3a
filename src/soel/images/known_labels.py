"""What is known about pictures beforehand, for the simulated expert alone: from folder names, classes or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from soel.checks import check_labels
from soel.errors import LabelError
from soel.images.items import MediaItem
from soel.tables.csv_cells import read_rows
from soel.types import UNLABELLED

Codes = list[int]


def known_labels(items: Sequence[MediaItem], normal: str | None = None, file: Path | None = None) -> Codes | None:
    """1, 0 or -1 for each item; None where nothing is known.

    normal: the folder or class whose items are normal, all others being anomalies. file: a CSV with the columns
    name (or id) and label, or a JSON object with a string of 0 and 1 for each clip. Classes that are 0 and 1
    speak for themselves.
    """
    if file is not None:
        return _from_clips(items, file) if file.suffix.lower() == ".json" else _from_table(items, file)
    categories = {item.category for item in items}
    if normal is not None:
        if normal not in categories:
            shown = ", ".join(sorted(categories)[:10])
            raise LabelError(f"No item is in the folder or class {normal!r}. There are: {shown or 'none'}.")
        return [int(item.category != normal) for item in items]
    return [int(item.category) for item in items] if categories <= {"0", "1"} else None


def _from_table(items: Sequence[MediaItem], file: Path) -> Codes:
    rows = read_rows(file)
    if not rows or "label" not in rows[0] or not {"name", "id"} & set(rows[0]):
        raise LabelError(f"{file.name} needs the columns 'name' (or 'id') and 'label'.")
    key = "id" if "id" in rows[0] else "name"
    codes = check_labels([row["label"] for row in rows], len(rows)).tolist()
    by_key: Mapping[str, int] = dict(zip((row[key] for row in rows), codes, strict=True))
    found = [by_key.get(getattr(item, key), UNLABELLED) for item in items]
    if set(found) == {UNLABELLED}:
        raise LabelError(f"{file.name} names none of the items, such as {getattr(items[0], key)!r}.")
    return found


def _from_clips(items: Sequence[MediaItem], file: Path) -> Codes:
    try:
        strings = {str(clip): str(codes) for clip, codes in json.loads(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError) as error:
        raise LabelError(f"{file.name} is no JSON object of clips and their labels ({error}).") from error
    return [_at(item, strings) for item in items]


def _at(item: MediaItem, strings: Mapping[str, str]) -> int:
    codes = strings.get(item.clip) or strings.get(Path(item.clip).stem)
    frame = item.frame
    if codes is None or frame is None or frame >= len(codes):
        return UNLABELLED
    return int(check_labels([codes[frame]], 1)[0])
