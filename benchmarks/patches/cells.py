"""One set, draw, way and number of answers is a cell: measured once, kept as one line of JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.cell_files import as_line, read_cells, write_cells
from benchmarks.patches.memory import measure_by_memory
from benchmarks.patches.pixels import pixel_figures
from benchmarks.patches.sets import SETS, split
from soel.assess.metrics import auroc
from soel.deep import settle
from soel.detect.detector import PlaceDetector
from soel.errors import DataError
from soel.images.extract import extract
from soel.images.extractors import DEFAULT, SMALLEST_SIDE, Extractor, cache_folder, open_extractor
from soel.images.views import View, choose_shape
from soel.learner import Learner
from soel.model import Fitted
from soel.settings import PROFILES
from soel.types import ANOMALY, UNLABELLED, Floats, Kind, Labels, Pool, Rows

WAYS = ("global", "patches", "both", "memory")  # parts of one fit, all of it; and a memory of patches beside it
SHARE = 0.1  # of anomalies, to which the average precision of sets is brought that are not themselves so
SEED = 0  # of the learner; draws differ by their pictures
N_JUDGED = 64  # pictures by whose size the shape is chosen


@dataclass(frozen=True)
class Cell:
    """AUROC and average precision of unseen pictures after so many answers.

    precision_at_tenth: the latter, weighted to a tenth of anomalies. n_found: anomalies among the pictures asked
    about. share_held: whether the interval of the share of anomalies holds the pool's own. pixel_auroc, pixel_aupro: of
    maps, where masks are known. seconds: of processor time for the fit.
    """

    name: str
    draw: int
    way: str
    labels: int
    auroc: float
    average_precision: float
    precision_at_tenth: float
    n_found: int
    share_held: bool
    pixel_auroc: float | None
    pixel_aupro: float | None
    seconds: float


def run_cells(
    names: Sequence[str], draws: Sequence[int], budgets: Sequence[int], data: Path, out: Path, memory: bool
) -> Iterator[Cell]:
    """Measure what `out` lacks and append it there. memory: the peer too."""
    finished = read_cells(out, Cell)
    done = {(cell.name, cell.draw) for cell in finished if cell.labels == max(budgets)}
    write_cells(out, finished)
    for name in names:
        wanted = [draw for draw in draws if (name, draw) not in done]
        task = _Task(name, data) if wanted else None
        for draw in wanted:
            assert task is not None
            found = task.measure(draw, budgets, memory)
            with out.open("a", encoding="utf-8") as file:
                for cell in found:
                    file.write(as_line(cell))
            yield from found


class _Task:
    """A set with the features of all its pictures, taken as a session takes them."""

    def __init__(self, name: str, data: Path) -> None:
        self.name, self.pictures = name, SETS[name](data)
        source, started = self.pictures.source, time.process_time()
        rows = np.unique(np.linspace(0, len(source.items) - 1, N_JUDGED).astype(int)).tolist()
        sizes = [picture.shape[:2] for picture in source.read(rows) if not isinstance(picture, DataError)]
        self.extractor: Extractor = open_extractor(DEFAULT)
        if np.median([min(size) for size in sizes]) >= SMALLEST_SIDE:
            self.extractor = View(self.extractor, choose_shape(sizes))
        self.features = extract(source, self.extractor, cache_folder())
        each = (time.process_time() - started) / len(source.items)
        print(f"{name}: pictures as {getattr(self.extractor, 'shape', self.extractor.size)}, {1000 * each:.0f} ms each")

    def measure(self, draw: int, budgets: Sequence[int], memory: bool) -> list[Cell]:
        """A simulated expert answers one question after the other, and the model is fitted at each budget."""
        parts, cells = split(self.pictures, draw), list[Cell]()
        pool = Pool.of(np.array(self.features.matrix[parts.pool]), Kind.VECTORS, self._patches(parts.pool))
        settled = settle(PROFILES["default"], Kind.VECTORS, pool.n_features, pool.patches is not None)
        learner, labels = Learner(settled, SEED), np.full(len(pool), UNLABELLED, np.int8)
        warm, truth = learner.prepare(pool), self.pictures.truth[parts.pool]
        fitted: Fitted | None = None
        for budget in sorted(budgets):
            while (n_labels := int((labels != UNLABELLED).sum())) < budget:
                n = 1 if learner.is_sequential else budget - n_labels
                rows = learner.propose(fitted or warm, pool, labels, n, share=SHARE).rows[:n]
                labels[rows] = truth[rows]
            started = time.process_time()
            fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
            seconds = time.process_time() - started
            held = fitted.estimate.low <= truth.mean() <= fitted.estimate.high
            cells += [
                replace(cell, share_held=bool(held)) for cell in self._judge(draw, labels, fitted, parts.test, seconds)
            ]
        if memory and pool.patches is not None:
            started = time.process_time()
            maps = measure_by_memory(pool.patches, self._patches(parts.test), draw)
            scores = -np.sort(-maps, axis=1)[:, :3].mean(axis=1)
            none = np.full(len(pool), UNLABELLED, np.int8)
            cells.append(self._cell(draw, "memory", none, scores, parts.test, maps, time.process_time() - started))
        return cells

    def _judge(self, draw: int, labels: Labels, fitted: Fitted, rows: Rows, seconds: float) -> list[Cell]:
        x, patches = np.array(self.features.matrix[rows]), self._patches(rows)
        whole = replace(fitted, patches=None).score(x)
        if patches is None or fitted.patches is None:
            return [self._cell(draw, "both", labels, whole, rows, None, seconds)]
        detector = fitted.patches.detector
        assert isinstance(detector, PlaceDetector)
        scores = {"global": whole, "patches": detector.score(patches), "both": fitted.score(x, patches)}
        maps = detector.maps(patches)
        return [
            self._cell(draw, way, labels, found, rows, maps if way == "patches" else None, seconds)
            for way, found in scores.items()
        ]

    def _cell(
        self, draw: int, way: str, labels: Labels, scores: Floats, rows: Rows, maps: Floats | None, seconds: float
    ) -> Cell:
        truth, masks = self.pictures.truth[rows], self.pictures.masks
        weights = np.where(truth, SHARE / truth.mean(), (1 - SHARE) / (1 - truth.mean()))
        pixels: tuple[float | None, float | None] = (None, None)
        if maps is not None and masks is not None and isinstance(self.extractor, View):
            pixels = pixel_figures(maps, masks[rows], self.extractor.grid)
        return Cell(
            self.name,
            draw,
            way,
            int((labels != UNLABELLED).sum()),
            auroc(truth, scores),
            float(average_precision_score(truth, scores)),
            float(average_precision_score(truth, scores, sample_weight=weights)),
            int((labels == ANOMALY).sum()),
            False,
            *pixels,
            round(seconds, 2),
        )

    def _patches(self, rows: Rows) -> Floats | None:
        return None if self.features.patches is None else self.features.patches[rows]
