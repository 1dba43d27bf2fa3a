"""The API behind the results: the estimate, the map, the most anomalous items, files to take away."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from fastapi import APIRouter, Query, Response

from soel.assess.threshold import NEVER
from soel.errors import UnknownItemError
from soel.session.labels import export_labels
from soel.session.scores import name_items
from soel.types import Verdict
from soel.web.check_words import check_advice_words, promise_words, quality_words, unsure_words
from soel.web.dependencies import REFUSALS, Documented, OwnerDep, ResultsDep, TextsDep, UserDep, ViewModelDep
from soel.web.downloads import TYPES, Form, as_download, write_to_bytes
from soel.web.schemas_results import LabelledOut, ResultsOut, RowOut, ShareOut
from soel.web.words import advice_words

router = APIRouter(prefix="/api", tags=["results"], responses=REFUSALS)
Cut = Annotated[float | None, Query(allow_inf_nan=False, description="Alarms lie above it; without, the model's own")]
BYTES: Documented = {200: {"content": {"application/octet-stream": {}}}}
FILES: Documented = {200: {"content": {media_type: {} for media_type in TYPES.values()}}}
Parquet = Literal["parquet"]


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
