"""The API behind places in pictures: what users draw on them, and when they see what the detector would."""

from __future__ import annotations

from fastapi import APIRouter

from soel.errors import LabelError
from soel.session.marks import read_mark
from soel.web.dependencies import REFUSALS, OwnerDep, UserDep, ViewModelDep
from soel.web.messages import MapsIn, MarkIn
from soel.web.schemas import MapsOut, MarkOut, MarksOut
from soel.web.view_model import ViewModel

router = APIRouter(prefix="/api", tags=["labelling"], responses=REFUSALS)


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
    marks = [MarkOut.model_validate(mark) for mark in view_model.marks(user, item, seen)]
    return MarksOut(version=seen.last_event, marks=marks)


def _maps_out(view_model: ViewModel) -> MapsOut:
    has_maps = any(view_model.items.has_map(item) for item in view_model.session.ids[:1])
    return MapsOut(has_maps=has_maps, wait=view_model.session.state.maps_wait)
