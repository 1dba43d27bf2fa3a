"""The pool as a round's model saw it: kept on disk, as evidence for a fit, whether to go on, why an item was asked."""

from __future__ import annotations

import secrets
import zipfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from soel.ask.space import Space
from soel.assess.metrics import auroc
from soel.errors import DamagedError
from soel.files import move, replacing
from soel.session.alarms import find_selected
from soel.session.folder import SessionFolder, digest_of
from soel.session.item_tables import read_encoder
from soel.session.marks import marked_places
from soel.session.rounds import Round, rows_of
from soel.settings import Profile
from soel.types import NO_NAMES, Estimate, Evidence, Floats, Pool, Rows

if TYPE_CHECKING:
    from soel.session.state import SessionState

GoOn = Literal["yes", "little", "unknown"]


@dataclass(frozen=True)
class PoolRecord:
    """The pool as one round's model saw it. scores: (N,), embeddings: (N, D)."""

    scores: Floats
    embeddings: Floats


def save_record(folder: Path, number: int, record: PoolRecord) -> tuple[str, str]:
    """Write what a round saw; returns the file's name and its SHA-256.

    The name carries the content's hash, so that two processes that draw the same round at the same
    moment cannot overwrite one another.
    """
    scores, embeddings = np.asarray(record.scores, np.float64), np.asarray(record.embeddings, np.float32)
    draft = folder / f"{number:04d}-{secrets.token_hex(8)}.npz"
    with replacing(draft) as file:
        np.savez(file, scores=scores, embeddings=embeddings)
    try:
        digest = digest_of(draft)
        name = f"{number:04d}-{digest[:12]}.npz"
        move(draft, folder / name)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return name, digest


def load_record(path: Path, digest: str, n_items: int) -> PoolRecord:
    """Read it back; a file that changed since is refused."""
    if digest_of(path) != digest:
        raise DamagedError(f"{path} is not the file that the round recorded; restore it from a copy.")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            record = PoolRecord(arrays["scores"], arrays["embeddings"])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    if record.scores.shape != (n_items,) or len(record.embeddings) != n_items:
        raise DamagedError(f"{path} is about {len(record.scores)} items, not {n_items}; restore it from a copy.")
    return record


def pool_of(place: SessionFolder, known: SessionState | None = None) -> Pool:
    """The pool of a moment, as the loop knows it. known: whose marks and named columns are learnt from."""
    kind = Profile.from_json(place.config.settings).kind
    assert kind is not None  # a session's profile is settled when it is created
    if known is None:
        return Pool(place.pool, kind, place.identity, place.patches, None, place.moments)
    marked, named = None, dict[int, Rows]()
    if place.patches is not None:
        at = rows_of(place.ids, known.taught_marks)
        marks = {row: known.taught_marks[item] for item, row in at.items()}
        marked = marked_places(marks, len(place.ids), place.grid.even)
    if known.named:
        encoder, at = read_encoder(place), rows_of(place.ids, known.named)
        found = {row: encoder.features_of(known.named[item]) for item, row in at.items()}
        named = {row: columns for row, columns in found.items() if len(columns)}
    selected = find_selected(place, known)
    return Pool(place.pool, kind, place.identity, place.patches, marked, place.moments, selected, named or NO_NAMES)


def gather_evidence(
    state: SessionState,
    ids_of: Callable[[Round], Sequence[str]],
    record_of: Callable[[Round], PoolRecord],
    among: Collection[str] | None = None,
) -> list[Evidence]:
    """The labels of each round that has any, with the pool as that round's model saw it. among: of these items alone.

    Refines by the model of their round saw the pool as it did, so their labels are evidence of one kind. Items of
    rounds that were drawn from an earlier pool are found in the newest round's pool, as that round's model saw it.
    """
    labels, evidence = state.labels, []
    if among is not None:
        labels = {item: labels[item] for item in among}
    parts = _answered_parts(state)
    if not parts:
        return []
    newest = parts[-1][0]
    row_of = rows_of(ids_of(newest), labels)
    for part, answered in parts:
        record = record_of(part if state.pools_of(part) == state.pools_of(newest) else newest)
        here = [item for item in answered if item in row_of]
        rows, codes = np.array([row_of[item] for item in here], np.int64), [labels[item] for item in here]
        evidence.append(Evidence(record.scores, record.embeddings, rows, np.array(codes, np.int8)))
    return [each for each in evidence if len(each.rows)]


