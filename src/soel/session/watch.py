"""One look a night: score what is new, keep what should be looked at, and say whether the detector still fits.

    inputs -> not watched yet -> features -> scores -> alarms, drift, rows outside the cover
           -> file of kept rows -> event `watch` (the watermark) -> verdict

An input is done when its event is stored; a process that dies before leaves at most a file that no event names, and the
next run does that input again. Inputs that cannot be read are named in an event of their own and left aside until their
content changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from soel.assess.quality import Quality, SpotCheck, Stratum
from soel.assess.sequential import Counts, RateTest, judge_rate
from soel.errors import EmptyTableError, SessionError, SoelError
from soel.files import hold_lock
from soel.numeric import mean_of_nearest, nearest
from soel.scoring.score import Scorer
from soel.scoring.score_table import free_name
from soel.session import Session, SessionState
from soel.session.alarms import DAYS, Night, open_questions, open_rows, read_kept, recent_nights, short, write_kept
from soel.session.folder import digest_of
from soel.session.item_tables import read_encoder_with_baseline, read_rows_as
from soel.session.score_file import explain_rows
from soel.tables.encoder import Encoder
from soel.tables.rows import write_table
from soel.types import Floats, Label, Progress

LOCK = ".watch.lock"
MOST_KEPT, MOST_EXPLAINED = 1000, 100  # alarms of one input; the highest scores
N_OUTSIDE = 3  # rows outside the cover that are asked about, the farthest
N_CHECKED = 2.0  # rows on each side of the threshold that are drawn by chance, expected a night
COVER_ROWS = 2000  # of the pool, that say how far a row lies from the others
MISTAKES = 0.05  # of the answers may be wrong: the precision allows for it
COVERED = 0.999  # of the pool's rows lie within the cover
MANY_OUTSIDE = 0.05  # of a night's rows: the pool no longer covers what comes in
SHEET = ("alarm_id", "question", "label", "note", "because", "input", "row", "name", "score", "probability", "why")
Verdict = Literal["fine", "look", "stale"]


@dataclass(frozen=True)
class Watched:
    """What a run did and found.

    nights: of this run, in order. refused: inputs of this run that could not be scored. rate: the test of the alarm
    rate over all nights of this model. questions: ids of kept rows that wait for an answer, alarms that were not
    drawn among them. proven: precision and misses of the last days; None where no drawn row was answered.
    """

    nights: tuple[Night, ...]
    refused: tuple[Night, ...]
    verdict: Verdict
    rate: RateTest
    questions: tuple[str, ...]
    proven: Quality | None

    @property
    def n_alarms(self) -> int:
        return sum(night.n_alarms for night in self.nights)


def watch(session: Session, inputs: Sequence[Path], progress: Progress | None = None) -> Watched:
    """Score every input that was not watched yet, oldest first; one run at a time."""
    place = session.folder
    if place.has_pictures:
        raise SessionError("Only sessions on tables can be watched; score new pictures with `soel score --data`.")
    busy = f"Another run watches {place.path}; wait for it, then run this again: nothing is scored twice."
    with hold_lock(place.path / LOCK, message=busy):
        done: list[Night] = []
        fresh = list(_find_fresh(session.state, inputs))
        if fresh:
            watcher = Watcher.of(session)
            for n_done, (path, digest) in enumerate(fresh, start=1):
                done.append(watcher.look(path, digest))
                if progress is not None:
                    progress(n_done, len(fresh))
    nights = tuple(night for night in done if not night.refused)
    refused = tuple(night for night in done if night.refused)
    return _conclude(session, nights, refused)


def _find_fresh(state: SessionState, inputs: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Inputs whose content no event knows, oldest first, with their digests; only those that were touched are read."""
    touched = {(night.input, night.size, night.changed) for night in state.nights}
    known = {night.digest for night in state.nights}
    found = sorted((path.stat().st_mtime_ns, path.name, path) for path in inputs if path.is_file())
    for changed, name, path in found:
        if (name, path.stat().st_size, changed) in touched:
            continue
        digest = digest_of(path)
        if digest not in known:
            known.add(digest)
            yield path, digest


