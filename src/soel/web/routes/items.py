"""The API behind the list of items and the gallery of alarms: a page of a selection, and the selection as a file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from soel.report.outcome import Outcome
from soel.report.reasons import find_why, read_reasons
from soel.session import SessionState
from soel.tables.rows import write_table
from soel.text import Texts
from soel.web.dependencies import REFUSALS, Context, ContextDep, Documented, OwnerDep, TextsDep, UserDep
from soel.web.items import LabelFilter, Op, Selection, Sort
from soel.web.reason_words import find_resembled, reason_fields
from soel.web.results import TYPES, Form, as_download, write_to_bytes
from soel.web.schemas import ItemsOut, ListedOut

router = APIRouter(prefix="/api", tags=["items"], responses=REFUSALS)
FILES: Documented = {200: {"content": {media_type: {} for media_type in TYPES.values()}}}
N_FIELDS, MOST_COLUMNS = 3, 5000
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[float | None, Query(allow_inf_nan=False)]


def selection(
    search: Text = "",
    label: LabelFilter = "",
    person: Text = "",
    alarms: bool = False,
    threshold: Number = None,
    low: Number = None,
    high: Number = None,
    column: Text = "",
    op: Op = "is",
    value: Text = "",
    sort: Sort = "score",
    unsure: bool = False,
) -> Selection:
    """What an address asks for."""
    return Selection(search, label, person, alarms, threshold, low, high, column, op, value, sort, unsure)


SelectionDep = Annotated[Selection, Depends(selection)]


@router.get("/items")
def read_items(
    context: ContextDep,
    user: UserDep,
    texts: TextsDep,
    wanted: SelectionDep,
    page: Annotated[int, Query(ge=1, le=10**9)] = 1,
    size: Annotated[int, Query(ge=1, le=100)] = 20,
) -> ItemsOut:
    """One page of the items that fit."""
    seen, outcome = context.view_model.view_for(user), context.results.latest()
    rows = context.items.rows(wanted, seen, outcome)
    n_pages = max(1, -(-len(rows) // size))
    page = min(page, n_pages)
    shown = rows[(page - 1) * size : page * size]
    reasons = read_reasons(context.view_model.session)
    ranks = None if outcome is None else context.items.ranks(outcome)
    return ItemsOut(
        version=seen.last_event,
        total=len(rows),
        page=page,
        size=size,
        n_pages=n_pages,
        columns=list(context.view_model.items.columns())[:MOST_COLUMNS],
        people=sorted({vote.who for answered in seen.answers.values() for vote in answered.votes}),
        items=[_list_item(context, seen, outcome, ranks, int(row), reasons, texts) for row in shown],
    )


@router.get("/items.{form}", response_class=Response, responses=FILES)
def download_items(context: ContextDep, owner: OwnerDep, wanted: SelectionDep, form: Form) -> Response:
    """All items that fit, with their scores, labels and own columns; harmless to a spreadsheet."""
    seen, outcome = context.view_model.view_for(owner), context.results.latest()
    rows = context.items.rows(wanted, seen, outcome)
    ranks = None if outcome is None else context.items.ranks(outcome)
    columns = context.view_model.items.columns()
    head = ["id", "name", "rank", "score", "probability", "alarm", "label", "who", *columns]
    ids = context.view_model.session.ids
    own = list(columns.values())
    facts = (_facts(context, seen, outcome, ranks, wanted, ids[row], int(row)) for row in rows)
    body = ([*known, *(column[row] for column in own)] for known, row in zip(facts, rows, strict=True))
    return as_download(f"items.{form}", write_to_bytes(f".{form}", lambda path: write_table(path, head, body)))


def _facts(
    context: Context, seen: SessionState, outcome: Outcome | None, ranks: Any, wanted: Selection, item: str, row: int
) -> list[Any]:
    answered = seen.answers.get(item)
    answer = ["", ""] if answered is None else [str(answered.verdict), "; ".join(vote.who for vote in answered.votes)]
    scores: list[Any] = ["", "", "", ""]
    if outcome is not None:
        cut = outcome.threshold if wanted.threshold is None else wanted.threshold
        score = float(outcome.scores[row])
        scores = [int(ranks[row]), score, float(outcome.probabilities[row]), score > cut]
    return [item, context.view_model.items.title(item), *scores, *answer]


def _list_item(
    context: Context,
    seen: SessionState,
    outcome: Outcome | None,
    ranks: Any,
    row: int,
    reasons: dict[str, Any],
    texts: Texts,
) -> ListedOut:
    item = context.view_model.session.ids[row]
    card = context.view_model.card(item, seen, most=N_FIELDS, texts=texts)
    answered = seen.answers.get(item)
    fields = [field for field in card.fields if field.stands_out]
    why = reason_fields(find_why(reasons, item), texts, True, context.view_model.items.title)
    return ListedOut(
        item=item,
        title=card.title,
        kind=card.kind,
        rank=None if ranks is None else int(ranks[row]),
        score=None if outcome is None else float(outcome.scores[row]),
        probability=None if outcome is None else float(outcome.probabilities[row]),
        verdict=None if answered is None else str(answered.verdict),
        fields=why or fields,
        resembles=find_resembled(context.view_model, seen, reasons, item),
    )
