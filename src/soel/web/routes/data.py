"""The API behind the data page: what the session holds and how it was read, more data, fewer items, others' labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Query

from soel.session.item_tables import read_encoder
from soel.session.labels import TakenLabels
from soel.session.uploads import LONGEST_FILE_NAME, MOST_BYTES, NAME_PATTERN
from soel.tables.schema import Schema
from soel.text import Texts
from soel.web.dependencies import REFUSALS, OwnerDep, TextsDep, UserDep, ViewModelDep
from soel.web.messages import AddIn, DescriptionIn, RemoveIn, TakeIn
from soel.web.reading import ColumnOut, ReadingOut, describe_columns, describe_reading
from soel.web.schemas import ChangeOut, DataOut, UploadOut
from soel.web.sentences import error_words, reading_words
from soel.web.view_model import ViewModel

router = APIRouter(prefix="/api", tags=["data"], responses=REFUSALS)
Token = Annotated[
    str, Query(pattern="^[0-9a-f]{16}$", description="Made up by the sender, one for all files of a call")
]
FileName = Annotated[
    str, Query(min_length=1, max_length=LONGEST_FILE_NAME, pattern=NAME_PATTERN, description="The file's plain name")
]
At = Annotated[int, Query(ge=0, le=MOST_BYTES, description="The byte that the piece begins with")]
Piece = Annotated[bytes, Body(media_type="application/octet-stream")]


@router.get("/data")
def read_data(view_model: ViewModelDep, _user: UserDep, texts: TextsDep) -> DataOut:
    """What the session is called, what it holds and how it came in."""
    return _data_out(view_model, texts)


@router.post("/uploads")
def send_piece(
    view_model: ViewModelDep, _owner: OwnerDep, upload: Token, name: FileName, at: At, piece: Piece = b""
) -> UploadOut:
    """A piece of a file that is to be added: small requests, so that no limit has to be widened."""
    return UploadOut(size=view_model.uploads.write(upload, name, at, piece))


@router.post("/data")
def add_data(message: AddIn, view_model: ViewModelDep, owner: OwnerDep, texts: TextsDep) -> DataOut:
    """Take what was sent into the session, in the background."""
    view_model.add(owner, message.upload, message.replace)
    return _data_out(view_model, texts)


@router.get("/reading")
def read_reading(view_model: ViewModelDep, user: UserDep, texts: TextsDep) -> ReadingOut:
    """How the table was read, in a line; unfolded while the owner could still mean something otherwise."""
    state = view_model.session.state
    return describe_reading(_schema_of(view_model), texts, may_unfold=user.is_owner and not state.answers)


@router.get("/columns")
def read_columns(view_model: ViewModelDep, _user: UserDep, texts: TextsDep) -> list[ColumnOut]:
    """How each column was read when the session was made, what is not sure first; empty for pictures."""
    reading = _schema_of(view_model)
    return [] if reading is None else describe_columns(reading, texts)


@router.post("/removals")
def remove(message: RemoveIn, view_model: ViewModelDep, owner: OwnerDep, texts: TextsDep) -> DataOut:
    """Take items out of the session; what was said of them counts no more."""
    view_model.remove(owner, message.items)
    return _data_out(view_model, texts)


@router.post("/labels")
def take_labels(message: TakeIn, view_model: ViewModelDep, _owner: OwnerDep) -> TakenLabels:
    """Take in the labels of a file that was sent, such as those of another session of the same data."""
    return view_model.take_labels(message.upload)


@router.put("/description")
def describe(message: DescriptionIn, view_model: ViewModelDep, owner: OwnerDep, texts: TextsDep) -> DataOut:
    """Call the session something; the owner's right."""
    view_model.session.describe(message.name, message.description, owner.name)
    return _data_out(view_model, texts)


def _schema_of(view_model: ViewModel) -> Schema | None:
    return read_encoder(view_model.session.folder).schema


def _data_out(view_model: ViewModel, texts: Texts) -> DataOut:
    session, progress = view_model.session, view_model.progress()
    state, config = session.state, session.config
    place = session.folder_with(state.pools)
    first = ChangeOut(data=config.origin, at=config.created, who="", n_added=config.n_items)
    later = [
        ChangeOut(
            data=pool.data,
            at=pool.at,
            who=pool.who,
            n_added=pool.n_added,
            n_replaced=pool.n_replaced,
            n_removed=pool.n_removed,
            n_displaced=pool.n_displaced,
            notes=[reading_words(note, texts) for note in pool.notes],
        )
        for pool in state.pools[1:]
    ]
    return DataOut(
        name=state.name,
        description=state.description,
        n_items=place.n_items,
        n_rows=place.n_rows,
        n_open=len(state.open),
        n_labels=state.n_spent,
        budget=state.budget,
        changes=[first, *later],
        work=None if progress is None else replace(progress, error=error_words(progress.error, texts)),
    )
