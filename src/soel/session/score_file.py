"""Scores and maps of a session's own items, or of new ones, written under the names that people know them by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from soel.detect.detector import PlaceDetector
from soel.errors import ConfigError, SessionError
from soel.explain import Explainer, show_cell
from soel.images.grids import Grid
from soel.images.image_items import MediaItem, Skipped
from soel.images.maps import MappedPicture, ScoredPicture, write_heat_maps
from soel.report.reasons import find_alike, make_explainer
from soel.scoring.ray import Cluster, import_ray
from soel.scoring.score import Scorer
from soel.scoring.score_table import (
    Answers,
    Cells,
    Names,
    ScoreTable,
    labels_by_item,
    name_intervals,
    name_pictures,
    name_rows,
    write_intervals,
)
from soel.scoring.stream import Beside, RowReasons, check_out, score_stream
from soel.session import Session
from soel.session.alarms import find_selected
from soel.session.item_tables import read_encoder, read_encoder_with_baseline, read_items, read_rows_as
from soel.session.pictures import open_media, read_new_pictures
from soel.session.pool import find_scored_stream
from soel.tables.codes import Tally
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, read_frame
from soel.tables.rows import check_suffix
from soel.tables.schema import notes_of
from soel.types import Floats, Progress

MOST_EXPLAINED, FEWEST_EXPLAINED = 1000, 10  # rows of a list of scores: its alarms, at most and at least so many
N_REASONS = 5
REASON_COLUMNS = (
    "why",
    *(f"why_{n}{part}" for n in range(1, N_REASONS + 1) for part in ("", "_value", "_usual", "_columns", "_share")),
    "why_rank",
    "why_suffices",
    "why_ordinary",
    "why_like",
    "why_like_label",
)  # of a file of scores: a sentence; of each group its central column, and all; the rank with all of them changed;
# the ordinary row; the labelled item that a row resembles most, and its label


def score_file(
    session: Session,
    data: str | Path | None,
    out: Path,
    threshold: str | None = None,
    progress: Progress | None = None,
    with_columns: bool = False,
    why: Literal["alarms", "all"] | None = None,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Score new items, or all the session's own; write names, then the columns of `table.COLUMNS`.

    out: .csv, .parquet, .json or .xlsx, sorted by rank. Rows that are too many for memory are read in parts; `out` may
    then be a folder, too. A number of alarms counts in what is scored; other rules mean the pool. with_columns: write
    the rows' own columns behind. why: say which columns raise the score of each alarm (of the most anomalous thousand,
    and of ten at least), or of all rows, which needs them in memory. cluster: whose machines score rows that are read
    in parts and take features of pictures, None for this one.
    """
    if cluster is not None:
        import_ray()  # a missing extra is named before anything is read
    out, place = Path(out), session.folder
    if with_columns and place.has_pictures:
        raise ConfigError("Pictures have no columns of their own; leave <<with-columns>> out.")
    encoder = (
        read_encoder(place) if data is None else read_encoder_with_baseline(place, find_selected(place, session.state))
    )
    stream = find_scored_stream(place, data, encoder)
    if stream is None:
        check_suffix(out)
        if data is None:
            items = _own_items(session, encoder, with_columns)
        else:
            items = _read_new(session, Path(data), encoder, with_columns, cluster)
        return _score_items(session, items, out, threshold, why, progress)
    if why == "all":
        raise ConfigError(
            f"Of rows that are read in parts, alarms are explained, at most {MOST_EXPLAINED:,}; ask with <<why>> alone."
        )
    check_out(out)
    scorer = session.scorer(threshold)
    explainer = _make_explainer(session, scorer, stream.n_rows, progress) if why else None
    beside = Beside(labels_by_item(session.state), with_columns, explainer, is_compared=data is not None)
    if data is None:
        encoder = replace(encoder, baseline=None)  # drift is not tested, so no column is tallied
    document = score_stream(stream, encoder, scorer, out, beside, progress, cluster)
    return document | {"notes": [] if data is None else list(stream.notes)}


def explain_rows(session: Session, scorer: Scorer, frame: Frame, features: Floats) -> list[tuple[str, str]]:
    """Of each of these new rows the column that its reason begins with, and the reason in a sentence.

    features: (n, d) that they were encoded to.
    """
    explainer = _make_explainer(session, scorer, len(session.ids))
    said = explainer.tabulate(frame, features, [""] * len(features))
    return [(column or "", why or "") for column, why in zip(said["why_1"], said["why"], strict=True)]


def name_items(session: Session) -> Names:
    """What the session's own items are called, in row order."""
    media, id_column = open_media(session.folder), session.config.id_column
    if media is not None:
        return name_pictures(media.items)
    called = None if id_column is not None else read_items(session.folder).frame.row_names
    return name_rows(session.ids, id_column, called)


