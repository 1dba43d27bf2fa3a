"""What a user can do at the page and may know of the session. Nothing here imports torch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from soel.errors import SessionError, SoelError, StorageError, UnknownItemError
from soel.files import write_whole
from soel.report.outcome import has_outcome
from soel.report.view import Picture, Resembled
from soel.session import Answer, Answered, Session, SessionState
from soel.session.growth import remove_items
from soel.session.labels import TakenLabels, take_labels
from soel.session.people import turn_of, waiting_for
from soel.session.rounds import SPOT_CHECK
from soel.session.uploads import Uploads
from soel.session.worker import JobStatus
from soel.text import ENGLISH, Texts
from soel.types import Verdict
from soel.web.auth import User, may_see_map, view_for
from soel.web.cards import USUAL, Card, ItemView, Look
from soel.web.item_list import ItemList
from soel.web.schemas import AnsweredOut, ItemOut, MarkOut, NoteOut, StatusOut, UndoableOut
from soel.web.sentences import why_words

PROBE, BYTES = ".page.probe", 4096
SECONDS = 3.0  # between two tries


class Storage:
    """Tries now and then to write a few bytes into a folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._probe, self._clock = folder / PROBE, clock
        self._tried, self._problem, self._lock = -SECONDS, "", threading.Lock()

    def problem(self) -> str:
        """Why nothing can be written; empty when all is well."""
        with self._lock:  # of two at once, one would remove what the other has written
            if self._clock() - self._tried >= SECONDS:
                self._tried, self._problem = self._clock(), self._try()
            return self._problem

    def _try(self) -> str:
        try:
            write_whole(self._probe, b"\0" * BYTES, private=True, lasting=False)
            self._probe.unlink(missing_ok=True)  # another server of the session may have tried as well
        except StorageError as error:
            return str(error)
        except OSError as error:
            return f"The session's folder cannot be written to: {error.strerror or error}."
        return ""


Stage = Literal["preparing", "label", "waiting", "training", "done"]
Purpose = Literal["learn", "check", "not-sure"]  # what questions are for
STEPS: dict[Purpose, str] = {"learn": "ask", "check": "check", "not-sure": "unsure"}


class Work(Protocol):
    """Runs the steps that compute, in a process of their own."""

    def start(self, what: str, n: int | None = None) -> object:
        """Begin a step; one runs at a time.

        'ask' draws a round of `n`, 'check' a spot check, 'unsure' a round among what is not sure; 'fit' trains and
        looks at the pool, 'look' only looks at it with the last model.
        """

    def add(self, upload: str, replace: bool, who: str) -> None:
        """Begin to take what was uploaded into the session."""

    def progress(self) -> JobStatus | None:
        """The step that runs, or the last one if it failed; None when all is well and quiet."""


