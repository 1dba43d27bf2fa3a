"""The API behind the results: the estimate, the map, reasons, clips over time, files to take away."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import numpy as np
from fastapi import APIRouter, Query, Response

from soel.assess.threshold import NEVER
from soel.errors import UnknownItemError
from soel.explain.words import name_group, say_common, say_pattern
from soel.report.reasons import find_why, read_reasons
from soel.scoring.clips import name_intervals, write_interval_file
from soel.session.labels import export_labels
from soel.session.scores import name_items
from soel.types import Interval, Verdict
from soel.web.cards import Field
from soel.web.dependencies import REFUSALS, Documented, OwnerDep, ResultsDep, TextsDep, UserDep, ViewModelDep
from soel.web.messages import ItemId
from soel.web.reason_words import (
    check_advice_words,
    find_resembled,
    promise_words,
    quality_words,
    reason_fields,
    unsure_words,
)
from soel.web.results import TYPES, Form, Results, as_download, write_to_bytes
from soel.web.schemas import (
    ClipOut,
    FramePointOut,
    IntervalOut,
    LabelledOut,
    ReasonsOut,
    ResultsOut,
    RowOut,
    ShareOut,
    SummaryOut,
)
from soel.web.view import ViewModel
from soel.web.words import advice_words

router = APIRouter(prefix="/api", tags=["results"], responses=REFUSALS)
Cut = Annotated[float | None, Query(allow_inf_nan=False, description="Alarms lie above it; without, the model's own")]
BYTES: Documented = {200: {"content": {"application/octet-stream": {}}}}
FILES: Documented = {200: {"content": {media_type: {} for media_type in TYPES.values()}}}
Parquet = Literal["parquet"]
TEXT: Documented = {200: {"content": {TYPES["csv"]: {}}}}
Id = Annotated[ItemId, Query(description="The item's id")]


@router.get("/results")
def read_results(view_model: ViewModelDep, results: ResultsDep, user: UserDep, texts: TextsDep) -> ResultsOut:
    """What the last fit says about the pool."""
    findings = results.findings()
    seen = view_model.view_for(user, findings.state)
    state, estimate = findings.state, findings.estimate
    row_of = {item: row for row, item in enumerate(view_model.session.ids) if item in seen.labels}
    words = {item: cast(Verdict, seen.answers[item].verdict) for item in seen.labels}
    return ResultsOut(
        version=seen.last_event,
        share=ShareOut(value=estimate.value, low=estimate.low, high=estimate.high),
        threshold=findings.outcome.threshold,
        n_items=view_model.session.folder.n_items,
        n_labels=len(seen.labels),
        fit_is_current=state.fit_is_current,
        labelled=[LabelledOut(item=item, row=row, verdict=words[item]) for item, row in row_of.items()],
        advice=list(advice_words(view_model.session.stopping_advice(), texts)),
        promise=promise_words(view_model.session.config.threshold, texts, can_alarm=findings.outcome.threshold < NEVER),
        quality=quality_words(view_model.session.quality(), texts),
        check_advice=check_advice_words(findings, texts),
        unsure=unsure_words(findings, texts),
    )


@router.get("/map", response_class=Response, responses=BYTES)
def read_map(results: ResultsDep, _user: UserDep) -> Response:
    """x, y, score and probability of every item in row order: four blocks of little-endian float32."""
    return Response(results.arrays(), media_type="application/octet-stream")


@router.get("/row")
def read_row(view_model: ViewModelDep, _user: UserDep, row: Annotated[int, Query(ge=0, le=2**31)]) -> RowOut:
    """The id of the item in a row of the map."""
    if row >= view_model.session.folder.n_items:
        raise UnknownItemError(f"This session has {view_model.session.folder.n_items} items, none in row {row}.")
    return RowOut(item=view_model.session.ids[row])


@router.get("/scores.{form}", response_class=Response, responses=FILES)
def download_scores(results: ResultsDep, _owner: OwnerDep, form: Form | Parquet, threshold: Cut = None) -> Response:
    """Scores, ranks and alarms; cells that a spreadsheet would run are made harmless."""
    return as_download(f"scores.{form}", results.file(f".{form}", threshold))


@router.get("/labels.{form}", response_class=Response, responses=FILES)
def download_labels(view_model: ViewModelDep, _owner: OwnerDep, form: Form) -> Response:
    """Every answer that stands, with notes, names and times, under what items are called."""
    session = view_model.session
    names = name_items(session)
    content = write_to_bytes(f".{form}", lambda path: export_labels(session, form, path, names))
    return as_download(f"labels.{form}", content)


@router.get("/reasons")
def read_item_reasons(view_model: ViewModelDep, user: UserDep, texts: TextsDep, id: Id) -> ReasonsOut:
    """Which values raise an item's score, and the labelled item that it is most like, as far as the user may know."""
    kept = read_reasons(view_model.session)
    fields = reason_fields(find_why(kept, view_model.check(id)), texts, title=view_model.items.title)
    return ReasonsOut(fields=fields, resembles=find_resembled(view_model, view_model.view_for(user), kept, id))


@router.get("/summary")
def read_summary(view_model: ViewModelDep, user: UserDep, texts: TextsDep) -> SummaryOut:
    """What the alarms have in common: columns whose usual values make them ordinary, and patterns of alike ones."""
    summary = read_reasons(view_model.session)["patterns"]
    if summary is None or not summary["n_alarms"]:
        return SummaryOut(words=[], drivers=[], groups=[])
    drivers = [
        Field(
            name=name_group(columns, texts),
            value="",
            words=texts("reason.driver", n=n),
            stands_out=False,
            strip=None,
        )
        for columns, n in summary["groups"][:5]
    ]
    labels, title = view_model.view_for(user).labels, view_model.items.title
    patterns = [say_pattern(pattern, labels, texts, title) for pattern in summary["patterns"]]
    return SummaryOut(words=say_common(summary, texts), drivers=drivers, groups=patterns)


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