def _answered_parts(state: SessionState) -> list[tuple[Round, list[str]]]:
    """What was labelled of each round, by the record that it was drawn with: its first part, and the items."""
    found = list[tuple[Round, list[str]]]()
    for drawn in state.rounds:
        by_record: dict[str, tuple[Round, list[str]]] = {}
        for part in drawn.parts:
            answered = [each.item for each in part.proposed if state.part_of(each.item) is part]
            by_record.setdefault(part.record, (part, []))[1].extend(answered)
        found += [group for group in by_record.values() if group[1]]
    return found


FEWEST = 8  # labels before anything is said about stopping
NEWEST = 4  # the newest part of the labels, one in so many, whose effect is looked at


def judge_moves(n_labels: int, n_anomalies: int, share: float, doubt: float, moved: float | None) -> GoOn:
    """The rule of thumb when to stop, while people label and after a fit: once the estimated share of anomalies rests.

    doubt: half its interval. moved: by the newest quarter of the labels, None where the share was given or cannot be
    compared. 'yes' while it moves, 'little' when it rests, 'unknown' with few labels or before the first anomaly.
    """
    if n_labels < FEWEST or not n_anomalies or moved is None:
        return "unknown"
    return "little" if moved < doubt / 4 and doubt < max(0.05, share) else "yes"


@dataclass(frozen=True)
class HeldBack:
    """How well the model that drew a round ranked that round's answers, which it had not seen.

    auroc: None where all answers were of one kind.
    """

    round: int
    n_labels: int
    auroc: float | None


@dataclass(frozen=True)
class StoppingAdvice:
    """What the newest labels changed.

    n_labels, n_anomalies: of all labels. n_newest: those whose effect was measured: a quarter, the last ones.
    radius_before, radius: the largest distance from an item to its nearest label, without and with the newest;
    None without older labels. rank_agreement: Spearman's correlation of the pool's scores before the last round
    and after this fit. held_back: one entry per round with labels. share, doubt, moved: see `judge_moves`.
    """

    n_labels: int
    n_anomalies: int
    n_newest: int
    radius_before: float | None
    radius: float
    rank_agreement: float | None
    share: float
    doubt: float
    moved: float | None
    held_back: tuple[HeldBack, ...] = ()

    @property
    def radius_drop(self) -> float | None:
        """The share of the cover radius that the newest labels took away."""
        if not self.radius_before:
            return None
        return 1 - self.radius / self.radius_before

    @property
    def go_on(self) -> GoOn:
        """Whether more labels would still change much."""
        return judge_moves(self.n_labels, self.n_anomalies, self.share, self.doubt, self.moved)


