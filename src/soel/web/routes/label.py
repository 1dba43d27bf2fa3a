"""The API behind labelling: where the session stands, one item, answers, undo, notes, marks, the guideline.

Routes are plain functions: the framework runs them in threads, so that a slow disk blocks nobody.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from soel.errors import LabelError, UnknownItemError
from soel.session import Answered, SessionState
from soel.session.labelling import version_of
from soel.session.marks import read_mark
from soel.web.auth import User
from soel.web.cards import N_SHOWN, ItemView, Look
from soel.web.dependencies import REFUSALS, ContextDep, Documented, OwnerDep, TextsDep, UserDep, ViewModelDep
from soel.web.findings import insight_words
from soel.web.messages import AnswerIn, GuidelineIn, ItemId, MapsIn, MarkIn, MoreIn, NoteIn, TrainIn, TurnIn, UndoIn
from soel.web.prepare import PreparationOut
from soel.web.routes.pages import render
from soel.web.schemas import (
    DecisionOut,
    DecisionsOut,
    GuidelineOut,
    InsightOut,
    ItemOut,
    MapsOut,
    MarksOut,
    NoteOut,
    StatusOut,
)
from soel.web.view_model import ViewModel

router = APIRouter(prefix="/api", tags=["labelling"], responses=REFUSALS)
Id = Annotated[ItemId, Query(description="The item's id")]
Size = Annotated[int, Query(ge=16, le=2048, description="The longest side in pixels")]
Search = Annotated[str, Query(max_length=200, description="A text that names of columns hold")]
Most = Annotated[int, Query(ge=1, le=5000, description="How many values at most")]
PICTURES: Documented = {200: {"content": {"image/jpeg": {}, "image/png": {}, "image/webp": {}}}}


@router.get("/status")
def read_status(view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Where the session stands for this user."""
    return view_model.status(user)


@router.get("/preparation")
def read_preparation(_user: UserDep) -> PreparationOut:
    """That the session is there; before, another app answers here and says how far it is."""
    return PreparationOut(stage="ready")


