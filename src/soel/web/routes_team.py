"""The API behind the team page: who labelled what, where they differ, the owner's word, invitations."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from fastapi import APIRouter

from soel.errors import SessionError
from soel.session import SessionState
from soel.session.agreement import measure_agreement
from soel.types import Verdict
from soel.validation import check_distinct
from soel.web.auth import Auth, User
from soel.web.dependencies import REFUSALS, ContextDep, OwnerDep, TextsDep, UserDep, ViewModelDep
from soel.web.ports import Card
from soel.web.schemas import (
    AnnotatorOut,
    DecideIn,
    DisagreementOut,
    FieldOut,
    InvitationIn,
    InvitationOut,
    NoteOut,
    RevocationIn,
    SignInOut,
    SignInsOut,
    TeamOut,
)
from soel.web.texts import Texts
from soel.web.view_model import ViewModel
from soel.web.words import agreement_words

OWNERS = ("owner", "admin")
N_FIELDS, BREAK = 6, 300.0  # values of a disputed item; seconds from which two answers are of two sittings
router = APIRouter(prefix="/api", tags=["team"], responses=REFUSALS)


@router.get("/team")
def read_team(view_model: ViewModelDep, user: UserDep, texts: TextsDep) -> TeamOut:
    """The annotators, how far they agree, and where they do not."""
    return _team_out(view_model, user, texts)


@router.post("/decisions")
def decide(message: DecideIn, view_model: ViewModelDep, owner: OwnerDep, texts: TextsDep) -> TeamOut:
    """The owner's word on an item, above all votes."""
    view_model.decide(owner, message.item, message.verdict)
    return _team_out(view_model, owner, texts)


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
    return SignInsOut(signed_in=people, invited=sorted({user.name for user in auth.invited()}))


def _team_out(view_model: ViewModel, user: User, texts: Texts) -> TeamOut:
    state, whole = view_model.seen_by(user), view_model.session.state
    differing = [
        DisagreementOut(
            item=item,
            title=view_model.items.title(item),
            kind=view_model.items.kind(item),
            votes={vote.who: vote.verdict for vote in state.answers[item].votes},
            notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
            fields=_fields(view_model.card(item, state, most=N_FIELDS, texts=texts)),
        )
        for item in state.disagreements
    ]
    return TeamOut(
        annotators=_annotators(state, whole),
        agreement=agreement_words(measure_agreement(state), texts),
        disagreements=differing,
    )


def _fields(card: Card) -> list[FieldOut]:
    return [FieldOut.model_validate(asdict(field)) for field in card.fields]


def _annotators(state: SessionState, whole: SessionState) -> list[AnnotatorOut]:
    """What each one answered, of what the user may know; how many answers and how fast is no secret."""
    votes = Counter((vote.who, vote.verdict) for answered in state.answers.values() for vote in answered.votes)
    times = defaultdict[str, list[datetime]](list)
    for answered in whole.answers.values():
        for vote in answered.votes:
            times[vote.who].append(datetime.fromisoformat(vote.at))
    return [
        AnnotatorOut(
            name=name,
            n_answers=len(times[name]),
            seconds=_pace(times[name]),
            n_anomaly=votes[name, Verdict.ANOMALY],
            n_normal=votes[name, Verdict.NORMAL],
            n_aside=votes[name, Verdict.SKIP] + votes[name, Verdict.UNSURE],
        )
        for name in sorted(times)
    ]


def _pace(times: list[datetime]) -> float | None:
    """The median of seconds between two answers of one sitting."""
    ordered = sorted(times)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ordered)]
    sitting = [gap for gap in gaps if gap < BREAK]
    return median(sitting) if sitting else None
