"""What the server answers about the session's data: uploads, columns, changes, the creation of the session."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from soel.web.schemas import WorkOut


class UploadOut(BaseModel):
    """How many bytes of the file are here."""

    size: int


class ChangeOut(BaseModel):
    """What came in or left. n_displaced: items that gave way, so that the pool stays a fair sample.

    notes: what reading the data left out.
    """

    data: str
    at: str
    who: str
    n_added: int = 0
    n_replaced: int = 0
    n_removed: int = 0
    n_displaced: int = 0
    notes: list[str] = []


class DataOut(BaseModel):
    """What the session is called and what it holds. n_rows: of the data that the items are a sample of, else null."""

    name: str
    description: str
    n_items: int
    n_rows: int | None
    n_open: int
    n_labels: int
    budget: int
    changes: list[ChangeOut]
    work: WorkOut | None


class OptionOut(BaseModel):
    """Another reading of a column. words: what it would be. typed: the line of a file of column settings."""

    words: str
    typed: str


class ColumnOut(BaseModel):
    """How a column was read. words: the same in the page's language. missing: a share.

    odd, doubt: what looks odd, and why another reading was possible. options: what changes it.
    """

    name: str
    kind: str
    read_as: str
    words: str
    picture: str
    examples: list[str]
    missing: float
    odd: list[str]
    doubt: str
    options: list[OptionOut]


class ReadingOut(BaseModel):
    """How a table was read, in a line; empty words where there is no table. mark: tells one reading from another.

    notes: what was left out of the file, and rows that repeat others. unfolded: whether it is to be seen at once.
    """

    words: str
    mark: str
    n_columns: int
    n_unsure: int
    notes: list[str]
    unfolded: bool


class TakenOut(BaseModel):
    """Answers stored, known before, and about items that are not here. by: how items were matched."""

    n_stored: int
    n_known: int
    n_left_out: int
    by: str


class PreparationOut(BaseModel):
    """How far the creation of the session is. what: its part. seconds_left: to the end of this part, where known."""

    stage: Literal["asking", "preparing", "failed", "ready"]
    what: str = ""
    done: int = 0
    total: int = 0
    seconds_left: int | None = None
    error: str = ""
