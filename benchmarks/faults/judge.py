"""What must be true after a fault: all that was acknowledged is there, nothing is half-written, and work goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults.work import GUIDELINES, N_ITEMS, N_MORE, WHO, verdict_of, work
from soel.session import Session, create
from soel.session.check import check_session
from soel.session.item_tables import read_items

Line = tuple[str, str, str]


@dataclass
class Known:
    """What a session must hold, by what was acknowledged of it."""

    done: set[str] = field(default_factory=set)
    told: dict[str, list[str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def add(self, what: str, item: str) -> None:
        if what in ("normal", "anomaly"):
            self.told.setdefault(item, []).append(what)
        elif what == "undo":
            self.told[item].pop()
        else:
            self.done.add(f"{what} {item}".strip())

    @property
    def labels(self) -> dict[str, str]:
        return {item: said[-1] for item, said in self.told.items() if said}


def read_known(lines: Iterable[Line]) -> tuple[Known, Known]:
    """What was acknowledged, and the same with the step that was begun last and may have happened or not."""
    acknowledged, perhaps = Known(), Known()
    pending: tuple[str, str] | None = None
    for word, what, item in lines:
        if word == "try":
            pending = (what, item)
        elif word == "ok":
            acknowledged.add(what, item)
            perhaps.add(what, item)
            pending = None
    if pending is not None:
        perhaps.add(*pending)
    return acknowledged, perhaps


def judge(lines: list[Line], folder: Path, table: Path, is_tidy: bool) -> list[str]:
    """What is wrong, in words. is_tidy: whether the process had the chance to clean up."""
    acknowledged, perhaps = read_known(lines)
    is_there = (folder / "config.json").exists()
    problems = []
    if "create" in acknowledged.done and not is_there:
        problems.append("lost: the session is gone")
    if is_tidy and not is_there and any(folder.parent.iterdir()):
        problems.append(f"left behind: {sorted(path.name for path in folder.parent.iterdir())}")
    if is_there:
        problems += _compare(folder, acknowledged, perhaps)
    return problems + _go_on(folder, table)


def _compare(folder: Path, acknowledged: Known, perhaps: Known) -> Iterator[str]:
    yield from _damage(folder)
    with closing(create.open_session(folder)) as session:
        labels = _labels(session)
        if labels not in (acknowledged.labels, perhaps.labels):
            yield f"lost: {labels} is stored, {acknowledged.labels} was acknowledged"
        for number in (1, 2):
            if f"round {number}" in acknowledged.done and len(session.state.rounds) < number:
                yield f"lost: round {number}"
        if "fit" in acknowledged.done and session.state.fit is None:
            yield "lost: the fit"
        pools = session.state.pools
        if "add" in acknowledged.done and not any(pool.n_added for pool in pools):
            yield "lost: the rows that were added"
        if "remove" in acknowledged.done and not any(pool.n_removed for pool in pools):
            yield "lost: the removal"
        wanted = N_ITEMS + sum(pool.n_added - pool.n_removed for pool in pools)
        if not len(session.ids) == len(session.folder.pool) == read_items(session.folder).frame.n_rows == wanted:
            yield f"half-written: the pool has {len(session.ids)} items, not {wanted}"
        if "guidelines" in acknowledged.done and session.guidelines != GUIDELINES:
            yield "lost: the guidelines"
        if session.guidelines not in ("", GUIDELINES):
            yield "half-written: the guidelines"
        for what in acknowledged.done:
            item = what.removeprefix("note ")
            if what.startswith("note ") and not session.state.notes_of(item):
                yield f"lost: the note on {item}"
    yield from _half_written(folder, acknowledged)


def _half_written(folder: Path, acknowledged: Known) -> Iterator[str]:
    csv, listing, scores = folder / "labels.csv", folder / "labels.json", folder / "scores.csv"
    for path, what in ((csv, "export labels.csv"), (listing, "export labels.json"), (scores, "score")):
        if what in acknowledged.done and not path.exists():
            yield f"lost: {path.name}"
    if csv.exists() and len(csv.read_text().splitlines()) < 2:
        yield "half-written: labels.csv"
    if scores.exists() and len(scores.read_text().splitlines()) != N_ITEMS + N_MORE:
        yield "half-written: scores.csv"
    try:
        json.loads(listing.read_text() if listing.exists() else "{}")
    except ValueError:
        yield "half-written: labels.json"


def _damage(folder: Path) -> list[str]:
    return [f"damaged: {each.name} ({each.means})" for each in check_session(folder) if each.is_whole is False]


def _labels(session: Session) -> dict[str, str]:
    votes = {item: session.state.vote_of(item, WHO) for item in session.state.answers}
    return {item: vote.verdict.value for item, vote in votes.items() if vote is not None}


def _go_on(folder: Path, table: Path) -> list[str]:
    """Finish the work without a fault; everything must be there at the end."""
    try:
        work(folder, table, lambda word, what, item: None)
        with closing(create.open_session(folder)) as session:
            wanted = {draw.item: verdict_of(draw.item).value for each in session.state.rounds for draw in each.asked}
            problems = [] if _labels(session) == wanted else [f"stuck: {_labels(session)} is not {wanted}"]
            problems += [] if session.state.fit is not None else ["stuck: there is no fit"]
            problems += [] if len(session.ids) == N_ITEMS + N_MORE - 1 else ["stuck: the pool did not grow"]
    except Exception as error:
        return [f"stuck: {type(error).__name__}: {error}"]
    return problems + _damage(folder)
