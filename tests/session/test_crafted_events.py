"""Events that somebody changed by hand and gave fitting digests: they are refused by name, or they mean something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from soel.errors import SoelError
from soel.oracle import SimulatedExpert
from soel.session import Session, fold
from soel.session.growth import remove_items
from soel.session.marks import Mark, Region
from soel.session.people import measure_agreement, measure_people, share_out, turn_of
from soel.session.standing import measure_quality
from soel.session.state import SessionState
from tests.session.conftest import IDS, TRUTH, MakeSession
from tests.session.test_refine import LISTENING

STRANGE: tuple[Any, ...] = (None, -1, 10**30, 1e308, "x", "2024-01-01", [[]], {"x": None})
NOW = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture
def worked(make_session: MakeSession) -> Session:
    """A session with an event of every kind."""
    session = make_session(settings=LISTENING)
    expert = SimulatedExpert(TRUTH)
    first = session.ask(6).items
    session.tell(dict.fromkeys(first[:3], "normal"), "ann")
    assert session.refine() is not None
    session.assign(["ann", "bob"])
    session.next_items("ann", 2)
    session.tell(dict.fromkeys(session.state.open[:1], "skip"), "bob")
    session.tell(dict.fromkeys(session.state.open[:1], "unsure"), "bob")
    session.undo("ann")
    session.tell(expert.answer(session.state.open), "ann")
    session.note(first[0], "odd", "bob")
    session.mark(first[0], Mark("ann", (Region("box", ((0.1, 0.1), (0.2, 0.3))),), 10, 10))
    session.decide(first[1], "normal")
    session.extend(3)
    session.let_maps_wait(True)
    session.describe("pumps", "all of them")
    session.fit()
    session.tell(expert.answer(session.spot_check(4).items), "ann")
    remove_items(session, [IDS[-1]])
    session.fit()
    return session


def changed(value: Any) -> Iterator[Any]:
    """The value with one of its parts exchanged, or left out."""
    yield from STRANGE
    parts = value.items() if isinstance(value, Mapping) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in parts:
        for other in changed(part):
            copy = dict(value) if isinstance(value, Mapping) else list(value)
            copy[key] = other
            yield copy
        if isinstance(value, Mapping):
            yield {name: kept for name, kept in value.items() if name != key}


def look_everywhere(state: SessionState) -> None:
    """What commands and pages read off a state."""
    items = [*state.open, *state.answers]
    _ = state.labels, state.disagreements, state.n_left, state.labels_digest, state.fit_is_current, state.taught_marks
    for item in items:
        _ = state.part_of(item), state.newest_part(item), state.notes_of(item), state.may_return(item)
    measure_quality(state), measure_people(state), measure_agreement(state), state.standing
    share_out(state, ["ann"]), turn_of(state, "ann", "", NOW)
    for fit in state.fits:
        _ = fit.advice and fit.advice.go_on, fit.figures.n_alarms > 0


def test_no_crafted_event_is_a_crash(worked: Session) -> None:
    events, config = [*worked.events], worked.config
    kinds = {event.kind for event in events}
    crashes = list[str]()
    for at, event in enumerate(events):
        bodies = [replace(event, body=body) for body in changed(dict(event.body)) if isinstance(body, dict)]
        others = [replace(event, item=None), replace(event, item="nobody's"), replace(event, at="yesterday")]
        others += [replace(event, at=""), replace(event, who="")]
        others += [replace(event, kind=kind) for kind in kinds]
        for crafted in bodies + others:
            try:
                with suppress(SoelError):
                    look_everywhere(fold([*events[:at], crafted, *events[at + 1 :]], config.budget))
            except Exception as error:
                crashes.append(f"{crafted.kind} {type(error).__name__}: {error}; {crafted}"[:300])
    assert {"round", "refine", "lease", "pool", "fit", "estimate", "mark", "assign", "undo", "maps"} <= kinds
    assert "\n".join(sorted({c.split(";")[0] for c in crashes})) == ""
