"""What the server answers, as it stands in the API's description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from soel.report.view import AlarmLine, FactLine, Histogram, InCommon, ItemKind, Resembled
from soel.session.marks import Region
from soel.session.people import Person
from soel.session.worker import JobStatus
from soel.types import Verdict
from soel.web.cards import ClipFrame, Field


class ErrorOut(BaseModel):
    """What was wrong, and what to do. code: 'page' where a page of another user or session asks, else absent."""

    error: str
    code: str | None = None


class NamedOut(BaseModel):
    """An item, and what people call it."""

    item: str
    title: str


class EntryOut(NamedOut):
    """An item of a list."""

    kind: ItemKind


class UndoableOut(NamedOut):
    """The user's newest answer that still stands. event: its number, by which it can be taken back."""

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
    work: JobStatus | None


class NoteOut(BaseModel):
    """What somebody wrote about an item."""

    who: str
    text: str


class MarkOut(BaseModel):
    """What somebody drew on a picture. mine: whether it is this user's."""

    who: str
    mine: bool
    regions: list[Region]


class MarksOut(BaseModel):
    """All that the user may see on a picture. version: the number of the newest event that it knows of."""

    version: int
    marks: list[MarkOut]


class MapsOut(BaseModel):
    """Whether unusual places are known, and whether they are shown only after an own answer."""

    has_maps: bool
    wait: bool


class ItemOut(EntryOut):
    """One item, ready to be shown, with this user's answer and note. version: of the newest event it knows of.

    fields: values of a row, those that stand out first. n_fields: how many there are in all. because: the columns that
    this user named. named: what others named, as far as this user may know it.
    """

    version: int
    fields: list[Field]
    n_standing_out: int
    n_fields: int
    neighbours: list[Resembled]
    frames: list[ClipFrame]
    has_map: bool
    verdict: Verdict | None
    note: str
    notes: list[NoteOut]
    marks: list[MarkOut]
    because: list[str] = []
    named: list[NoteOut] = []


class DecisionOut(EntryOut):
    """An answer that holds. verdict may be 'disagreement'. mine: the user's own answer. decided: by the owner.

    because: the columns that were named with it.
    """

    verdict: str
    mine: Verdict | None
    who: list[str]
    decided: bool
    notes: list[NoteOut]
    because: list[str]


class DecisionsOut(BaseModel):
    """All answers that hold. version: the number of the newest event that they know of."""

    version: int
    decisions: list[DecisionOut]


class GuidelineOut(BaseModel):
    """The guideline as written and as shown. version: tells this text from others."""

    text: str
    html: str
    version: str


class AlarmOut(ItemOut):
    """One item of the list of alarms, beside what it is compared with.

    alarm: its line. ordinary: the ordinary row nearest to it; fields have its value first among the others, then that
    of the labelled item that it is most like.
    """

    alarm: AlarmLine
    ordinary: NamedOut | None


class ItemsOut(BaseModel):
    """A page of the items that fit. columns, people: what can be filtered by. version: of the newest event known.

    html: the lines as the page shows them.
    """

    version: int = 0
    total: int
    page: int
    size: int
    n_pages: int
    columns: list[str] = []
    people: list[str] = []
    items: list[AlarmLine]
    html: str = ""

    @classmethod
    def cut(cls, rows: Sequence[Any], page: int, size: int, line: Callable[[Any], AlarmLine]) -> ItemsOut:
        """A page of these rows, or the last one where they are fewer. line: the record of a row."""
        n_pages = max(1, -(-len(rows) // size))
        page = min(page, n_pages)
        items = [line(row) for row in rows[(page - 1) * size : page * size]]
        return cls(total=len(rows), page=page, size=size, n_pages=n_pages, items=items)


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
    work: JobStatus | None


class ReasonsOut(BaseModel):
    """Which values raise an item's score, and the labelled item that it is most like."""

    fields: list[Field]
    resembles: Resembled | None


class LabelledOut(BaseModel):
    """A labelled item and its row in the arrays of the map."""

    item: str
    row: int
    verdict: Verdict


@dataclass(frozen=True)
class ShareEstimate:
    """The estimated share of anomalies after so many labels, with its interval."""

    n_labels: int
    value: float
    low: float
    high: float


class InsightOut(BaseModel):
    """What was found so far and whether to go on, in sentences; how the estimate moved."""

    words: list[str]
    history: list[ShareEstimate]


class FramePointOut(BaseModel):
    """A frame on the time line of its clip."""

    item: str
    second: float
    score: float


class IntervalOut(BaseModel):
    """Alarms that follow one another, in seconds. item: the frame at the peak. n_alarms: frames."""

    start: float
    end: float
    peak: float
    score: float
    n_alarms: int
    item: str


class ClipOut(BaseModel):
    """A clip: its frames in time, and its events, the highest peak first."""

    clip: str
    frames: list[FramePointOut]
    events: list[IntervalOut]


@dataclass(frozen=True)
class ResultsView:
    """What the last fit says of the pool, for one reader: the results page and its API.

    promise: what the threshold's rule promises. quality: what the newest spot check proves. foreseen: how much a check
    would tell. unsure: how many items are not sure. advice: whether more labels are worth it, and
    what named columns did. All are sentences.
    """

    threshold: float
    line: FactLine
    histogram: Histogram
    in_common: InCommon
    promise: str
    quality: list[str]
    foreseen: list[str]
    unsure: str
    advice: list[str]


class ResultsOut(BaseModel):
    """The results. version: the number of the newest event that they know of.

    html: parts of the page that an answer may change, by the id of their places.
    """

    version: int
    fit_is_current: bool
    view: ResultsView
    labelled: list[LabelledOut]
    html: dict[str, str]


class OpenOut(EntryOut):
    """An open item and who is to label it; nobody where it is for whoever comes first."""

    to: list[str]


class DisagreementOut(EntryOut):
    """An item that annotators label differently. votes: each name with its verdict."""

    votes: dict[str, str]
    notes: list[NoteOut]
    fields: list[Field]


class TeamOut(BaseModel):
    """The annotators, how far they agree, where they do not, and who is to label what.

    open: the first open items; n_open: of how many. people: whom they can be assigned to.
    version: the number of the newest event that this knows of.
    """

    version: int
    annotators: list[Person]
    n_open: int
    open: list[OpenOut]
    people: list[str]
    answers_per_item: int
    agreement: str
    disagreements: list[DisagreementOut]


class InvitationOut(BaseModel):
    """A link that lets one person in, once. path: to be put after the page's address."""

    name: str
    path: str


class SignInOut(BaseModel):
    """A browser that is signed in. since: a time in UTC."""

    name: str
    is_owner: bool
    is_this_browser: bool
    since: str


class SignInsOut(BaseModel):
    """Who is signed in, oldest first, and who is invited."""

    signed_in: list[SignInOut]
    invited: list[str]
