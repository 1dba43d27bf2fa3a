"""Blind labelling: what others said about an item is told to nobody who may still be asked about it."""

from __future__ import annotations

from dataclasses import replace

from soel.session import SessionState
from soel.session.answers import settle


def may_see(state: SessionState, item: str, who: str) -> bool:
    """Whether this annotator may know what others said: after an own label, or when no more labels are wanted."""
    vote, answered = state.vote_of(item, who), state.answers.get(item)
    if vote is not None and vote.is_label:
        return True
    if answered is None:
        return False
    return answered.decision is not None or answered.n_labels >= state.answers_per_item


def may_see_map(state: SessionState, item: str, who: str) -> bool:
    """Whether unusual places of a picture may be drawn for this annotator: at once, or after an own answer."""
    return not state.maps_wait or state.vote_of(item, who) is not None


def view_for(state: SessionState, who: str) -> SessionState:
    """The session as one annotator may see it: of the other items only their own answers, notes and marks are left.

    What is open, and how much of the budget is left, is to be read from the whole state.
    """
    hidden = {item for item in (*state.answers, *state.written_notes, *state.marks) if not may_see(state, item, who)}
    if not hidden:
        return state
    answers = dict(state.answers)
    notes, marks = dict(state.written_notes), dict(state.marks)
    for item in hidden:
        answered = answers.pop(item, None)
        own = None if answered is None else settle([vote for vote in answered.votes if vote.who == who], None)
        if own is not None:
            answers[item] = own
        notes[item] = tuple(note for note in notes.get(item, ()) if note.who == who)
        marks[item] = tuple(mark for mark in marks.get(item, ()) if mark.who == who)
    return replace(state, answers=answers, written_notes=notes, marks=marks)
