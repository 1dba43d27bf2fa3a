"""One set, draw, way and number of labels is a cell: measured once, kept as one line of JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.cell_files import as_line, read_cells, write_cells
from benchmarks.patches.pixels import pixel_figures
from benchmarks.patches.sets import SETS, split
from soel.assess.metrics import auroc
from soel.detect.detector import PlaceDetector
from soel.images.extract import extract
from soel.images.extractors import DEFAULT, cache_folder, open_extractor
from soel.images.grids import Grid
from soel.images.patches import SMALLEST_SIDE, map_grid
from soel.images.source import image_array
from soel.learner import Learner
from soel.model import Fitted
from soel.settings import PROFILES
from soel.types import UNLABELLED, Floats, Kind, Pool

WAYS = ("global", "patches", "both")  # of one fit: its part of whole pictures, its part of patches, and all of it
SHARE = 0.1  # of anomalies, to which average precision is brought
SEED = 0  # of the learner; draws differ by their pictures


@dataclass(frozen=True)
class Cell:
    """AUROC and average precision (of unseen pictures, weighted to a tenth of anomalies) after so many labels.

    n_found: anomalies among the pictures asked about. trust: of patches beside the whole picture. pixel_auroc,
    pixel_aupro: of maps, where masks are known. seconds: of processor time for the fit.
    """

    name: str
    draw: int
    way: str
    labels: int
    auroc: float
    average_precision: float
    n_found: int
    trust: float | None
    pixel_auroc: float | None
    pixel_aupro: float | None
    seconds: float


def run_cells(
    names: Sequence[str], draws: Sequence[int], budgets: Sequence[int], data: Path, out: Path, always: bool
) -> Iterator[Cell]:
    """Measure what `out` lacks and append it there. always: look at places in small pictures too."""
    finished = read_cells(out, Cell)
    done = {(cell.name, cell.draw, cell.way, cell.labels) for cell in finished}
    write_cells(out, finished)
    for name in names:
        wanted = [(draw, n) for draw in draws for n in budgets if (name, draw, "both", n) not in done]
        task = _Task(name, data, always) if wanted else None
        for draw, n_labels in wanted:
            assert task is not None
            with out.open("a", encoding="utf-8") as file:
                for cell in task.measure(draw, n_labels):
                    file.write(as_line(cell))
                    yield cell


class _Task:
    """A set with the features of all its pictures."""

    def __init__(self, name: str, data: Path, always: bool) -> None:
        self.name, self.pictures = name, SETS[name](data)
        source = image_array(name, self.pictures.pixels)
        looks = always or min(self.pictures.pixels.shape[1:3]) >= SMALLEST_SIDE
        self.features = extract(source, open_extractor(DEFAULT), cache_folder(), with_patches=looks)

    def measure(self, draw: int, n_labels: int) -> list[Cell]:
        """One fit by each of its parts and as a whole; without patches, the whole is that of whole pictures."""
        parts, started = split(self.pictures, draw), time.process_time()
        learner = Learner(PROFILES["default"].settle(Kind.VECTORS, self.features.matrix.shape[1]), SEED)
        pool = Pool.of(np.array(self.features.matrix[parts.pool]), Kind.VECTORS, self._patches(parts.pool))
        warm, labels = learner.prepare(pool), np.full(len(pool), UNLABELLED, np.int8)
        if n_labels:
            rows = learner.propose(warm, pool, labels, n_labels).rows
            labels[rows] = self.pictures.truth[parts.pool][rows]
        fitted = learner.learn(warm, pool, learner.evidence(warm, pool, labels), labels)
        seconds, found = time.process_time() - started, int((labels == 1).sum())
        x, patches = np.array(self.features.matrix[parts.test]), self._patches(parts.test)
        scores = {"global": replace(fitted, patches=None).score(x)}
        if patches is not None and fitted.patches is not None:
            scores["patches"] = fitted.patches.detector.score(patches)
        scores["both"] = fitted.score(x, patches)
        return [self._cell(draw, way, n_labels, by, parts.test, found, fitted, seconds) for way, by in scores.items()]

    def _cell(
        self, draw: int, way: str, n: int, scores: Floats, rows: np.ndarray, found: int, fitted: Fitted, seconds: float
    ) -> Cell:
        truth, part = self.pictures.truth[rows], fitted.patches
        weights = np.where(truth, SHARE / truth.mean(), (1 - SHARE) / (1 - truth.mean()))
        precision = float(average_precision_score(truth, scores, sample_weight=weights))
        pixels: tuple[float | None, float | None] = (None, None)
        if part is not None and way == "patches" and self.pictures.masks is not None:
            assert isinstance(part.detector, PlaceDetector)
            maps = part.detector.maps(self._given(rows))
            pixels = pixel_figures(maps, self.pictures.masks[rows], map_grid(Grid.square(maps.shape[1]), DEFAULT))
        trust = None if part is None else part.detector.trust
        return Cell(self.name, draw, way, n, auroc(truth, scores), precision, found, trust, *pixels, round(seconds, 2))

    def _patches(self, rows: np.ndarray) -> Floats | None:
        return None if self.features.patches is None else self.features.patches[rows]

    def _given(self, rows: np.ndarray) -> Floats:
        patches = self._patches(rows)
        assert patches is not None
        return patches
