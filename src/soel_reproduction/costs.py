"""How long an artefact takes on two cores in profile `authors`: from seconds measured on them, not from guesses.

A table's cell was measured whole. A cell of pictures is put together from the seconds that one row takes in one epoch
and in one scoring; sizes of data sets that are not at hand are those their authors publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from soel.profiles import AUTHORS
from soel_reproduction.artefact import FIRST_SEED, Artefact
from soel_reproduction.cells import Cell, Setting
from soel_reproduction.fixmatch import N_DRAWS
from soel_reproduction.methods import Method

CORES = 2
ROUND = 20  # labels of a round of the sequential form

TABLE_SECONDS: Mapping[str, float] = {
    "breastw": 0.5, "ionosphere": 0.7, "pima": 0.5, "satellite": 7.0, "arrhythmia": 1.0, "thyroid": 5.0,
}  # fmt: skip
QUERY_SHARE = 0.1  # of a table's cell, where it ends after the query
PEER_SECONDS = 1.0
ASSUMPTIONS = 20.0  # the draws of query sets cost so many times a query cell


@dataclass(frozen=True)
class RowCost:
    """Seconds of processor time that one row takes in an epoch of training, and in being scored or embedded."""

    epoch: float
    score: float


NTL = RowCost(0.032, 0.0094)
ROWS: Mapping[str, RowCost] = {
    "auto": NTL, "deep-svdd": RowCost(0.0003, 0.0001), "classifier": RowCost(0.00003, 0.00001),
}  # fmt: skip
# One H200, CIFAR-10, one class of 5,555 rows and 31 epochs, mean over the methods of Table 1: seconds of a cell.
GPU_ROWS, GPU_SECONDS = 5_555 * 31, {"auto": 4.9, "deep-svdd": 1.8}
PIXELS = RowCost(1.5, 0.4)
EXTRACTED = 0.08  # one picture through ResNet-50


@dataclass(frozen=True)
class Size:
    """Items for training and for the test, and how many classes are normal in turn."""

    train: int
    test: int
    classes: int = 1


SIZES: Mapping[str, Size] = {
    "cifar10": Size(50_000, 10_000, 10), "fashion-mnist": Size(60_000, 10_000, 10),
    "bloodmnist": Size(11_959, 3_421, 8), "organamnist": Size(34_561, 17_778, 11),
    "organcmnist": Size(12_975, 8_216, 11), "organsmnist": Size(13_932, 8_827, 11), "octmnist": Size(97_477, 1_000, 4),
    "pathmnist": Size(89_996, 7_180, 9), "pneumoniamnist": Size(4_708, 624, 2), "tissuemnist": Size(165_466, 47_280, 8),
    "dermamnist": Size(7_007, 2_005, 3), "ucsd-peds1": Size(8_743, 4_286),
}  # fmt: skip


def minutes(artefact: Artefact) -> float:
    """Minutes that all cells take on two idle cores, with the features of pictures made before."""
    seconds = sum(_cells(artefact, name) for name in artefact.datasets)
    if artefact.on_pictures:
        seconds += sum(EXTRACTED * (SIZES[name].train + SIZES[name].test) for name in artefact.datasets)
    return seconds / CORES / 60


def minutes_on_gpu(artefact: Artefact) -> float | None:
    """Minutes of training on one H200, with the features made before; None where that was not measured."""
    methods = [method for method in artefact.methods if method.peer is None]
    unknown = any(m.applied_to(AUTHORS).backbone not in GPU_SECONDS or m.augmented or m.n_rounds != 1 for m in methods)
    if artefact.stage != "fit" or not artefact.on_pictures or unknown:
        return None
    settled = [
        (Cell(name, m, AUTHORS, Setting(), FIRST_SEED).settled, name) for name in artefact.datasets for m in methods
    ]
    each = [
        GPU_SECONDS[p.backbone] / GPU_ROWS * SIZES[name].train / 0.9 * (p.features.epochs + 1) for p, name in settled
    ]
    places = len(artefact.budgets) * len(artefact.shares) * len(artefact.experts)
    return sum(each) * places * artefact.n_seeds / 60


def _cells(artefact: Artefact, dataset: str) -> float:
    """Seconds of all cells of one data set."""
    one = sum(
        _cell(artefact, dataset, method, budget) * len(artefact.shares) * len(artefact.experts)
        for method in artefact.methods
        for budget in (artefact.budgets if method.asks else artefact.budgets[:1])
    )
    classes = SIZES[dataset].classes if dataset in SIZES else 1
    return one * classes * artefact.n_seeds


def _cell(artefact: Artefact, dataset: str, method: Method, budget: int) -> float:
    if method.peer is not None:
        return PEER_SECONDS
    n_fits = -(-budget // ROUND) if method.n_rounds < 0 else 1
    if dataset not in SIZES:
        seconds = TABLE_SECONDS[dataset]
        return seconds * n_fits if artefact.stage == "fit" else seconds * QUERY_SHARE * _looks(artefact)
    return _of_pictures(artefact, Cell(dataset, method, AUTHORS, Setting(budget), FIRST_SEED), n_fits)


def _looks(artefact: Artefact) -> float:
    return ASSUMPTIONS if artefact.stage == "assumptions" else 1.0


def _of_pictures(artefact: Artefact, cell: Cell, n_fits: int) -> float:
    size, profile = SIZES[cell.dataset], cell.settled
    pool = size.train / size.classes / 0.9
    pixels = cell.method.on_pixels(AUTHORS)
    cost = PIXELS if pixels else ROWS[profile.backbone]
    warm_up = pool * (cost.epoch + 2 * cost.score)
    if artefact.stage != "fit":
        return warm_up
    epochs = (profile.pictures if pixels else profile.features).epochs
    views = 2 * N_DRAWS * pool * EXTRACTED if cell.method.augmented else 0.0
    return warm_up + views + n_fits * pool * epochs * cost.epoch + (pool + size.test) * cost.score