@dataclass(frozen=True)
class _Items:
    """Items in memory.

    names: columns that say what each is called. features: (n, d). answers: label and annotator by item. is_new: whether
    they are others than the session's own. cells: their own columns as written, where they are asked for. patches: of
    pictures, where they count. left_out: files that cannot be read.
    """

    ids: tuple[str, ...]
    names: Names
    features: Floats
    encoder: Encoder
    frame: Frame | None
    answers: Answers
    is_new: bool
    tally: Tally | None = None
    cells: Cells = field(default_factory=dict)
    patches: Floats | None = None
    left_out: tuple[Skipped, ...] = ()


def _score_items(
    session: Session,
    items: _Items,
    out: Path,
    threshold: str | None,
    why: Literal["alarms", "all"] | None,
    progress: Progress | None,
) -> dict[str, Any]:
    scorer = session.scorer(threshold)
    values = scorer.score(items.features, items.patches) if items.is_new else scorer.pool_scores
    scores, drift = scorer.judge(items.ids, values), None
    if items.is_new:
        n_above = int(scorer.model.alarms(values).sum())
        drift = scorer.judge_drift(items.encoder.baseline, items.tally, n_above, len(values))
    reasons: dict[str, list[Any]] = {}
    if why:
        explainer = _make_explainer(session, scorer, len(scores), progress)
        every = np.argsort(scores.ranks, kind="stable")
        rows = every if why == "all" else every[: explainer.count(int(scores.alarms.sum()), len(every))]
        frame = read_items(session.folder).frame if items.frame is None else items.frame
        piece = rows, frame.take(rows), items.features[rows], [items.ids[row] for row in rows]
        reasons = explainer.explain(len(every), [piece])
    table = ScoreTable.of(scores, items.names, items.answers, reasons, items.cells)
    table.with_left_out(items.left_out).write(out)
    document = table.summary(out) | {"left_out": [asdict(file) for file in items.left_out]}
    events = name_intervals(items.names, scores.scores, scores.alarms)
    if events:
        write_intervals(out, events)
        document["intervals"] = [vars(event) for event in events]
    if why:
        document["n_explained"] = sum(each is not None for each in reasons["why"])
    document |= {"drift": None if drift is None else drift.document(), "promise": scorer.promise(drift, len(scores))}
    return document | {"notes": notes_of(items.frame.schema) if items.is_new and items.frame is not None else []}


def _own_items(session: Session, encoder: Encoder, with_cells: bool) -> _Items:
    place = session.folder
    cells: Cells = read_items(place, with_cells=True).cells if with_cells else {}
    answers = labels_by_item(session.state)
    return _Items(session.ids, name_items(session), place.pool, encoder, None, answers, False, cells=cells)


def _read_new(session: Session, data: Path, encoder: Encoder, with_cells: bool, cluster: Cluster | None) -> _Items:
    """New items, read as the pool was."""
    if session.folder.has_pictures:
        found = read_new_pictures(session.folder.path, data, cluster=cluster)
        ids, frame = tuple(item.id for item in found.items), read_frame(found.features)
        items = _Items(ids, name_pictures(found.items), encoder.encode(frame), encoder, frame, {}, True)
        items = replace(items, patches=found.patches, left_out=found.skipped)
    else:
        table = read_rows_as(data, session.config, encoder.how, with_cells, drop_duplicates=False)
        ids, frame = tuple(table.ids.tolist()), table.frame
        names = name_rows(ids, session.config.id_column, frame.row_names)
        items = _Items(ids, names, encoder.encode(frame), encoder, frame, {}, True)
        items = replace(items, tally=encoder.tally(frame), cells=table.cells)
    return replace(items, answers=_answers_to_same(session, items))


def _answers_to_same(session: Session, new: _Items) -> Answers:
    """Of what was said of the session's items, that of those which are among the new ones as they were.

    Ids of another night may start again from 1: an answer belongs to what was seen.
    """
    place, answers = session.folder, labels_by_item(session.state)
    row_of = {item: row for row, item in enumerate(place.ids) if item in answers}
    rows = np.array([row for row, item in enumerate(new.ids) if item in row_of], np.int64)
    own = np.asarray(place.pool)[[row_of[new.ids[row]] for row in rows]]
    same = np.isclose(new.features[rows], own, rtol=1e-5, atol=1e-6, equal_nan=True).all(axis=1)
    return {new.ids[row]: answers[new.ids[row]] for row in rows[same]}


