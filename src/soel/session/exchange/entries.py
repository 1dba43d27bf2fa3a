"""Labels on their way into or out of a session, whatever the file: one entry per answer, decision, note or mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from soel.checks import clean_name
from soel.errors import LabelError
from soel.session import Answer, Session, SessionState, TellResult
from soel.session.marks import Mark
from soel.types import Verdict


class EntryKind(StrEnum):
    """Whose word it is: an annotator's answer, the owner's decision, a note without a verdict, or what was drawn."""

    ANSWER = "answer"
    DECISION = "decision"
    NOTE = "note"
    MARK = "mark"


@dataclass(frozen=True)
class Entry:
    """One person's word on an item. verdict: None for a note or a mark. at: when, if known. mark: what was drawn."""

    item: str
    verdict: Verdict | None
    note: str
    who: str
    at: str
    kind: EntryKind = EntryKind.ANSWER
    mark: Mark | None = None


def list_entries(state: SessionState) -> list[Entry]:
    """Everything that stands: each annotator's newest answer, the owner's decisions, notes, marks; oldest first."""
    numbered: list[tuple[int, Entry]] = []
    for item, answered in state.answers.items():
        numbered += [(v.number, Entry(item, v.verdict, v.note, v.who, v.at)) for v in answered.votes]
        if (ruled := answered.decision) is not None:
            numbered.append((ruled.number, Entry(item, ruled.verdict, "", ruled.who, ruled.at, EntryKind.DECISION)))
    for item, notes in state.written_notes.items():
        numbered += [(n.number, Entry(item, None, n.text, n.who, n.at, EntryKind.NOTE)) for n in notes if n.text]
    for item, marks in state.marks.items():
        numbered += [(m.number, Entry(item, None, "", m.who, m.at, EntryKind.MARK, m)) for m in marks]
    return [entry for _, entry in sorted(numbered, key=lambda pair: pair[0])]


def store_entries(session: Session, entries: Sequence[Entry], who: str | None = None) -> TellResult:
    """Store these entries, all or none. who: in place of the names they carry."""
    named = [(clean_name(who or entry.who or "expert"), entry) for entry in entries]
    answers, decisions, notes, marks = [], [], [], []
    for name, entry in named:
        if entry.mark is not None:
            marks.append((entry.item, replace(entry.mark, who=name)))
        elif entry.verdict is None:
            notes.append((name, entry.item, entry.note))
        elif entry.kind is EntryKind.DECISION:
            decisions.append((name, entry.item, entry.verdict.value))
        else:
            answers.append((name, Answer(entry.item, entry.verdict, entry.note or None)))
    return session.take_in(answers, decisions, notes, marks)


def grow_budget(session: Session, before: SessionState) -> None:
    """Let the budget grow by what was labelled since without having been asked: it is for questions."""
    now, asked = session.state, {*before.open, *(item for item, held in before.answers.items() if held.is_settled)}
    n_new = sum(held.is_settled and item not in asked for item, held in now.answers.items())
    more = min(n_new, session.folder.n_items - now.budget)
    if more > 0:
        session.extend(more)


def read_kind(word: str) -> EntryKind:
    """The kind that a word stands for; nothing means an answer."""
    plain = word.strip().lower() or EntryKind.ANSWER
    if plain in set(EntryKind):
        return EntryKind(plain)
    raise LabelError(f"{word!r} is not a kind of entry. Use answer, decision, note or mark.")
