"""What the server answers about people: who labels what, where they disagree, who is signed in."""

from __future__ import annotations

from pydantic import BaseModel

from soel.web.ports import Kind
from soel.web.schemas import FieldOut, NoteOut


class PersonOut(BaseModel):
    """What one annotator answered, as far as the user may know, and is to answer.

    seconds: the usual time from answer to answer. minutes: of all sittings.
    """

    name: str
    n_answers: int
    n_anomaly: int
    n_normal: int
    n_aside: int
    n_assigned: int
    seconds: float | None
    minutes: float


class OpenOut(BaseModel):
    """An open item and who is to label it; nobody where it is for whoever comes first."""

    item: str
    title: str
    kind: Kind
    to: list[str]


class DisagreementOut(BaseModel):
    """An item that annotators label differently. votes: each name with its verdict."""

    item: str
    title: str
    kind: Kind
    votes: dict[str, str]
    notes: list[NoteOut]
    fields: list[FieldOut]


class TeamOut(BaseModel):
    """The annotators, how far they agree, where they do not, and who is to label what.

    open: the first open items; n_open: of how many. people: whom they can be assigned to.
    version: the number of the newest event that this knows of.
    """

    version: int
    annotators: list[PersonOut]
    n_open: int
    open: list[OpenOut]
    people: list[str]
    answers_per_item: int
    agreement: str
    disagreements: list[DisagreementOut]


class InvitationOut(BaseModel):
    """A link that lets one person in, once. path: to be put after the page's address."""

    name: str
    path: str


class SignInOut(BaseModel):
    """A browser that is signed in. since: a time in UTC."""

    name: str
    is_owner: bool
    is_this_browser: bool
    since: str


class SignInsOut(BaseModel):
    """Who is signed in, oldest first, and who is invited."""

    signed_in: list[SignInOut]
    invited: list[str]