@router.post("/turn")
def take_turn(message: TurnIn, view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Reserve the next item for this window, so that nobody else is shown it meanwhile."""
    return _next(view_model, user, message.tab)


@router.get("/item")
def read_item(
    view_model: ViewModelDep, user: UserDep, texts: TextsDep, id: Id, search: Search = "", most: Most = N_SHOWN
) -> ItemOut:
    """One item, ready to be shown; of a wide row the first values, and only those whose names hold a text."""
    return view_model.show(user, id, Look(search, most), texts)


@router.get("/why")
def read_why(view_model: ViewModelDep, _user: UserDep, texts: TextsDep, id: Id) -> list[str]:
    """Why an item was asked about, in sentences."""
    return list(view_model.why(view_model.check(id), texts))


@router.get("/insight")
def read_insight(context: ContextDep, user: UserDep, texts: TextsDep) -> InsightOut:
    """What was found so far, how the estimate moves, whether to go on."""
    state, seen = context.view_model.session.state, context.view_model.view_for(user)
    knows_all = seen.labels_digest == state.labels_digest  # else the estimate would tell what others said
    points = context.insight.points(state) if knows_all else ()
    words = insight_words(points, seen, texts, context.insight.given)
    return InsightOut(words=words, history=list(points))


@router.get("/image", response_class=Response, responses=PICTURES)
def read_image(
    request: Request, view_model: ViewModelDep, user: UserDep, id: Id, size: Size = 1024, map: bool = False
) -> Response:
    """The picture of an item, always a raster image; with `map`, unusual places are drawn over it.

    A browser keeps it, and asks each time whether it is still the same: other data can come under the same id.
    """
    picture = view_model.picture(user, id, size, map)
    if picture is None:
        raise UnknownItemError("This item has no picture or no map; it may be a row of a table.")
    tag = f'"{sha256(picture.content).hexdigest()[:32]}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(picture.content, media_type=picture.media_type, headers=headers)


@router.post("/answers")
def give_answer(message: AnswerIn, view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Store one answer. It is on disk before this replies."""
    with view_model.session.one_state():
        view_model.answer(user, message.answer)
        return _next(view_model, user, message.tab, message.item)


@router.post("/undo")
def undo_answer(message: UndoIn, view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Take an answer of this user back: the newest one, and only if it is the one that is named."""
    with view_model.session.one_state():
        return _next(view_model, user, message.tab, view_model.undo(user, message.event))


@router.post("/notes")
def write_note(message: NoteIn, view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Keep a note on an item, in place of the user's earlier one."""
    view_model.session.note(view_model.check(message.item), message.note.strip(), user.name)
    return view_model.status(user, about=message.item)


@router.get("/decisions")
def read_decisions(view_model: ViewModelDep, user: UserDep) -> DecisionsOut:
    """All answers that hold, newest first, with the user's own beside them."""
    state = view_model.view_for(user)
    newest = sorted(state.answers.items(), key=lambda pair: -pair[1].number)
    items = view_model.items
    decisions = [_decision_out(items, state, item, answered, user) for item, answered in newest]
    return DecisionsOut(version=state.last_event, decisions=decisions)


@router.post("/train")
def start_training(message: TrainIn, view_model: ViewModelDep, user: OwnerDep) -> StatusOut:
    """Learn from all answers so far, in the background."""
    view_model.train(message.despite_disputes)
    return view_model.status(user)


@router.post("/more")
def ask_for_more(message: MoreIn, view_model: ViewModelDep, user: OwnerDep) -> StatusOut:
    """Ask about further items, to learn, to check the result or about what is not sure; the budget grows if need be."""
    view_model.more(user, message.n, message.purpose)
    return view_model.status(user)


@router.post("/go-on")
def go_on(view_model: ViewModelDep, user: OwnerDep) -> StatusOut:
    """Begin again what was interrupted: drawing the first items, or training."""
    view_model.go_on()
    return view_model.status(user)


@router.post("/look")
def look(view_model: ViewModelDep, user: UserDep) -> StatusOut:
    """Make the results of the last training, where it was done elsewhere; they are there for everybody."""
    view_model.look()
    return view_model.status(user)


@router.put("/guideline")
def write_guideline(message: GuidelineIn, view_model: ViewModelDep, _owner: OwnerDep) -> GuidelineOut:
    """Replace the guideline; the owner's right. Another text than the one that was changed is not overwritten."""
    view_model.session.write_guidelines(message.text, message.version)
    return GuidelineOut(text=message.text, html=str(render(message.text)), version=version_of(message.text))


def _next(view_model: ViewModel, user: User, tab: str, about: str = "") -> StatusOut:
    """The session after a change; a window that shows items one by one gets its next one reserved.

    about: the item that was changed.
    """
    if tab:
        view_model.take_turn(user, tab)
    return view_model.status(user, tab, about)


def _decision_out(items: ItemView, state: SessionState, item: str, answered: Answered, user: User) -> DecisionOut:
    vote = answered.vote_of(user.name)
    return DecisionOut(
        item=item,
        title=items.title(item),
        kind=items.kind(item),
        verdict=answered.verdict,
        mine=None if vote is None else vote.verdict,
        who=sorted({each.who for each in answered.votes} or {answered.who}),
        decided=answered.decision is not None,
        notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
        because=list(answered.because),
    )


@router.get("/maps")
def read_maps(view_model: ViewModelDep, _user: UserDep) -> MapsOut:
    """Whether unusual places of pictures are known, and when they are shown."""
    return _maps_out(view_model)


@router.post("/maps")
def choose_maps(message: MapsIn, view_model: ViewModelDep, owner: OwnerDep) -> MapsOut:
    """Show unusual places to everybody at once, or only after an own answer; the owner's right."""
    view_model.session.let_maps_wait(message.wait, owner.name)
    return _maps_out(view_model)


@router.post("/marks")
def draw_mark(message: MarkIn, view_model: ViewModelDep, user: UserDep) -> MarksOut:
    """Keep what the user drew on a picture, in place of what the same one drew before; nothing takes it back."""
    item = view_model.check(message.item)
    size = view_model.items.picture_size(item)
    if size is None:
        raise LabelError("This item is no picture, so nothing can be drawn on it.")
    body = {"regions": [region.model_dump() for region in message.regions], "width": size[0], "height": size[1]}
    view_model.session.mark(item, read_mark(user.name, body))
    seen = view_model.view_for(user)
    return MarksOut(version=seen.last_event, marks=view_model.marks(user, item, seen))


def _maps_out(view_model: ViewModel) -> MapsOut:
    has_maps = any(view_model.items.has_map(item) for item in view_model.session.ids[:1])
    return MapsOut(has_maps=has_maps, wait=view_model.session.state.maps_wait)
