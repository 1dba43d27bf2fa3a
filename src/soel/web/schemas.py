"""What the server answers: what all pages share, and the labelling page's own."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from soel.session.marks import Shape
from soel.types import Verdict
from soel.web.ports import Kind


class ErrorOut(BaseModel):
    """What was wrong, and what to do. code: 'page' where a page of another user or session asks, else absent."""

    error: str
    code: str | None = None


class WorkOut(BaseModel):
    """What the machine is doing in the background, and how far it is."""

    what: str
    running: bool
    done: int
    total: int
    error: str = ""


class UndoableOut(BaseModel):
    """The user's newest answer that still stands. event: its number, by which it can be taken back."""

    item: str
    title: str
    event: int


class AnsweredOut(BaseModel):
    """What this user says of the item that a request was about. event: of that answer; null without one."""

    item: str
    verdict: Verdict | None
    event: int | None


class StatusOut(BaseModel):
    """Where the session stands for this user.

    version: the number of the newest event that this knows of; what has a lower one is older.
    undo: the answer that can be taken back. about: the item that was answered or taken back.
    stage: 'waiting' where all open items are with others. open: items to answer, in order. mine: items answered
    by this user, oldest first. n_labels, n_anomalies: as far as this user may know of them. storage_problem: why
    nothing can be stored now. n_waiting: items that this user labelled and that want more opinions; n_in: those
    that have them all. n_assigned: open items that are kept for this user.
    is_check: whether the newest round is a spot check.
    """

    version: int
    who: str
    is_owner: bool
    stage: Literal["preparing", "label", "waiting", "training", "done"]
    budget: int
    n_left: int
    n_labels: int
    n_anomalies: int
    n_items: int
    open: list[str]
    mine: list[str]
    undo: UndoableOut | None
    about: AnsweredOut | None
    has_results: bool
    results_ready: bool
    n_disputes: int
    answers_per_item: int
    n_waiting: int
    n_in: int
    n_assigned: int
    fit_is_current: bool
    is_check: bool
    storage_problem: str
    work: WorkOut | None


class StripOut(BaseModel):
    """Where a value sits among the normal rows."""

    bars: list[float]
    mark: float | None
    low: str
    high: str


class FieldOut(BaseModel):
    """One value of a row."""

    name: str
    value: str
    words: str
    stands_out: bool
    strip: StripOut | None


class FrameOut(BaseModel):
    """A picture near this one in time."""

    item: str
    seconds: float


class NeighbourOut(BaseModel):
    """A labelled item that looks like this one."""

    item: str
    title: str
    verdict: str


class NoteOut(BaseModel):
    """What somebody wrote about an item."""

    who: str
    text: str


class FieldsOut(BaseModel):
    """Values of a row, those that stand out first. n_fields: how many there are in all."""

    fields: list[FieldOut]
    n_standing_out: int
    n_fields: int


class RegionOut(BaseModel):
    """One thing that was drawn."""

    shape: Shape
    points: list[tuple[float, float]]
    radius: float = 0.0


class MarkOut(BaseModel):
    """What somebody drew on a picture. mine: whether it is this user's."""

    who: str
    mine: bool
    regions: list[RegionOut]


class MarksOut(BaseModel):
    """All that the user may see on a picture. version: the number of the newest event that it knows of."""

    version: int
    marks: list[MarkOut]


class MapsOut(BaseModel):
    """Whether unusual places are known, and whether they are shown only after an own answer."""

    has_maps: bool
    wait: bool


class ItemOut(BaseModel):
    """One item, ready to be shown, with this user's answer and note. version: of the newest event it knows of."""

    version: int
    item: str
    kind: Kind
    title: str
    fields: list[FieldOut]
    n_standing_out: int
    n_fields: int
    neighbours: list[NeighbourOut]
    frames: list[FrameOut]
    has_map: bool
    verdict: Verdict | None
    note: str
    notes: list[NoteOut]
    marks: list[MarkOut]


class DecisionOut(BaseModel):
    """An answer that holds. verdict may be 'disagreement'. mine: the user's own answer. decided: by the owner."""

    item: str
    title: str
    kind: Kind
    verdict: str
    mine: Verdict | None
    who: list[str]
    decided: bool
    notes: list[NoteOut]


class DecisionsOut(BaseModel):
    """All answers that hold. version: the number of the newest event that they know of."""

    version: int
    decisions: list[DecisionOut]


class GuidelineOut(BaseModel):
    """The guideline as written and as shown. version: tells this text from others."""

    text: str
    html: str
    version: str


class ListedOut(BaseModel):
    """An item in a list, with its most unusual values. rank, score, probability: null before a training.

    resembles: the labelled item that it is most like, as far as the reader may know of it.
    """

    item: str
    title: str
    kind: Kind
    rank: int | None
    score: float | None
    probability: float | None
    verdict: str | None
    fields: list[FieldOut]
    resembles: NeighbourOut | None


class ItemsOut(BaseModel):
    """A page of the items that fit. columns, people: what can be filtered by. version: of the newest event known."""

    version: int
    total: int
    page: int
    size: int
    n_pages: int
    columns: list[str]
    people: list[str]
    items: list[ListedOut]
