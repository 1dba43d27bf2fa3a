"""The API behind labelling: where the session stands, one item, answers, undo, decisions.

Routes are plain functions: the framework runs them in threads, so that a slow disk blocks nobody.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from soel.errors import UnknownItemError
from soel.session import Answered, SessionState
from soel.web.context import REFUSALS, Asker, Documented, Owner, TheDesk
from soel.web.desk import Desk, Standing
from soel.web.door import Visitor
from soel.web.markdown import render
from soel.web.shapes import (
    AnswerIn,
    DecisionOut,
    DeskOut,
    GuidelineIn,
    GuidelineOut,
    ItemId,
    ItemOut,
    MoreIn,
    NoteIn,
    NoteOut,
    PreparationOut,
    TurnIn,
    Verdict,
    WorkOut,
)

router = APIRouter(prefix="/api", tags=["labelling"], responses=REFUSALS)
Id = Annotated[ItemId, Query(description="The item's id")]
Size = Annotated[int, Query(ge=16, le=2048, description="The longest side in pixels")]
PICTURES: Documented = {200: {"content": {"image/jpeg": {}, "image/png": {}, "image/webp": {}}}}


@router.get("/desk")
def read_desk(desk: TheDesk, visitor: Asker) -> DeskOut:
    """Where the session stands for this visitor."""
    return _desk_out(visitor, desk, desk.standing(visitor))


@router.get("/preparation")
def read_preparation(_visitor: Asker) -> PreparationOut:
    """That the session is there; before, another app answers here and says how far it is."""
    return PreparationOut(stage="ready")


@router.post("/turn")
def take_turn(message: TurnIn, desk: TheDesk, visitor: Asker) -> DeskOut:
    """Reserve the next item for this window, so that nobody else is shown it meanwhile."""
    return _next(desk, visitor, message.tab)


@router.get("/item")
def read_item(desk: TheDesk, visitor: Asker, id: Id) -> ItemOut:
    """One item, ready to be shown."""
    shown = desk.show(visitor, id)
    mine = {
        "frames": [asdict(frame) for frame in desk.items.frames(id)],
        "neighbours": [
            {"item": near, "title": desk.items.title(near), "verdict": verdict} for near, verdict in shown.neighbours
        ],
        "notes": [{"who": who, "text": text} for who, text in shown.notes],
        "verdict": shown.verdict,
        "note": shown.note,
    }
    return ItemOut.model_validate(asdict(shown.card) | mine)


@router.get("/why")
def read_why(desk: TheDesk, _visitor: Asker, id: Id) -> list[str]:
    """Why an item was asked about, in sentences."""
    return list(desk.why(desk.check(id)))


@router.get("/image", response_class=Response, responses=PICTURES)
def read_image(desk: TheDesk, _visitor: Asker, id: Id, size: Size = 1024) -> Response:
    """The picture of an item, always a raster image."""
    picture = desk.items.image(desk.check(id), size)
    if picture is None:
        raise UnknownItemError("This item has no picture; it is a row of a table.")
    return Response(picture.content, media_type=picture.media_type, headers={"cache-control": "private, max-age=3600"})


@router.post("/answers")
def give_answer(message: AnswerIn, desk: TheDesk, visitor: Asker) -> DeskOut:
    """Store one answer. It is on disk before this replies."""
    desk.answer(visitor, message.item, message.verdict, message.note)
    return _next(desk, visitor, message.tab)


@router.post("/undo")
def undo_answer(message: TurnIn, desk: TheDesk, visitor: Asker) -> DeskOut:
    """Take this visitor's newest answer back."""
    desk.session.undo(visitor.name)
    return _next(desk, visitor, message.tab)


@router.post("/notes")
def write_note(message: NoteIn, desk: TheDesk, visitor: Asker) -> DeskOut:
    """Keep a note on an item, in place of the visitor's earlier one."""
    desk.session.note(desk.check(message.item), message.note.strip(), visitor.name)
    return _desk_out(visitor, desk, desk.standing(visitor))


@router.get("/decisions")
def read_decisions(desk: TheDesk, visitor: Asker) -> list[DecisionOut]:
    """All answers that hold, newest first, with the visitor's own beside them."""
    state = desk.session.state
    newest = sorted(state.answers.items(), key=lambda pair: -pair[1].number)
    return [_decision_out(desk, state, item, answered, visitor) for item, answered in newest]


@router.post("/train")
def start_training(desk: TheDesk, visitor: Asker) -> DeskOut:
    """Learn from all answers so far, in the background."""
    desk.train()
    return _desk_out(visitor, desk, desk.standing(visitor))


@router.post("/more")
def ask_for_more(message: MoreIn, desk: TheDesk, visitor: Asker) -> DeskOut:
    """Ask about further items; the budget grows where it has to."""
    desk.more(visitor, message.n)
    return _desk_out(visitor, desk, desk.standing(visitor))


@router.post("/go-on")
def go_on(desk: TheDesk, visitor: Asker) -> DeskOut:
    """Begin again what was interrupted: drawing the first items, or training."""
    desk.go_on()
    return _desk_out(visitor, desk, desk.standing(visitor))


@router.put("/guideline")
def write_guideline(message: GuidelineIn, desk: TheDesk, _owner: Owner) -> GuidelineOut:
    """Replace the guideline; the owner's right."""
    desk.session.write_guidelines(message.text)
    return GuidelineOut(text=message.text, html=str(render(message.text)))


def _next(desk: Desk, visitor: Visitor, tab: str) -> DeskOut:
    """The desk after a change; a window that shows items one by one gets its next one reserved."""
    if tab:
        desk.take_turn(visitor, tab)
    return _desk_out(visitor, desk, desk.standing(visitor, tab))


def _decision_out(desk: Desk, state: SessionState, item: str, answered: Answered, visitor: Visitor) -> DecisionOut:
    vote = answered.vote_of(visitor.name)
    return DecisionOut(
        item=item,
        title=desk.items.title(item),
        kind=desk.items.kind(item),
        verdict=answered.verdict,
        mine=None if vote is None else cast(Verdict, vote.verdict),
        who=sorted({each.who for each in answered.votes} or {answered.who}),
        decided=answered.decision is not None,
        notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
    )


def _desk_out(visitor: Visitor, desk: Desk, standing: Standing) -> DeskOut:
    state, progress = standing.state, standing.progress
    return DeskOut(
        who=visitor.name,
        is_owner=visitor.is_owner,
        stage=standing.stage,
        budget=state.budget,
        n_left=state.n_left,
        n_labels=len(state.labels),
        n_anomalies=state.n_anomalies,
        n_items=desk.session.config.n_items,
        open=list(standing.open),
        mine=list(standing.mine),
        can_undo=bool(state.undoable.get(visitor.name)),
        has_results=state.fit is not None,
        fit_is_current=state.fit_is_current,
        work=None if progress is None else WorkOut.model_validate(asdict(progress)),
    )
