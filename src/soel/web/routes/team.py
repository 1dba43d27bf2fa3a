"""The API behind the team page: who labelled what, where they differ, the owner's word, invitations."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter

from soel.checks import check_distinct
from soel.errors import SessionError
from soel.session import SessionState
from soel.session.people import measure_agreement, measure_people
from soel.text import Texts
from soel.web.auth import Auth, User
from soel.web.cards import ItemView, Look
from soel.web.dependencies import REFUSALS, ContextDep, OwnerDep, PageContext, TextsDep, UserDep
from soel.web.messages import AssignIn, DecideIn, InvitationIn, RevocationIn
from soel.web.schemas import (
    DisagreementOut,
    InvitationOut,
    NoteOut,
    OpenOut,
    SignInOut,
    SignInsOut,
    TeamOut,
)
from soel.web.sentences import agreement_words

OWNERS = ("owner", "admin", "administrator", "boss", "root")  # names that others would take for the owner's
N_FIELDS, N_OPEN = 6, 200  # values of a disputed item; open items that are listed
router = APIRouter(prefix="/api", tags=["team"], responses=REFUSALS)


@router.get("/team")
def read_team(context: ContextDep, user: UserDep, texts: TextsDep) -> TeamOut:
    """The annotators, how far they agree, and where they do not."""
    return _team_out(context, user, texts)


@router.post("/decisions")
def decide(message: DecideIn, context: ContextDep, owner: OwnerDep, texts: TextsDep) -> TeamOut:
    """The owner's word on an item, above all votes."""
    context.view_model.decide(owner, message.item, message.verdict)
    return _team_out(context, owner, texts)


@router.post("/assignments")
def assign(message: AssignIn, context: ContextDep, owner: OwnerDep, texts: TextsDep) -> TeamOut:
    """Say who is to label which items."""
    known = _people(context, owner)
    unknown = [name for name in message.to if name not in known]
    if unknown:
        raise SessionError(f"{unknown[0]!r} has no part in this session; invite them first.")
    context.view_model.session.assign(message.to, message.items, owner.name)
    return _team_out(context, owner, texts)


@router.post("/invitations")
def invite(message: InvitationIn, context: ContextDep, owner: OwnerDep) -> InvitationOut:
    """A link for one annotator, good for one use."""
    if message.name == owner.name:
        raise SessionError(f"{owner.name} is your own name, and answers are kept by name; choose another.")
    if message.name.casefold() in OWNERS:
        raise SessionError(f"{message.name!r} would be taken for you, the owner; choose a person's name.")
    check_distinct(message.name, context.view_model.names() | context.auth.names())
    key = context.auth.new_key(User(message.name, "annotator"))
    return InvitationOut(name=message.name, path=f"/enter?key={key}")


@router.get("/sign-ins")
def read_sign_ins(context: ContextDep, owner: OwnerDep) -> SignInsOut:
    """Who is signed in, and who has an invitation that was not used yet."""
    return _sign_ins_out(context.auth, owner)


@router.post("/revocations")
def revoke(message: RevocationIn, context: ContextDep, owner: OwnerDep) -> SignInsOut:
    """Sign one person out, or everybody, on all browsers but this one; their invitations end as well."""
    if message.name is None:
        context.auth.revoke_others(owner)
    else:
        context.auth.revoke(message.name, owner.sign_in)
    return _sign_ins_out(context.auth, owner)


def _sign_ins_out(auth: Auth, owner: User) -> SignInsOut:
    people = [
        SignInOut(
            name=held.name,
            is_owner=held.role == "owner",
            is_this_browser=number == owner.sign_in,
            since=datetime.fromtimestamp(held.since, UTC).isoformat(timespec="seconds"),
        )
        for number, held in auth.sign_ins().items()
    ]
    return SignInsOut(signed_in=people, invited=sorted({user.name for user in auth.list_invited()}))


def _people(context: PageContext, owner: User) -> list[str]:
    """Everybody who is signed in, invited, or has answered."""
    return sorted({owner.name} | context.view_model.names() | context.auth.names())


def _team_out(context: PageContext, user: User, texts: Texts) -> TeamOut:
    view_model = context.view_model
    items = view_model.items
    whole = view_model.session.state
    state = view_model.view_for(user, whole)
    differing = [
        DisagreementOut(
            item=item,
            title=items.title(item),
            kind=items.kind(item),
            votes={vote.who: vote.verdict for vote in state.answers[item].votes},
            notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
            fields=list(view_model.card(item, state, Look(most=N_FIELDS), texts).fields),
        )
        for item in state.disagreements
    ]
    return TeamOut(
        version=whole.last_event,
        annotators=list(measure_people(whole, state)),
        n_open=len(whole.open),
        open=[_open_out(items, whole, item) for item in whole.open[:N_OPEN]] if user.is_owner else [],
        people=_people(context, user) if user.is_owner else [],
        answers_per_item=whole.answers_per_item,
        agreement=agreement_words(measure_agreement(state), texts),
        disagreements=differing,
    )


def _open_out(items: ItemView, state: SessionState, item: str) -> OpenOut:
    to = list(state.assigned.get(item, ()))
    return OpenOut(item=item, title=items.title(item), kind=items.kind(item), to=to)
