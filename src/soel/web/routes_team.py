"""The API behind the team page: who labelled what, where they differ, the owner's word, invitations."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter

from soel.errors import SessionError
from soel.session import SessionState
from soel.web.context import REFUSALS, Asker, Owner, TheDesk, TheParts
from soel.web.desk import Desk
from soel.web.door import Visitor
from soel.web.shapes import (
    AnnotatorOut,
    DecideIn,
    DisagreementOut,
    InvitationIn,
    InvitationOut,
    NoteOut,
    TeamOut,
)
from soel.web.words import agreement_words

router = APIRouter(prefix="/api", tags=["team"], responses=REFUSALS)


@router.get("/team")
def read_team(desk: TheDesk, _visitor: Asker) -> TeamOut:
    """The annotators, how far they agree, and where they do not."""
    return _team_out(desk)


@router.post("/decisions")
def decide(message: DecideIn, desk: TheDesk, owner: Owner) -> TeamOut:
    """The owner's word on an item, above all votes."""
    desk.session.decide(desk.check(message.item), message.verdict, owner.name)
    return _team_out(desk)


@router.post("/invitations")
def invite(message: InvitationIn, parts: TheParts, owner: Owner) -> InvitationOut:
    """A link for one annotator, good for one use."""
    if message.name == owner.name:
        raise SessionError(f"{owner.name} is your own name, and answers are kept by name; choose another.")
    key = parts.door.new_key(Visitor(message.name, "annotator"))
    return InvitationOut(name=message.name, path=f"/enter?key={key}")


def _team_out(desk: Desk) -> TeamOut:
    state = desk.session.state
    differing = [
        DisagreementOut(
            item=item,
            title=desk.items.title(item),
            kind=desk.items.kind(item),
            votes={vote.who: vote.verdict for vote in state.answers[item].votes},
            notes=[NoteOut(who=note.who, text=note.text) for note in state.notes_of(item)],
        )
        for item in state.disagreements
    ]
    return TeamOut(
        annotators=_annotators(state), agreement=agreement_words(desk.session.agreement()), disagreements=differing
    )


def _annotators(state: SessionState) -> list[AnnotatorOut]:
    told = Counter((vote.who, vote.verdict) for answered in state.answers.values() for vote in answered.votes)
    return [
        AnnotatorOut(
            name=name,
            n_anomaly=told[name, "anomaly"],
            n_normal=told[name, "normal"],
            n_aside=told[name, "skip"] + told[name, "unsure"],
        )
        for name in sorted({who for who, _ in told})
    ]
