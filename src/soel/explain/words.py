"""Explanations in words and chips, in any language: for terminal, page and report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.checks import is_missing
from soel.text import ENGLISH, Texts
from soel.types import Label

if TYPE_CHECKING:
    from soel.explain.explanation import Reason, RowExplanation

MOST_ROWS, MOST_CELLS = 20, 3  # of an explanation that are printed; of a group that are said
ARROWS = {1: "↑", -1: "↓", 0: "≠"}
_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def say_rows(rows: Sequence[RowExplanation]) -> str:
    """A line for each row; of many rows the first."""
    lines = [f"row {at}: {say_row(row)}" for at, row in enumerate(rows[:MOST_ROWS])]
    n_more = len(rows) - len(lines)
    return "\n".join([*lines, f"... and {n_more:,} more; index it for those you want to read"] if n_more else lines)


def say_row(row: RowExplanation, t: Texts = ENGLISH, brief: bool = False, title: Callable[[str], str] = str) -> str:
    """What would have to be different, and what rank the row would have then.

    brief: beside chips that say what. title: what people call a row.
    """
    if not row.like:
        return t("reason.no_donor" if row.is_alarm else "reason.ordinary")
    cell = "reason.cell" if row.is_alarm else "reason.cell_there"
    changes = "; ".join(say_reason(reason, t, cell) for reason in row.reasons)
    if row.is_alarm:
        key = "reason.but_for" if row.suffices else "reason.even_with" if row.reasons else "reason.whole"
        key += ".brief" if brief and row.reasons else ""
    else:
        key = "reason.kept" if row.suffices else "reason.far"
    return t(key, like=title(row.like), changes=changes, rank=row.changed_rank, now=row.rank)


def say_reason(reason: Reason, t: Texts = ENGLISH, cell: str = "reason.cell") -> str:
    """'pressure 10.6, usually 6.49', or of a group 'size (6 columns: worst area 2022, usually 522; ...)'."""
    cells = list(zip(reason.columns, reason.values, reason.usual, strict=True))
    said = [t(cell, name=n, value=localise(v, t), usual=localise(u, t)) for n, v, u in cells[:MOST_CELLS]]
    if len(cells) == 1:
        return said[0]
    listed = "; ".join([*said, *["..."] * (len(cells) > MOST_CELLS)])
    return t("reason.group", name=cells[0][0], n=len(cells), cells=listed)


def chip(reason: Reason, t: Texts = ENGLISH) -> str:
    """'worst area 2022 ↑ 522', and how many columns go with it."""
    value, usual = (localise(cell[0], t) for cell in (reason.values, reason.usual))
    return t(
        "reason.chip", what=f"{reason.columns[0]} {value} {ARROWS[reason.direction]} {usual}", n=len(reason.columns)
    )


def name_group(columns: Sequence[str], t: Texts = ENGLISH) -> str:
    """A group by its most central column, and how many it has."""
    return t("reason.chip", what=columns[0], n=len(columns))


def say_common(summary: Mapping[str, Any], t: Texts = ENGLISH) -> list[str]:
    """How many alarms were looked at, and how many no small change explains."""
    words = [t("reason.looked", n=summary["n_explained"], total=summary["n_alarms"])]
    return [*words, t("reason.whole_ones", n=summary["n_whole"])] if summary["n_whole"] else words


def say_pattern(
    pattern: Mapping[str, Any],
    labels: Mapping[str, Label],
    t: Texts = ENGLISH,
    title: Callable[[str], str] = str,
) -> str:
    """A pattern of alarms: its groups of columns, its size, an example, its rule, and what is labelled.

    title: what people call an item.
    """
    items = pattern["items"]
    known = [labels[item].word for item in items if item in labels]
    names = ", ".join(name_group(columns, t) for columns in pattern["groups"])
    parts = [t("reason.group_line", names=names, n=len(items), item=title(items[0]))]
    if pattern["rule"] is not None:
        rule = pattern["rule"]
        conditions = "; ".join(
            f"{each['column']} {each['sign']} {localise(each['value'], t)}" for each in rule["conditions"]
        )
        parts.append(t("reason.rule", rule=conditions, hits=rule["n_hits"], n=rule["n_met"]))
    if known:
        parts.append(t("reason.labelled", anomalies=known.count("anomaly"), normal=known.count("normal")))
    return "; ".join(parts)


def localise(cell: Any, t: Texts) -> str:
    """A cell; a number with a fraction as the language writes it, since anything else may be a code."""
    text = show_cell(cell)
    return t.number(float(text)) if _FRACTION.fullmatch(text) else text


def show_cell(cell: Any) -> str:
    """A cell as a person writes it; 'nothing' where it is missing."""
    if is_missing(cell):
        return "nothing"
    if isinstance(cell, np.datetime64):  # to the second, without a midnight and without the first day of all
        text = str(cell.astype("datetime64[s]"))
        return text.removesuffix("T00:00:00").removeprefix("1970-01-01T").replace("T", " ")
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell).strip()
