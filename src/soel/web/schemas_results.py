"""What the server answers about results: the share, the map, reasons, time lines of clips, how the estimate moved."""

from __future__ import annotations

from pydantic import BaseModel

from soel.types import Verdict
from soel.web.schemas import FieldOut, NeighbourOut


class SummaryOut(BaseModel):
    """What the alarms have in common. drivers: columns, each with its share of what raises them."""

    words: list[str]
    drivers: list[FieldOut]
    groups: list[str]


class ReasonsOut(BaseModel):
    """Which values raise an item's score, and the labelled item that it is most like."""

    fields: list[FieldOut]
    resembles: NeighbourOut | None


class LabelledOut(BaseModel):
    """A labelled item and its row in the arrays of the map."""

    item: str
    row: int
    verdict: Verdict


class PointOut(BaseModel):
    """The estimated share of anomalies after so many labels."""

    n_labels: int
    value: float
    low: float
    high: float


class InsightOut(BaseModel):
    """What was found so far and whether to go on, in sentences; how the estimate moved."""

    words: list[str]
    history: list[PointOut]


class ShareOut(BaseModel):
    """The estimated share of anomalies with its 80 % interval."""

    value: float
    low: float
    high: float


class RowOut(BaseModel):
    """The item in a row."""

    item: str


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


class ResultsOut(BaseModel):
    """What the last fit says about the pool. advice: whether more labels would still change much, in words.

    promise: what the threshold's rule promises of alarms. quality: what the newest spot check proves, in words.
    check_advice: how much a check would tell. unsure: items whose side is open, in words.
    version: the number of the newest event that this knows of.
    """

    version: int
    share: ShareOut
    threshold: float
    n_items: int
    n_labels: int
    fit_is_current: bool
    labelled: list[LabelledOut]
    advice: list[str]
    promise: list[str]
    quality: list[str]
    check_advice: list[str]
    unsure: list[str]
