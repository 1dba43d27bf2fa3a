"""The API behind the results: the estimate, the map, reasons, clips over time, files to take away."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import numpy as np
from fastapi import APIRouter, Query, Response

from soel.errors import UnknownItemError
from soel.report.reasons import find_why
from soel.scoring.score_table import name_intervals, write_interval_file
from soel.session.labels import export_labels
from soel.session.score_file import name_items
from soel.text import Texts
from soel.types import Interval, Verdict
from soel.web.dependencies import (
    REFUSALS,
    ContextDep,
    Documented,
    FindingsDep,
    OwnerDep,
    PageContext,
    TextsDep,
    UserDep,
    ViewModelDep,
)
from soel.web.findings import TYPES, Findings, Form, as_download, write_to_bytes
from soel.web.messages import ItemId
from soel.web.schemas import (
    ClipOut,
    FramePointOut,
    IntervalOut,
    LabelledOut,
    NamedOut,
    ReasonsOut,
    ResultsOut,
    ResultsView,
)
from soel.web.sentences import reason_fields
from soel.web.view_model import ViewModel

router = APIRouter(prefix="/api", tags=["results"], responses=REFUSALS)
Cut = Annotated[float | None, Query(allow_inf_nan=False, description="Alarms lie above it; without, the model's own")]
BYTES: Documented = {200: {"content": {"application/octet-stream": {}}}}
FILES: Documented = {200: {"content": {media_type: {} for media_type in TYPES.values()}}}
Parquet = Literal["parquet"]
TEXT: Documented = {200: {"content": {TYPES["csv"]: {}}}}
Id = Annotated[ItemId, Query(description="The item's id")]


@router.get("/results")
def read_results(context: ContextDep, user: UserDep, texts: TextsDep) -> ResultsOut:
    """What the last fit says about the pool."""
    view_model = context.view_model
    seen, shown = view_model.view_for(user), context.findings.view(user, texts)
    labelled = [
        LabelledOut(item=item, row=row, verdict=cast(Verdict, seen.answers[item].verdict))
        for row, item in enumerate(view_model.session.ids)
        if item in seen.labels
    ]
    return ResultsOut(
        version=seen.last_event,
        fit_is_current=view_model.session.state.fit_is_current,
        view=shown,
        labelled=labelled,
        html=_draw_parts(context, shown, texts),
    )


def _draw_parts(context: PageContext, shown: ResultsView, texts: Texts) -> dict[str, str]:
    """What an answer may change, by the id of its place on the page."""
    parts = context.parts
    return {
        "facts": parts.facts(shown.line, texts),
        "ticks": parts.ticks(shown.histogram),
        "common": parts.in_common(shown.in_common, texts, True),
    }


@router.get("/map", response_class=Response, responses=BYTES)
def read_map(findings: FindingsDep, _user: UserDep) -> Response:
    """x, y, score and probability of every item in row order: four blocks of little-endian float32."""
    return Response(findings.arrays(), media_type="application/octet-stream")


@router.get("/row")
def read_row(view_model: ViewModelDep, _user: UserDep, row: Annotated[int, Query(ge=0, le=2**31)]) -> NamedOut:
    """The id of the item in a row of the map."""
    if row >= view_model.session.folder.n_items:
        raise UnknownItemError(f"This session has {view_model.session.folder.n_items} items, none in row {row}.")
    item = view_model.session.ids[row]
    return NamedOut(item=item, title=view_model.items.title(item))


@router.get("/scores.{form}", response_class=Response, responses=FILES)
def download_scores(findings: FindingsDep, _owner: OwnerDep, form: Form | Parquet, threshold: Cut = None) -> Response:
    """Scores, ranks and alarms; cells that a spreadsheet would run are made harmless."""
    return as_download(f"scores.{form}", findings.file(f".{form}", threshold))


@router.get("/labels.{form}", response_class=Response, responses=FILES)
def download_labels(view_model: ViewModelDep, _owner: OwnerDep, form: Form) -> Response:
    """Every answer that stands, with notes, names and times, under what items are called."""
    session = view_model.session
    names = name_items(session)
    content = write_to_bytes(f".{form}", lambda path: export_labels(session, form, path, names))
    return as_download(f"labels.{form}", content)


@router.get("/reasons")
def read_item_reasons(context: ContextDep, user: UserDep, texts: TextsDep, id: Id) -> ReasonsOut:
    """Which values raise an item's score, and the labelled item that it is most like, as far as the user may know."""
    view_model = context.view_model
    alarms = context.findings.alarms(user, texts)
    why = find_why(alarms.kept, view_model.check(id))
    return ReasonsOut(fields=reason_fields(why, texts, view_model.items.title), resembles=alarms.resembled(id))


@router.get("/timeline")
def read_timeline(
    view_model: ViewModelDep, findings: FindingsDep, _user: UserDep, threshold: Cut = None
) -> list[ClipOut]:
    """Each clip with the scores of its frames in time, and its events; empty where items are no frames."""
    names, scores = name_items(view_model.session), findings.outcome().scores
    if "clip" not in names:
        return []
    clips: dict[str, list[FramePointOut]] = {}
    for item, clip, second, score in zip(view_model.session.ids, names["clip"], names["second"], scores, strict=True):
        clips.setdefault(clip, []).append(FramePointOut(item=item, second=second, score=float(score)))
    events = find_events(view_model, findings, threshold)
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
    view_model: ViewModelDep, findings: FindingsDep, _owner: OwnerDep, threshold: Cut = None
) -> Response:
    """The events of clips as CSV: start, end and peak."""
    events = find_events(view_model, findings, threshold)
    return as_download("intervals.csv", write_to_bytes(".csv", lambda path: write_interval_file(path, events)))


def find_events(view_model: ViewModel, findings: Findings, threshold: float | None) -> tuple[Interval, ...]:
    """Alarms of frames that follow one another, at a threshold."""
    outcome = findings.outcome()
    alarms = outcome.scores > (outcome.threshold if threshold is None else threshold)
    return name_intervals(name_items(view_model.session), outcome.scores, np.asarray(alarms))


def _event_out(event: Interval, frames: list[FramePointOut]) -> IntervalOut:
    peak = min(frames, key=lambda frame: abs(frame.second - event.peak))
    return IntervalOut(
        start=event.start, end=event.end, peak=event.peak, score=event.score, n_alarms=event.n_alarms, item=peak.item
    )