class ViewModel:
    """One session, its items and its background work, shared by all users. show: makes the view of its pool's items."""

    def __init__(self, session: Session, show: Callable[[Session], ItemView], work: Work) -> None:
        self.session, self._show, self._work = session, show, work
        self._shown: tuple[int, ItemView, ItemList] | None = None
        self._starting, self._storage = threading.Lock(), Storage(session.folder.path)
        self._known: tuple[int, frozenset[str]] = (0, frozenset())
        self.uploads = Uploads(session.folder.path)

    @property
    def items(self) -> ItemView:
        """How the items of the pool that holds now are shown."""
        return self._of_pool()[1]

    @property
    def listing(self) -> ItemList:
        """The same items, to be searched, filtered and sorted."""
        return self._of_pool()[2]

    def _of_pool(self) -> tuple[int, ItemView, ItemList]:
        """What is kept of the items; what was known of an older pool is let go."""
        number = self.session.state.pool.number
        if self._shown is None or self._shown[0] != number:
            items = self._show(self.session)
            self._shown = (number, items, ItemList(self.session.ids, items))
        return self._shown

    def warm_up(self) -> None:
        """Read what the first item needs, while a browser opens. What goes wrong is said when it is asked for."""
        with suppress(SoelError, OSError):
            state = self.session.state
            for item in state.open[:1]:
                self.card(item, state)

    def check(self, item: str) -> str:
        """The id, if the session has such an item: everything is served by id from this list."""
        pools = self.session.state.pools
        if self._known[0] != len(pools):
            self._known = (len(pools), frozenset(self.session.folder_with(pools).ids))
        if item not in self._known[1]:
            raise UnknownItemError(f"This session has no item {item[:80]!r}. Check the id.")
        return item

    def status(self, user: User, tab: str = "", about: str = "") -> StatusOut:
        """Where the session stands, for one window of a user. about: the item that was changed."""
        progress, state = self._work.progress(), self.session.state
        seen, turn = view_for(state, user.name), turn_of(state, user.name, tab, datetime.now(UTC)).items
        votes = {item: vote for item in state.answers if (vote := state.vote_of(item, user.name)) is not None}
        n_waiting, n_in = _opinions(state, user.name)
        vote = votes.get(about)
        told = AnsweredOut(item=about, verdict=vote.verdict if vote else None, event=vote.number if vote else None)
        return StatusOut(
            version=state.last_event,
            who=user.name,
            is_owner=user.is_owner,
            stage=_stage(state, turn, progress),
            budget=state.budget,
            n_left=state.n_left,
            n_labels=len(seen.labels),
            n_anomalies=seen.n_anomalies,
            n_items=self.session.folder_with(state.pools).n_items,
            open=list(turn),
            mine=sorted(votes, key=lambda item: votes[item].number),
            undo=self._undoable(state, user.name),
            about=told if about else None,
            has_results=state.fit is not None,
            results_ready=has_outcome(self.session),
            n_disputes=len(state.disagreements),
            answers_per_item=state.answers_per_item,
            n_waiting=n_waiting,
            n_in=n_in,
            n_assigned=sum(user.name in waiting_for(state, item) for item in state.open),
            fit_is_current=state.fit_is_current,
            is_check=state.round is not None and state.round.strategy == SPOT_CHECK,
            storage_problem=self._storage.problem(),
            work=progress,
        )

    def _undoable(self, state: SessionState, who: str) -> UndoableOut | None:
        last = state.undoable.get(who)
        if last is None or last.item in state.gone:
            return None
        return UndoableOut(item=last.item, title=self.items.title(last.item), event=last.number)

    def view_for(self, user: User, state: SessionState | None = None) -> SessionState:
        """The session as far as this user may know it, at this state or now."""
        return view_for(state or self.session.state, user.name)

    def names(self) -> set[str]:
        """Everybody who answered or wrote something."""
        state = self.session.state
        voters = {vote.who for answered in state.answers.values() for vote in answered.votes}
        return voters | {note.who for notes in state.written_notes.values() for note in notes}

    def take_turn(self, user: User, tab: str) -> None:
        self.session.next_items(user.name, 1, tab=tab)

    def card(self, item: str, state: SessionState, look: Look = USUAL, texts: Texts = ENGLISH) -> Card:
        """An item as a card; its own label does not change how it looks."""
        labels = {other: label for other, label in state.labels.items() if other != item}
        return self.items.card(self.check(item), labels, look, texts)

    def show(self, user: User, item: str, look: Look = USUAL, texts: Texts = ENGLISH) -> ItemOut:
        """An item as this user sees it: with their own answer, and what others said as far as they may know it."""
        state, items = self.view_for(user), self.items
        card, vote = self.card(item, state, look, texts), state.vote_of(item, user.name)
        written = {note.who: note.text for note in state.notes_of(item)}
        known = [other for other in card.neighbours if other in state.answers]
        return ItemOut(
            version=state.last_event,
            item=item,
            kind=card.kind,
            title=card.title,
            fields=list(card.fields),
            n_standing_out=card.n_standing_out,
            n_fields=card.n_fields,
            neighbours=[Resembled(other, items.title(other), str(state.answers[other].verdict)) for other in known],
            frames=list(items.frames(item)),
            has_map=card.has_map and may_see_map(state, item, user.name),
            verdict=None if vote is None else vote.verdict,
            note=written.pop(user.name, ""),
            notes=[NoteOut(who=who, text=text) for who, text in written.items()],
            marks=self.marks(user, item, state),
            because=[] if vote is None else list(vote.because),
            named=[] if item not in state.answers else _named_by_others(state.answers[item], user.name),
        )

    def picture(self, user: User, item: str, size: int, with_map: bool) -> Picture | None:
        """The picture of an item, with unusual places drawn over it where this user may see them."""
        if with_map and not may_see_map(self.session.state, self.check(item), user.name):
            raise SessionError("Unusual places are shown after your own answer; the owner has chosen so.")
        return self.items.image(self.check(item), size, with_map)

    def marks(self, user: User, item: str, state: SessionState) -> list[MarkOut]:
        """What was drawn on an item. state: as far as this user may know it."""
        drawn = state.marks.get(item, ())
        return [MarkOut(who=mark.who, mine=mark.who == user.name, regions=[*mark.regions]) for mark in drawn]

    def answer(self, user: User, answer: Answer) -> None:
        """Store one answer; it is on disk when this returns. The last open one starts the training.

        An answer with a key that this user sent before is not stored again.
        """
        before = self.session.state.open
        self.session.tell([answer], user.name)
        if before and not self.session.state.open:
            self.go_on()

    def undo(self, user: User, event: int) -> str:
        """Take back the user's newest answer if it is the one of this event; returns its item.

        What was taken back already stays so: the reply to the first request may have been lost.
        """
        try:
            return self.session.undo(user.name, event)
        except SessionError:
            item = self._find_undone(user.name, event)
            if item is None:
                raise
            return item

    def _find_undone(self, who: str, event: int) -> str | None:
        events = self.session.events
        told = next((each for each in events if each.number == event and each.who == who), None)
        if told is None or told.item is None:
            return None
        is_named = any(each.kind == "undo" and each.who == who and each.body.get("of") == event for each in events)
        vote = self.session.state.vote_of(told.item, who)
        return told.item if is_named and (vote is None or vote.number != event) else None

    def decide(self, owner: User, item: str, verdict: Verdict | None) -> None:
        """The owner's word on an item; with the last dispute settled, the training starts."""
        state = self.session.state
        before, held = state.disagreements, state.answers.get(self.check(item))
        if verdict == (held.decision.verdict if held is not None and held.decision is not None else None):
            return  # said before
        self.session.decide(item, verdict, owner.name)
        if before and not self.session.state.disagreements and not self.session.state.open:
            self.go_on()

    def go_on(self) -> None:
        """Begin what the session waits for, unless it waits for a person or something runs already."""
        with self._starting:
            if self._is_at_work():
                return
            status = self.session.status()
            if status.next == "fit" and not self.session.state.disagreements:
                self._work.start("fit")
            elif status.next == "ask" and not status.round:
                self._work.start("ask", status.n_left)
            elif status.model is not None and not has_outcome(self.session):
                self._work.start("look")

    def look(self) -> None:
        """Make what the results page shows, where the last training was elsewhere and left nothing to look at."""
        with self._starting:
            if self.session.state.fit is not None and not has_outcome(self.session) and not self._is_at_work():
                self._work.start("look")

    def train(self, despite_disputes: bool = False) -> None:
        """Learn from all answers so far; items that people disagree on are left out, and that has to be meant."""
        with self._starting:
            self._check_idle()
            n_disputes = len(self.session.state.disagreements)
            if n_disputes and not despite_disputes:
                raise SessionError(
                    f"People disagree on {n_disputes} {'item' if n_disputes == 1 else 'items'}, which training would "
                    "leave out. Decide them on the team page first, or train without them."
                )
            self._work.start("fit")

    def more(self, owner: User, n: int, purpose: Purpose = "learn") -> None:
        """Ask about `n` further items for a purpose; the budget grows where it has to."""
        with self._starting:
            self._check_idle()
            state = self.session.state
            if state.open:
                raise SessionError(f"{len(state.open)} items are still open; answer them first.")
            if purpose != "learn" and state.fit is None:
                raise SessionError("There is no result to check or to doubt yet; label the open items first.")
            if n > state.n_left:
                self.session.extend(n - state.n_left, owner.name)
            self._work.start(STEPS[purpose], n)

    def progress(self) -> JobStatus | None:
        return self._work.progress()

    def add(self, owner: User, upload: str, replace: bool) -> None:
        with self._starting:
            self._check_idle()
            self.uploads.data(upload)  # says first that nothing was sent
            self._work.add(upload, replace, owner.name)

    def remove(self, owner: User, items: Sequence[str]) -> None:
        """Take items out of the session, and look at what is left with the last model."""
        with self._starting:
            self._check_idle()
            remove_items(self.session, [self.check(item) for item in items], owner.name)
        self.look()

    def take_labels(self, upload: str) -> TakenLabels:
        """Take in the labels of a file that was sent."""
        taken = take_labels(self.session, self.uploads.data(upload))
        self.uploads.remove(upload)
        return taken

    def _is_at_work(self) -> bool:
        progress = self._work.progress()
        return progress is not None and progress.running

    def _check_idle(self) -> None:
        if self._is_at_work():
            raise SessionError("The machine is at work on this session already; wait until it is done.")

    def why(self, item: str, texts: Texts = ENGLISH) -> tuple[str, ...]:
        """Why an item was asked about, in sentences. Apart from the item: it takes a look at the whole pool."""
        drawn = self.session.state.part_of(item) or self.session.state.newest_part(item)
        if drawn is not None and drawn.strategy == SPOT_CHECK:
            return (texts("why.chance"),)
        try:
            return why_words(self.session.why(item), self.session.folder.n_items, self.items.title, texts)
        except UnknownItemError:
            raise
        except SessionError:
            return (texts("why.chosen"),)


def _named_by_others(answered: Answered, who: str) -> list[NoteOut]:
    others = (vote for vote in answered.votes if vote.because and vote.who != who)
    return [NoteOut(who=vote.who, text="; ".join(vote.because)) for vote in others]


def _opinions(state: SessionState, who: str) -> tuple[int, int]:
    """Of the items that this user labelled in the round: how many want more opinions, and how many have them all."""
    asked = {draw.item for draw in state.round.draws} if state.round is not None else set()
    votes = {item: state.vote_of(item, who) for item in asked}
    own = [item for item, vote in votes.items() if vote is not None and vote.is_label]
    n_waiting = len(set(own) & set(state.open))
    return n_waiting, len(own) - n_waiting


def _stage(state: SessionState, turn: tuple[str, ...], progress: JobStatus | None) -> Stage:
    if turn:
        return "label"
    if progress is not None and progress.running:
        return "training" if progress.what in ("fit", "look") else "preparing"
    if state.open:
        return "waiting"
    return "done" if state.rounds else "preparing"