@dataclass(frozen=True)
class Watcher:
    """Looks at inputs by one model. points: of the pool, in the detector's space. reach: the radius of the cover."""

    session: Session
    scorer: Scorer
    encoder: Encoder
    points: Floats | None
    reach: float
    rates: tuple[float, float] | None

    @classmethod
    def of(cls, session: Session) -> Watcher:
        """By the model of the session's current fit."""
        scorer, place = session.scorer(), session.folder
        detector = scorer.model.detector
        points, reach = None, np.inf
        if detector is not None:
            rows = np.random.default_rng(session.config.seed).permutation(place.n_items)[:COVER_ROWS]
            points = np.asarray(detector.space(np.asarray(place.pool[np.sort(rows)])), np.float64)
            reach = float(np.quantile(_nearest_other(points), COVERED))
        scored = [night for night in session.state.nights if night.part]
        rates = scored[0].rates if scored else None  # for good: what was drawn later is one sample with it
        return cls(session, scorer, read_encoder_with_baseline(place, scorer.selected), points, reach, rates)

    def look(self, path: Path, digest: str) -> Night:
        """Score one input and store its event."""
        found = path.stat()
        night = Night(path.name, found.st_size, found.st_mtime_ns, digest)
        try:
            night = self._score(path, night)
        except EmptyTableError:
            night = replace(night, refused="it has no rows")
        except SoelError as error:
            night = replace(night, refused=str(error))
        return self.session.store_night(night)

    def _score(self, path: Path, night: Night) -> Night:
        session, model = self.session, self.scorer.model
        table = read_rows_as(path, session.config, self.encoder.how, with_cells=True, drop_duplicates=False)
        x = self.encoder.encode(table.frame)
        scores = self.scorer.score(x)
        found = self.scorer.judge(tuple(table.ids.tolist()), scores)
        n_above = int(model.alarms(scores).sum())
        drift = self.scorer.judge_drift(self.encoder.baseline, self.encoder.tally(table.frame), n_above, len(scores))
        distances = self._measure(x)
        outside = distances > self.reach
        rates = self.rates or _choose_rates(n_above, len(scores))
        drawn = _draw(night.digest, found.alarms, rates)
        top = np.argsort(found.ranks, kind="stable")
        sampled = _sample(night.digest, len(scores), session.config.n_items / DAYS)
        shown = [top[: min(int(found.alarms.sum()), MOST_KEPT)], np.flatnonzero(drawn | sampled)]
        shown.append(np.argsort(-distances, kind="stable")[: min(int(outside.sum()), N_OUTSIDE)])
        rows = np.unique(np.concatenate(shown)).astype(np.int64)
        rows = rows[np.argsort(found.ranks[rows], kind="stable")]
        explained = rows[found.alarms[rows]][:MOST_EXPLAINED]
        whys = dict.fromkeys(rows.tolist(), ("", ""))
        if len(explained):
            said = explain_rows(session, self.scorer, table.frame.take(explained), x[explained])
            whys |= dict(zip(explained.tolist(), said, strict=True))
        part = f"{short(night.digest)}.parquet"
        kept = {
            "alarm_id": [f"{short(night.digest)}-{row + 1}" for row in rows.tolist()],
            "input": [night.input] * len(rows),
            "row": (rows + 1).tolist(),
            "name": [str(table.ids[row]) for row in rows],
            "score": found.scores[rows],
            "probability": found.probabilities[rows],
            "p_value": found.p_values[rows],
            "alarm": found.alarms[rows],
            "drawn": drawn[rows],
            "sampled": sampled[rows],
            "outside": outside[rows],
            "group": [group for group, _ in whys.values()],
            "why": [why for _, why in whys.values()],
            "model": [self.scorer.fingerprint] * len(rows),
            "cells": [_cells_of(table.cells, row) for row in rows.tolist()],
            "features": x[rows],
        }
        write_kept(session.folder, part, kept)
        return replace(
            night,
            n_rows=len(scores),
            n_alarms=int(found.alarms.sum()),
            n_outside=int(outside.sum()),
            rates=rates,
            moved=tuple(each.text for each in drift.findings if each.is_drift and each.what != "alarms"),
            model=self.scorer.fingerprint,
            part=part,
        )

    def _measure(self, x: Floats) -> Floats:
        """How far each row (n, d) lies from the nearest of the pool's points."""
        if self.points is None:
            return np.zeros(len(x))
        return nearest(np.asarray(self.scorer.model.detector.space(x), np.float64), self.points)


def nights_of(state: SessionState) -> list[Night]:
    """The nights that the current model scored, in order."""
    model = None if state.fit is None else state.fit.model.fingerprint
    return [night for night in state.nights if night.part and night.model == model]


