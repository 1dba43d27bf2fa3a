"""The API behind the team page: who labelled what, where they differ, the owner's word, invitations."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter

from soel.errors import SessionError
from soel.session import SessionState
from soel.types import Verdict
from soel.web.auth import User
from soel.web.dependencies import REFUSALS, ContextDep, OwnerDep, UserDep, ViewModelDep
from soel.web.schemas import (
    AnnotatorOut,
    DecideIn,
    DisagreementOut,
    InvitationIn,
    InvitationOut,
    NoteOut,
    TeamOut,
)
from soel.web.view_model import ViewModel
from soel.web.words import agreement_words

router = APIRouter(prefix="/api", tags=["team"], responses=REFUSALS)


@router.get("/team")
def read_team(view_model: ViewModelDep, _user: UserDep) -> TeamOut:
    """The annotators, how far they agree, and where they do not."""
    return _team_out(view_model)


@router.post("/decisions")
def decide(message: DecideIn, view_model: ViewModelDep, owner: OwnerDep) -> TeamOut:
    """The owner's word on an item, above all votes."""
    view_model.session.decide(view_model.check(message.item), message.verdict, owner.name)
    return _team_out(view_model)


@router.post("/invitations")
def invite(message: InvitationIn, context: ContextDep, owner: OwnerDep) -> InvitationOut:
    """A link for one annotator, good for one use."""
    if message.name == owner.name:
        raise SessionError(f"{owner.name} is your own name, and answers are kept by name; choose another.")
    key = context.auth.new_key(User(message.name, "annotator"))
    return InvitationOut(name=message.name, path=f"/enter?key={key}")


def _team_out(view_model: ViewModel) -> TeamOut:
    state = view_model.session.state
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
        agreement=agreement_words(view_model.session.agreement()),
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