def _make_explainer(session: Session, scorer: Scorer, n_rows: int, progress: Progress | None = None) -> RowReasons:
    """How some of `n_rows` rows are explained by the columns of the session's table.

    A rule may set the share of alarms; a small file is no measure of what is ordinary.
    """
    share = (scorer.rule.count(n_rows) or 0) / max(n_rows, len(session.ids))
    explainer = make_explainer(session, scorer.model, share)
    return RowReasons(REASON_COLUMNS, partial(tabulate_reasons, session, explainer, progress), count_explained)


def count_explained(n_alarms: int, n_rows: int) -> int:
    """How many rows of a list are explained: its alarms, the most anomalous first."""
    return min(max(n_alarms, FEWEST_EXPLAINED), MOST_EXPLAINED, n_rows)


def tabulate_reasons(
    session: Session,
    explainer: Explainer,
    progress: Progress | None,
    frame: Frame,
    features: Floats,
    ids: Sequence[str],
) -> Mapping[str, Sequence[Any]]:
    """REASON_COLUMNS of rows with the features (n, d), for a file of scores. ids: what these rows are called."""
    rows, labels = list[dict[str, Any]](), session.state.labels
    alike = find_alike(session, explainer.model, features)
    for each, item, other in zip(explainer.explain(frame, features, progress), ids, alike, strict=True):
        cells: dict[str, Any] = {"why": str(each)}
        if each.like:
            cells |= {"why_rank": each.changed_rank, "why_ordinary": each.like}
            cells["why_suffices"] = "yes" if each.suffices else "no"
        for n, reason in enumerate(each.reasons, 1):
            share = reason.contribution / (each.score - each.baseline)
            value, usual = show_cell(reason.values[0]), show_cell(reason.usual[0])
            shown = (reason.columns[0], value, usual, "; ".join(reason.columns), share)
            parts = ("", "_value", "_usual", "_columns", "_share")
            cells |= {f"why_{n}{part}": cell for part, cell in zip(parts, shown, strict=True)}
        if other is not None and item not in labels:
            cells |= {"why_like": other, "why_like_label": labels[other].word}
        rows.append(cells)
    return {name: [cells.get(name) for cells in rows] for name in REASON_COLUMNS}


def write_maps(session: Session, data: str | Path | None, out: Path, threshold: str | None = None) -> dict[str, int]:
    """Maps of all alarms into the folder `out`, the most anomalous first; returns how many maps and boxes there are."""
    if not session.folder.has_pictures or session.folder.patches is None:
        raise SessionError(
            "Maps are drawn of pictures whose places are looked at: start a session with <<patches=yes>>."
        )
    scorer = session.scorer(threshold)
    pictures = _own(session, scorer) if data is None else _new(session, scorer, Path(data))
    found = scorer.judge(tuple(item.id for item in pictures.items), pictures.scores)
    order = np.argsort(found.ranks, kind="stable")
    detector, grid = find_patches(scorer.model), session.folder.grid
    mapped = (pictures.mapped(row, detector, grid) for row in order[found.alarms[order]])
    return write_heat_maps(Path(out), mapped, [pictures.scored(row) for row in order[~found.alarms[order]]])


@dataclass(frozen=True)
class _Scored:
    """Pictures with their scores (n,) and patches (n, P, D). picture: reads one of them."""

    items: Sequence[MediaItem]
    scores: Floats
    patches: Floats
    picture: Callable[[int], np.ndarray]

    def scored(self, row: int) -> ScoredPicture:
        return ScoredPicture(self.items[row].name, self.items[row].id, float(self.scores[row]))

    def mapped(self, row: int, detector: PlaceDetector, grid: Grid) -> MappedPicture:
        values = detector.maps(self.patches[[row]])[0] / detector.limit
        return MappedPicture(**vars(self.scored(row)), picture=self.picture(row), values=values, grid=grid)


def find_patches(model: Any) -> PlaceDetector:
    """The part of a fitted model that looks at places."""
    part = model.patches
    if part is None or not isinstance(part.detector, PlaceDetector):
        raise SessionError("The last fit did not look at places; fit again.")
    return part.detector


def _own(session: Session, scorer: Scorer) -> _Scored:
    media, patches = open_media(session.folder), session.folder.patches
    assert media is not None
    assert patches is not None
    return _Scored(media.items, scorer.pool_scores, patches, lambda row: media.picture(media.items[row].id))


def _new(session: Session, scorer: Scorer, data: Path) -> _Scored:
    new = read_new_pictures(session.folder.path, data)
    assert new.patches is not None  # as the session's own
    scores = scorer.score(read_encoder(session.folder).encode(read_frame(new.features)), new.patches)
    return _Scored(new.items, scores, new.patches, new.picture)