def _conclude(session: Session, nights: tuple[Night, ...], refused: tuple[Night, ...]) -> Watched:
    state = session.state
    own = nights_of(state)
    pool = Counts(*(session.scorer().count_pool() if own else (0, session.folder.n_items)))
    rate = judge_rate(pool, [Counts(night.n_alarms, night.n_rows) for night in own if not night.moved])
    is_stale = rate.is_rejected or any(night.moved or _is_outside(night) for night in nights)
    n_alarms = sum(night.n_alarms for night in nights)
    verdict: Verdict = "stale" if is_stale else "look" if n_alarms else "fine"
    return Watched(nights, refused, verdict, rate, open_questions(session.folder, state), prove(session))


def _is_outside(night: Night) -> bool:
    return night.n_outside > MANY_OUTSIDE * max(night.n_rows, 1)


def write_questions(session: Session) -> Path | None:
    """Write what waits for an answer as a sheet that `tell` takes; returns its path, None where nothing waits."""
    shown = ("input", "row", "name", "score", "probability", "why")
    rows = open_rows(session.folder, session.state, (*shown, "cells"))
    cells = [json.loads(row["cells"]) for row in rows]
    own = list(dict.fromkeys(name for each in cells for name in each))
    header = [*SHEET, *(free_name(name, SHEET) for name in own)]
    lines = [
        [row["alarm_id"], row["question"], "", "", "", *(row[name] for name in shown), *map(each.get, own)]
        for row, each in zip(rows, cells, strict=True)
    ]
    out = session.folder.path / "alarms.csv"
    write_table(out, header, lines)
    return out if rows else None


def prove(session: Session, days: int = DAYS) -> Quality | None:
    """What answers to rows that were drawn by chance prove of the last days' alarms and of what they missed.

    Each row is drawn with a probability that is fixed for its side of the threshold, so the answered ones among the
    drawn are a uniform sample of that side, as long as they are answered in the order in which they are shown. The
    interval of the precision holds with up to `MISTAKES` wrong answers, too: where few alarms are real they would raise
    it.
    """
    state = session.state
    nights = recent_nights(state.nights, days)
    table = read_kept(session.folder, nights, ["alarm_id", "alarm", "drawn"])
    if table is None:
        return None
    checked = [row for row in table.to_pylist() if row["drawn"] and row["alarm_id"] in state.labels]
    if not checked:
        return None
    n_rows, n_alarms = sum(night.n_rows for night in nights), sum(night.n_alarms for night in nights)
    sides = []
    for is_alarm, size in ((True, n_alarms), (False, n_rows - n_alarms)):
        labels = [state.labels[row["alarm_id"]] for row in checked if row["alarm"] == is_alarm]
        sides.append(Stratum(size, n_checked=len(labels), n_found=sum(label == Label.ANOMALY for label in labels)))
    quality = SpotCheck(*sides).quality()
    precision = quality.precision
    return replace(quality, precision=None if precision is None else precision.allowing(MISTAKES))


def _choose_rates(n_alarms: int, n_rows: int) -> tuple[float, float]:
    """The probabilities with which alarms and other rows are drawn from now on, by the first night's numbers."""
    usual = max(n_alarms, 1), max(n_rows - n_alarms, 1)
    return min(1.0, N_CHECKED / usual[0]), min(1.0, N_CHECKED / usual[1])


def _draw(digest: str, alarms: np.ndarray, rates: tuple[float, float]) -> np.ndarray:
    """Which rows are checked (n,): each by itself, from a seed that follows from the input."""
    chances = np.random.default_rng(int(digest[:16], 16)).random(len(alarms))
    return np.asarray(chances < np.where(alarms, *rates))


def _sample(digest: str, n_rows: int, n_wanted: float) -> np.ndarray:
    """Rows (n,) that stand for their input in the next pool; in a month there are as many as the pool has items."""
    chances = np.random.default_rng(int(digest[16:32], 16)).random(n_rows)
    return np.asarray(chances < n_wanted / max(n_rows, 1))


def _nearest_other(points: Floats) -> Floats:
    """The distance (m,) from each point to the nearest of the others."""
    return mean_of_nearest(points, points, 1, np.arange(len(points)))


def _cells_of(cells: Mapping[str, Any], row: int) -> str:
    return json.dumps({name: None if values[row] is None else str(values[row]) for name, values in cells.items()})
