"""The API behind the results: the estimate, the map, the most anomalous items, files to take away."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from soel.errors import UnknownItemError
from soel.types import Verdict
from soel.web.dependencies import REFUSALS, Documented, OwnerDep, ResultsDep, UserDep, ViewModelDep
from soel.web.results import N_FIELDS, TopItem
from soel.web.schemas import FieldOut, LabelledOut, ResultsOut, RowOut, ShareOut, TopOut
from soel.web.words import advice_words

router = APIRouter(prefix="/api", tags=["results"], responses=REFUSALS)
Cut = Annotated[float | None, Query(allow_inf_nan=False, description="Alarms lie above it; without, the model's own")]
BYTES: Documented = {200: {"content": {"application/octet-stream": {}}}}
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
TEXT: Documented = {200: {"content": {CSV: {}}}}
COLUMNS: Documented = {200: {"content": {PARQUET: {}}}}


@router.get("/results")
def read_results(view_model: ViewModelDep, results: ResultsDep, user: UserDep) -> ResultsOut:
    """What the last fit says about the pool."""
    findings, seen = results.findings(), view_model.seen_by(user)
    state, estimate = findings.state, findings.estimate
    row_of = {item: row for row, item in enumerate(view_model.session.ids) if item in seen.labels}
    words = {item: cast(Verdict, seen.answers[item].verdict) for item in seen.labels}
    return ResultsOut(
        share=ShareOut(value=estimate.value, low=estimate.low, high=estimate.high),
        threshold=findings.outcome.threshold,
        n_items=view_model.session.config.n_items,
        n_labels=len(seen.labels),
        fit_is_current=state.fit_is_current,
        labelled=[LabelledOut(item=item, row=row, verdict=words[item]) for item, row in row_of.items()],
        top=[_top_out(top, words.get(top.item)) for top in findings.top],
        worth=list(advice_words(view_model.session.stopping_advice())),
    )


@router.get("/map", response_class=Response, responses=BYTES)
def read_map(results: ResultsDep, _user: UserDep) -> Response:
    """x, y, score and probability of every item in row order: four blocks of little-endian float32."""
    return Response(results.arrays(), media_type="application/octet-stream")


@router.get("/row")
def read_row(view_model: ViewModelDep, _user: UserDep, row: Annotated[int, Query(ge=0, le=2**31)]) -> RowOut:
    """The id of the item in a row of the map."""
    if row >= view_model.session.config.n_items:
        raise UnknownItemError(f"This session has {view_model.session.config.n_items} items, none in row {row}.")
    return RowOut(item=view_model.session.ids[row])


@router.get("/scores.csv", response_class=Response, responses=TEXT)
def download_csv(results: ResultsDep, _owner: OwnerDep, threshold: Cut = None) -> Response:
    """Scores, ranks and alarms as CSV; cells that a spreadsheet would run are made harmless."""
    return _file(results.file(".csv", threshold), CSV, "scores.csv")


@router.get("/scores.parquet", response_class=Response, responses=COLUMNS)
def download_parquet(results: ResultsDep, _owner: OwnerDep, threshold: Cut = None) -> Response:
    """Scores, ranks and alarms as Parquet."""
    return _file(results.file(".parquet", threshold), PARQUET, "scores.parquet")


def _top_out(top: TopItem, verdict: str | None) -> TopOut:
    fields = [FieldOut.model_validate(asdict(field)) for field in top.card.fields[:N_FIELDS] if field.stands_out]
    return TopOut(
        item=top.item,
        title=top.card.title,
        rank=top.rank,
        score=top.score,
        probability=top.probability,
        kind=top.card.kind,
        verdict=verdict,
        fields=fields,
    )


def _file(content: bytes, media_type: str, name: str) -> Response:
    return Response(content, media_type=media_type, headers={"content-disposition": f'attachment; filename="{name}"'})
