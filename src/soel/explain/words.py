"""Reasons in sentences, as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.checks import is_missing
from soel.text import ordinal, percent

if TYPE_CHECKING:
    from soel.explain.reasons import Reason

NO_REASON = "nothing raises it above a similar ordinary row"
MOST_SAID = 20  # rows of an explanation that are printed
MOST = 0.5  # of what raises a score: where reasons leave more than this unsaid, it is said


def say_rows(rows: Sequence[Sequence[Reason]]) -> str:
    """The reasons of each row, a line for a row; of many rows the first."""
    lines = [f"row {row}: {say_row(reasons)}" for row, reasons in enumerate(rows[:MOST_SAID])]
    n_more = len(rows) - len(lines)
    return "\n".join([*lines, f"... and {n_more:,} more: take(rows) gives those you want to read"] if n_more else lines)


def say_row(reasons: Sequence[Reason]) -> str:
    """The reasons of one row in one line."""
    return "; ".join(say_reasons([reason_texts(reason) for reason in reasons])) or NO_REASON


def say_reasons(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The reasons of one row, what all of them do together, and what they leave unsaid where that is most of it."""
    sentences = [say_reason(text) for text in texts]
    together = texts[-1].get("rank_together") if len(texts) > 1 else None
    if together is not None:
        sentences.append(f"with all of this as in the most similar ordinary row it would rank {ordinal(together)}")
    unsaid = 1 - sum(text["share"] for text in texts)
    if texts and unsaid > MOST:
        sentences.append(f"most of what raises it ({percent(unsaid)}) is in other columns, or in many of them together")
    return sentences


def say_reason(text: Mapping[str, Any]) -> str:
    """One reason, with the rank that the row would have else and the one it has."""
    cells = zip(text["columns"], text["usual"], text["values"], strict=True)
    what = " and ".join(f"{name} at {usual} instead of {value}" for name, usual, value in cells)
    ranks = f"{ordinal(text['rank'])} instead of {ordinal(text['present_rank'])}"
    return f"with {what} it would rank {ranks} ({percent(text['share'])} of what raises it)"


def reason_texts(reason: Reason) -> dict[str, Any]:
    """A reason as plain values for a file, its cells as a person writes them."""
    return {
        "columns": list(reason.columns),
        "values": [show_cell(cell) for cell in reason.values],
        "usual": [show_cell(cell) for cell in reason.usual],
        "share": reason.share,
        "present_rank": reason.present_rank,
        "rank": reason.rank,
        "rank_together": reason.rank_together,
    }


def show_cell(cell: Any) -> str:
    """A cell as a person writes it; 'nothing' where it is missing."""
    if is_missing(cell):
        return "nothing"
    if isinstance(cell, np.datetime64):  # to the second, without a midnight and without the first day of all
        text = str(cell.astype("datetime64[s]"))
        return text.removesuffix("T00:00:00").removeprefix("1970-01-01T").replace("T", " ")
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell).strip()
