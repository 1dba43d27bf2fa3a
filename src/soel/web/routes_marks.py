"""The API behind drawing on pictures: where in them something is wrong, in the user's own hand."""

from __future__ import annotations

from fastapi import APIRouter

from soel.errors import LabelError
from soel.session.marks import read_mark
from soel.web.dependencies import REFUSALS, UserDep, ViewModelDep
from soel.web.messages import MarkIn
from soel.web.schemas import MarkOut

router = APIRouter(prefix="/api", tags=["labelling"], responses=REFUSALS)


@router.post("/marks")
def draw_mark(message: MarkIn, view_model: ViewModelDep, user: UserDep) -> list[MarkOut]:
    """Keep what the user drew on a picture, in place of what the same one drew before; nothing takes it back."""
    item = view_model.check(message.item)
    size = view_model.items.picture_size(item)
    if size is None:
        raise LabelError("This item is no picture, so nothing can be drawn on it.")
    body = {"regions": [region.model_dump() for region in message.regions], "width": size[0], "height": size[1]}
    view_model.session.mark(item, read_mark(user.name, body))
    return [MarkOut.model_validate(mark) for mark in view_model.marks(user, item)]
