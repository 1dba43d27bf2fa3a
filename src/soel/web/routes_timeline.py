"""The API behind the time line of clips: scores over seconds, and alarms from when to when."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response

from soel.scoring.clips import name_intervals, write_interval_file
from soel.session.scores import name_items
from soel.types import Interval
from soel.web.dependencies import REFUSALS, Documented, OwnerDep, ResultsDep, UserDep, ViewModelDep
from soel.web.downloads import TYPES, as_download, write_to_bytes
from soel.web.results import Results
from soel.web.schemas_results import ClipOut, FramePointOut, IntervalOut
from soel.web.view_model import ViewModel

router = APIRouter(prefix="/api", tags=["results"], responses=REFUSALS)
Cut = Annotated[float | None, Query(allow_inf_nan=False, description="Alarms lie above it; without, the model's own")]
TEXT: Documented = {200: {"content": {TYPES["csv"]: {}}}}


@router.get("/timeline")
def read_timeline(
    view_model: ViewModelDep, results: ResultsDep, _user: UserDep, threshold: Cut = None
) -> list[ClipOut]:
    """Each clip with the scores of its frames in time, and its events; empty where items are no frames."""
    names, scores = name_items(view_model.session), results.outcome().scores
    if "clip" not in names:
        return []
    clips: dict[str, list[FramePointOut]] = {}
    for item, clip, second, score in zip(view_model.session.ids, names["clip"], names["second"], scores, strict=True):
        clips.setdefault(clip, []).append(FramePointOut(item=item, second=second, score=float(score)))
    events = find_events(view_model, results, threshold)
    return [
        ClipOut(
            clip=clip,
            frames=sorted(frames, key=lambda frame: frame.second),
            events=[_event_out(event, frames) for event in events if event.clip == clip],
        )
        for clip, frames in clips.items()
    ]


@router.get("/intervals.csv", response_class=Response, responses=TEXT)
def download_intervals(
    view_model: ViewModelDep, results: ResultsDep, _owner: OwnerDep, threshold: Cut = None
) -> Response:
    """The events of clips as CSV: start, end and peak."""
    events = find_events(view_model, results, threshold)
    return as_download("intervals.csv", write_to_bytes(".csv", lambda path: write_interval_file(path, events)))


def find_events(view_model: ViewModel, results: Results, threshold: float | None) -> tuple[Interval, ...]:
    """Alarms of frames that follow one another, at a threshold."""
    outcome = results.outcome()
    alarms = outcome.scores > (outcome.threshold if threshold is None else threshold)
    return name_intervals(name_items(view_model.session), outcome.scores, np.asarray(alarms))


def _event_out(event: Interval, frames: list[FramePointOut]) -> IntervalOut:
    peak = min(frames, key=lambda frame: abs(frame.second - event.peak))
    return IntervalOut(
        start=event.start, end=event.end, peak=event.peak, score=event.score, n_alarms=event.n_alarms, item=peak.item
    )
