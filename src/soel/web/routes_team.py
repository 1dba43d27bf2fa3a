"""The API behind the team page: who labelled what, where they differ, the owner's word, invitations."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from fastapi import APIRouter

from soel.errors import SessionError
from soel.session import SessionState
from soel.session.agreement import measure_agreement
from soel.types import Verdict
from soel.validation import check_distinct
from soel.web.auth import Auth, User
from soel.web.dependencies import REFUSALS, ContextDep, OwnerDep, UserDep, ViewModelDep
from soel.web.schemas import (
    AnnotatorOut,
    DecideIn,
    DisagreementOut,
    InvitationIn,
    InvitationOut,
    NoteOut,
    RevocationIn,
    SignInOut,
    SignInsOut,
    TeamOut,
)
from soel.web.view_model import ViewModel
from soel.web.words import agreement_words

OWNERS = ("owner", "admin")
router = APIRouter(prefix="/api", tags=["team"], responses=REFUSALS)


@router.get("/team")
def read_team(view_model: ViewModelDep, user: UserDep) -> TeamOut:
    """The annotators, how far they agree, and where they do not."""
    return _team_out(view_model, user)


@router.post("/decisions")
def decide(message: DecideIn, view_model: ViewModelDep, owner: OwnerDep) -> TeamOut:
    """The owner's word on an item, above all votes."""
    view_model.decide(owner, message.item, message.verdict)
    return _team_out(view_model, owner)


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
    """Sign one person out everywhere, or everybody but this browser; their invitations end as well."""
    if message.name is None:
        context.auth.revoke_others(owner)
    else:
        context.auth.revoke(message.name)
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
    return SignInsOut(signed_in=people, invited=sorted({user.name for user in auth.invited()}))


def _team_out(view_model: ViewModel, user: User) -> TeamOut:
    state = view_model.seen_by(user)
    differing = [
        DisagreementOut(
            item=item,
            title=view_model.items.title(item),
            kind=view_model.items.kind(item),
            votes={vote.who: vote.verdict for vote in state.answers[item].votes},
            notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
        )
        for item in state.disagreements
    ]
    return TeamOut(
        annotators=_annotators(state),
        agreement=agreement_words(measure_agreement(state)),
        disagreements=differing,
    )


def _annotators(state: SessionState) -> list[AnnotatorOut]:
    votes = Counter((vote.who, vote.verdict) for answered in state.answers.values() for vote in answered.votes)
    return [
        AnnotatorOut(
            name=name,
            n_anomaly=votes[name, Verdict.ANOMALY],
            n_normal=votes[name, Verdict.NORMAL],
            n_aside=votes[name, Verdict.SKIP] + votes[name, Verdict.UNSURE],
        )
        for name in sorted({who for who, _ in votes})
    ]
