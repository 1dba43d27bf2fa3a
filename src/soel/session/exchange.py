"""Labels on their way into or out of a session, whatever the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from soel.errors import LabelError
from soel.session.answers import Answer, read_verdict
from soel.session.labelling import Labelling
from soel.session.results import Told
from soel.session.state import SessionState

Kind = Literal["answer", "decision", "note"]
KINDS: Mapping[str, Kind] = {"answer": "answer", "decision": "decision", "note": "note"}


@dataclass(frozen=True)
class Said:
    """One person's word on an item. label: anomaly, normal, skip or unsure, empty for a note. at: when, if known."""

    item: str
    label: str
    note: str
    who: str
    at: str
    kind: Kind = "answer"


def all_said(state: SessionState) -> list[Said]:
    """Everything that stands: each annotator's newest answer, the owner's decisions, notes; oldest first."""
    numbered: list[tuple[int, Said]] = []
    for item, answered in state.answers.items():
        votes = [(v.number, Said(item, v.verdict, v.note, v.who, v.at)) for v in answered.votes]
        numbered += votes
        if (ruled := answered.decision) is not None:
            numbered.append((ruled.number, Said(item, ruled.verdict, "", ruled.who, ruled.at, "decision")))
    for item, notes in state.written_notes.items():
        numbered += [(n.number, Said(item, "", n.text, n.who, n.at, "note")) for n in notes if n.text]
    return [said for _, said in sorted(numbered, key=lambda pair: pair[0])]


def take_said(session: Labelling, said: Sequence[Said], who: str | None = None) -> Told:
    """Store these words, all or none. who: in place of the names they carry."""
    named = [(who or each.who or "expert", each) for each in said]
    answers = [(name, Answer(s.item, read_verdict(s.label), s.note)) for name, s in named if s.kind == "answer"]
    decisions = [(name, s.item, read_verdict(s.label)) for name, s in named if s.kind == "decision"]
    notes = [(name, s.item, s.note) for name, s in named if s.kind == "note"]
    return session.take_in(answers, decisions, notes)


def read_kind(word: str) -> Kind:
    """The kind that a word stands for; nothing means an answer."""
    plain = word.strip().lower() or "answer"
    if plain in KINDS:
        return KINDS[plain]
    raise LabelError(f"{word!r} is not a kind of entry. Use answer, decision or note.")