def measure_advice(
    state: SessionState,
    ids: Sequence[str],
    record_of: Callable[[Round], PoolRecord],
    scores: Floats,
    now: Estimate,
    estimate_of: Callable[[Collection[str]], Estimate],
) -> StoppingAdvice | None:
    """What the newest labels changed. scores: (N,) of the pool after this fit.

    None before a label, and until a round was drawn from the pool that holds now: nothing can be compared.
    now: the share of anomalies by all labels. estimate_of: by the labels of these items alone.
    """
    row_of = rows_of(ids, state.labels)  # an alarm that was answered a moment ago joins the pool with the next fit
    labelled = sorted(row_of, key=lambda item: state.answers[item].number)
    if state.round is None or not labelled or state.pools_of(state.round) != state.pools:
        return None
    n_newest = max(1, len(labelled) // NEWEST)
    rows = np.array([row_of[item] for item in labelled], np.int64)
    record = record_of(state.round)
    space = Space(record.embeddings)
    older = space.nearest(rows[:-n_newest])
    newer = np.minimum(older, space.nearest(rows[-n_newest:]))
    return StoppingAdvice(
        n_labels=len(labelled),
        n_anomalies=state.n_anomalies,
        n_newest=n_newest,
        radius_before=float(older.max()) if len(labelled) > n_newest else None,
        radius=float(newer.max()),
        rank_agreement=_spearman(record.scores, scores),
        share=now.value,
        doubt=(now.high - now.low) / 2,
        moved=None if now.method == "fixed" else abs(now.value - estimate_of(labelled[:-n_newest]).value),
        held_back=tuple(held for drawn in state.rounds if (held := _held_back(state, drawn))),
    )


def _held_back(state: SessionState, drawn: Round) -> HeldBack | None:
    """None for a round without labels."""
    answered = [each for each in drawn.draws if state.round_of(each.item) == drawn.number]
    if not answered:
        return None
    value = auroc(np.array([state.labels[each.item] for each in answered]), np.array([each.score for each in answered]))
    return HeldBack(drawn.number, len(answered), value if np.isfinite(value) else None)


def _spearman(before: Floats, after: Floats) -> float | None:
    """The correlation of two rankings; None where one of them does not rank at all."""
    from scipy.stats import rankdata  # takes a second to import, which labelling must not wait for

    ranks = [rankdata(values) for values in (before, after)]
    if any(np.ptp(each) == 0 for each in ranks):
        return None
    return float(np.corrcoef(*ranks)[0, 1])


@dataclass(frozen=True)
class Why:
    """What speaks for asking about an item. Shares are of the whole pool.

    score_share: items that look less unusual. nearest: the closest labelled item, None before any label.
    distance: to it, and distance_share: the share of items that lie closer to a label. n_near: items that are
    closer to this one than to anything labelled or asked, itself included; near_share: their share.
    """

    item: str
    round: int
    score: float
    score_share: float
    odds: float
    nearest: str | None
    distance: float | None
    distance_share: float | None
    n_near: int
    near_share: float


class PoolGeometry:
    """Distances in one round's embeddings, kept until another label or round changes them.

    Memory and time grow with the pool times the labels; nothing is kept per pair.
    """

    def __init__(self, drawn: Round, state: SessionState, ids: Sequence[str], record: PoolRecord) -> None:
        self._key = (drawn.event, state.labels_digest)
        self._drawn, self._ids, self._scores = drawn, ids, record.scores
        self._row_of = {item: row for row, item in enumerate(ids)}
        self._space = Space(record.embeddings)
        self._labelled = [self._row_of[item] for item in state.labels if item in self._row_of]
        self._asked = [self._row_of[each.item] for each in drawn.asked]
        self._to_label = self._space.nearest(np.array(self._labelled, np.int64))

    def is_of(self, drawn: Round, state: SessionState) -> bool:
        """Whether it still holds."""
        return self._key == (drawn.event, state.labels_digest)

    def explain(self, item: str) -> Why:
        """The facts about one item of the round."""
        row = self._row_of[item]
        draw = next(each for each in self._drawn.proposed if each.item == item)
        away = self._space.distances(row)
        known = [other for other in {*self._labelled, *self._asked} if other != row]
        n_near = int((away <= self._space.nearest(np.array(known, np.int64))).sum())
        others = [other for other in self._labelled if other != row]
        nearest = min(others, key=lambda other: float(away[other]), default=None)
        distance = None if nearest is None else float(away[nearest])
        return Why(
            item=item,
            round=self._drawn.number,
            score=draw.score,
            score_share=float(np.mean(self._scores < self._scores[row])),
            odds=draw.odds,
            nearest=None if nearest is None else self._ids[nearest],
            distance=distance,
            distance_share=None if distance is None else float(np.mean(self._to_label < distance)),
            n_near=n_near,
            near_share=n_near / len(self._ids),
        )
