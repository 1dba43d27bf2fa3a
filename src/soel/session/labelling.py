"""What annotators and the owner do in a session. None of it computes, so none of it needs an engine."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from soel.checks import LONGEST_GUIDELINES, LONGEST_NAME, check_distinct, check_text, clean_name
from soel.errors import LabelError, SessionError, UnknownItemError
from soel.files import hold_lock, write_whole
from soel.records import body_of
from soel.session.alarms import Night, find_kept
from soel.session.config import NewPool, PoolChange, PoolRef
from soel.session.events import (
    ANSWER_KINDS,
    SELF,
    Answer,
    Event,
    Store,
    as_answers,
    decision_on,
    read_names,
    read_verdict,
    verdict_of,
)
from soel.session.fold import Folding
from soel.session.folder import SessionFolder, write_pool
from soel.session.marks import Mark
from soel.session.people import new_lease, share_out, turn_of
from soel.session.standing import TellResult
from soel.session.state import SessionState
from soel.text import name_some

MOST_TRIES = 50
Own = TypeVar("Own", bound="Labelling")
Given = ParamSpec("Given")
Result = TypeVar("Result")
PATIENCE = 10.0  # seconds to wait for another process that writes the guidelines


class OverwrittenError(SessionError):
    """A text that would replace words which its writer has not seen."""


def version_of(text: str) -> str:
    """Tells one text from another."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def at_one_state(step: Callable[Concatenate[Own, Given], Result]) -> Callable[Concatenate[Own, Given], Result]:
    """A step of a session that goes by one reading of the store."""

    @wraps(step)
    def stepping(session: Own, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with session.one_state():
            return step(session, *given, **named)

    return stepping


class Labelling:
    """One folder, one list of events. What was read is kept, and each call reads only what is new.

    Safe for threads; what other processes store is known at the next call.
    """

    def __init__(self, folder: Path | SessionFolder, store: Store) -> None:
        self._place = folder if isinstance(folder, SessionFolder) else SessionFolder(Path(folder))
        self.config = self._place.config
        self._store = store
        self._folding = Folding(self.config.budget, self.config.answers_per_item)
        self._reading, self._within = threading.Lock(), threading.local()
        self._known: tuple[int, frozenset[str]] = (0, frozenset())
        self._places = {len(self._place.pools): self._place}

    @property
    def state(self) -> SessionState:
        """Where the session stands. Within `one_state`, the store is not asked again for what others did."""
        with self._reading:
            if not getattr(self._within, "has_read", False):
                self._folding.add(self._store.read(self._folding.last_event))
                self._within.has_read = getattr(self._within, "depth", 0) > 0
            return self._folding.state()

    @contextmanager
    def one_state(self) -> Iterator[SessionState]:
        """A request or a command: all steps of this thread within the block go by one reading of the store.

        Their own events are known at once.
        """
        self._within.depth = getattr(self._within, "depth", 0) + 1
        try:
            yield self.state
        finally:
            self._within.depth -= 1
            self._within.has_read &= self._within.depth > 0

    def _append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store events and take them up, with those that others stored just before."""
        stored = self._store.append(events)
        with self._reading:
            if stored and stored[0].number == self._folding.last_event + 1:
                self._folding.add(stored)
            elif stored and stored[-1].number > self._folding.last_event:
                self._folding.add(self._store.read(self._folding.last_event))
        return stored

    @property
    def folder(self) -> SessionFolder:
        """The session's folder, with the pool that holds now."""
        return self.folder_with(self.state.pools)

    def folder_with(self, pools: tuple[PoolRef, ...]) -> SessionFolder:
        """The session's folder with the pool of a moment; what was read of it is kept."""
        held = self._places.get(len(pools))
        if held is None:
            held = self._places[len(pools)] = replace(self._place, pools=pools)
        return held

    @property
    def events(self) -> Sequence[Event]:
        """Everything that ever happened here, in order."""
        return self._store.read()

    @property
    def ids(self) -> tuple[str, ...]:
        """The item ids, in row order."""
        return self.folder.ids

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    @at_one_state
    def next_items(self, who: str, n: int = 1, now: datetime | None = None, tab: str = "") -> tuple[str, ...]:
        """Up to `n` items for this annotator, leased so that no other annotator is shown them meanwhile.

        tab: a name for one window of the annotator. The same tab gets the same items until they are answered or
        the lease ends; another tab gets others. Nothing is drawn here: without an open round it is empty.
        """
        self._check_names([who])
        moment = now or datetime.now(UTC)
        for _ in range(MOST_TRIES):
            turn = turn_of(self.state, who, tab, moment)
            items = turn.items[:n]
            held = {lease.item for lease in turn.held if not lease.runs_out(moment)}
            wanted = [item for item in items if item not in held]
            if not wanted:
                return items
            leases = [new_lease(item, who, tab, moment, self.config.lease_minutes) for item in wanted]
            self._append([Event("lease", who, lease.item, body_of(lease)) for lease in leases])
        raise SessionError(f"No item could be reserved for {who!r}: others took each of them first. Try again.")

    def tell(self, answers: Mapping[str, str] | Sequence[Answer], who: str = "expert") -> TellResult:
        """Store these answers, all or none; they are on disk when this returns.

        An answer that only repeats what this annotator said is not stored again.
        """
        given = as_answers(answers) if isinstance(answers, Mapping) else answers
        return self.take_in([answer.event(who) for answer in given])

    @at_one_state
    def take_in(self, events: Sequence[Event]) -> TellResult:
        """Store what annotators and the owner say (answers, decisions, notes, marks), all or none.

        What only repeats what stands is not stored again.
        """
        self._check_names(sorted({event.who for event in events}))
        for event in events:
            check_text(event.body.get("note") or "")
        self._check_items([str(event.item) for event in events if "row" not in event.body])
        for event in events:
            self.check_columns(str(event.item), read_names(event.body.get("because") or ()))
        unique, state = _once_each(events), self.state
        open_items = frozenset(state.open)
        fresh = [event for event in unique if not self._is_known(state, event, open_items)]
        self._append(fresh)
        return TellResult(len(fresh), len(unique) - len(fresh))

    def _is_known(self, state: SessionState, event: Event, open_items: frozenset[str]) -> bool:
        """Whether an event only says what stands. To set an open item aside again is new."""
        item, who, note, verdict = str(event.item), event.who, event.body.get("note"), verdict_of(event)
        if event.kind == "mark":
            held = next((each for each in state.marks.get(item, ()) if each.who == who), None)
            return event.body == body_of(held) if held is not None else not event.body["regions"]
        if event.kind == "decide":
            answered = state.answers.get(item)
            decision = None if answered is None else answered.decision
            return verdict == (None if decision is None else decision.verdict)
        if event.kind != "note":
            vote = state.vote_of(item, who)
            if self._folding.has_key(who, str(event.body.get("key") or "")):
                return True
            if vote is None or vote.verdict != verdict or (item in open_items and not vote.is_label):
                return False
            if (named := event.body.get("because")) is not None and read_names(named) != vote.because:
                return False
        return note is None or note == state.note_of(item, who)

    @at_one_state
    def undo(self, who: str = "expert", event: int | None = None) -> str:
        """Take back the newest answer of this annotator that still stands; returns its item.

        event: the number of that answer; refused where another one is the newest, or it was taken back already.
        """
        state = self.state
        newest = state.undoable.get(who)
        if newest is None and event is None:
            raise SessionError(f"{who!r} has no answer to take back. Name the annotator who told it.")
        if newest is None or event not in (None, newest.number):
            raise _not_newest(who, event)
        stored = self._append([Event("undo", who, body={"of": newest.number})])
        meanwhile = self._store.read(state.last_event) if stored[0].number > state.last_event + 1 else ()
        if any(e.who == who and e.kind in ANSWER_KINDS and e.number < stored[0].number for e in meanwhile):
            raise _not_newest(who, newest.number)
        return newest.item

    @at_one_state
    def decide(self, item: str, verdict: str | None, who: str = "owner") -> None:
        """The owner's word on an item, above all annotators'; None takes it back."""
        self.take_in([decision_on(item, None if verdict is None else read_verdict(verdict), who)])

    @at_one_state
    def assign(self, to: Sequence[str], items: Sequence[str] | None = None, who: str = "owner") -> dict[str, list[str]]:
        """Say who is to label which items; returns the names for each item that changed.

        Named items go to all of these people, open ones without an answer (None) in turn, so that everybody
        gets as many. An empty list of people gives them back to all.
        """
        self._check_names([who, *to])
        state = self.state
        if len(to) > state.answers_per_item and items is not None:
            raise SessionError(
                f"Each item wants {state.answers_per_item} answers, and {len(to)} people were named; name fewer, or "
                "name no item, and the open ones are shared out."
            )
        self._check_items(items or ())
        wanted = share_out(state, to) if items is None else {item: list(to) for item in items}
        changed = {item: names for item, names in wanted.items() if names != list(state.assigned.get(item, ()))}
        self._append([Event("assign", who, item, {"to": names}) for item, names in changed.items()])
        return changed

    def note(self, item: str, text: str, who: str = "expert") -> None:
        """Keep what an annotator writes about an item, in place of what the same one wrote before."""
        self.take_in([Event("note", who, item, {"note": text})])

    def mark(self, item: str, mark: Mark) -> None:
        """Keep what an annotator drew on an item, in place of what the same one drew before; nothing takes it back."""
        self.take_in([Event("mark", mark.who, item, body_of(mark))])

    @at_one_state
    def let_maps_wait(self, wait: bool, who: str = "owner") -> None:
        """Show unusual places of a picture only to those who have answered about it, or to everybody at once."""
        self._check_names([who])
        if wait != self.state.maps_wait:
            self._append([Event("maps", who, body={"wait": wait})])

    @at_one_state
    def extend(self, more: int, who: str = "owner") -> int:
        """Allow this many more labels; returns the new budget."""
        self._check_names([who])
        if more < 1:
            raise SessionError(f"A budget grows by at least one label, got {more}.")
        n_items, wanted = self.folder.n_items, self.state.budget + more
        if wanted > n_items:
            raise SessionError(f"{wanted} labels are more than the {n_items} items; ask for fewer, or add data first.")
        self._append([Event("budget", who, body={"more": more})])
        return self.state.budget

    @at_one_state
    def change_pool(self, known: SessionState, new: NewPool, who: str = "owner") -> PoolRef | None:
        """Store a new pool; None where something else happened meanwhile that it should have known. known: its base.

        Its files are written first and the event last, so that a crash in between leaves the session as it was.
        """
        self._check_names([who])
        if known.budget > len(new.ids):
            raise SessionError(
                f"{len(new.ids)} items would be left, fewer than the budget of {known.budget} labels. Keep more."
            )
        place = self.folder_with(known.pools)
        written = write_pool(place, new)
        change = PoolChange(written, known.last_event, frozenset(new.removed), frozenset(new.returned))
        self._append([Event("pool", who, body=body_of(change))])
        pools = self.state.pools
        if len(pools) > len(known.pools) and pools[len(known.pools)].folder == written.folder:
            return pools[len(known.pools)]
        shutil.rmtree(place.path / written.folder, ignore_errors=True)  # its event is void for ever
        return None

    @at_one_state
    def describe(self, name: str | None = None, description: str | None = None, who: str = "owner") -> None:
        """Call the session something, and say what it is about; None leaves what was said before."""
        state = self.state
        body = {
            "name": state.name if name is None else name.strip(),
            "description": state.description if description is None else description.strip(),
        }
        check_text(body["name"], LONGEST_NAME)
        check_text(body["description"], LONGEST_GUIDELINES)
        if "\n" in body["name"]:
            raise SessionError(f"The name {body['name']!r} has several lines; put the rest into the description.")
        if body != {"name": state.name, "description": state.description}:
            self._append([Event("describe", who, body=body)])

    @property
    def guidelines(self) -> str:
        """What the owner asks annotators to heed, in Markdown; empty where nothing was written."""
        try:
            return self.folder.guidelines.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise SessionError(f"{self.folder.guidelines} cannot be read ({error}); write it anew.") from error

    def write_guidelines(self, text: str, version: str | None = None) -> None:
        """Replace the guidelines. version: of the text that was changed; another one by then is not overwritten."""
        check_text(text, LONGEST_GUIDELINES)
        path = self.folder.guidelines
        with hold_lock(path.with_name(f".{path.name}.lock"), PATIENCE):
            if version is not None and version != version_of(self.guidelines):
                raise OverwrittenError("Somebody else changed the guideline meanwhile; nothing was stored.")
            write_whole(path, text.encode())

    def _check_names(self, names: Sequence[str]) -> None:
        """Refuse names that cannot be read, that belong to the session, or that look like another's."""
        known = set(self.state.names)
        for name in names:
            if clean_name(name) != name:
                raise SessionError(f"The name {name!r} is written {clean_name(name)!r}; use that.")
            check_distinct(name, known)
            known.add(name)

    def _check_items(self, items: Sequence[str]) -> None:
        place = self.folder
        if self._known[0] != len(place.pools):
            self._known = (len(place.pools), frozenset(place.ids))
        unknown = [item for item in items if item not in self._known[1]]
        if unknown:
            kept = find_kept(place, self.state, unknown)
            unknown = [item for item in unknown if item not in kept]
        if unknown:
            advice = "Check the ids."
            if place.n_rows is not None:
                advice = (
                    f"Its pool is a sample of {place.n_items} of the {place.n_rows} rows, and only those can be "
                    "labelled: check the ids, or start a session with a larger <<pool-rows>>."
                )
            raise UnknownItemError(f"This session has no item {name_some(unknown)}; nothing was stored. {advice}")

    def check_columns(self, item: str, names: Sequence[str]) -> None:
        """Refuse names, said of an item, of columns that the session's table does not have."""
        columns = self.folder.columns if names else ()
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise LabelError(
                f"Item {item!r} names the columns {name_some(unknown)}, which are not in the data. There are: "
                f"{name_some(columns) or 'none'}. Nothing was stored."
            )

    def store_night(self, night: Night) -> Night:
        """Store what a look at new data found; returned with its time."""
        (event,) = self._append([Event("watch", SELF, body=body_of(night))])
        return replace(night, at=event.at)


def _once_each(events: Sequence[Event]) -> list[Event]:
    """These events, answers once each, after checking that no annotator calls an item two things."""
    unique = dict[tuple[str, str | None, str | int], Event]()
    for number, event in enumerate(events):
        is_answer = event.kind in ANSWER_KINDS
        kept = unique.setdefault((event.who, event.item, "answer" if is_answer else number), event)
        if is_answer and (kept.kind, kept.body.get("label")) != (event.kind, event.body.get("label")):
            words = f"{verdict_of(kept)} and {verdict_of(event)}"
            raise LabelError(f"Item {event.item!r} is called {words} at once; nothing was stored. Keep one of them.")
    return list(unique.values())


def _not_newest(who: str, event: int | None) -> SessionError:
    return SessionError(
        f"Answer {event} is not the newest answer of {who!r}, or was taken back already; nothing was changed. "
        "Look at the session again."
    )
