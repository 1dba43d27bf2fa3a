"""FixMatch on augmented pictures, as the paper compares it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from soel import networks
from soel.learner import Learner
from soel.model import Blend, Fitted
from soel.networks.objectives import Task
from soel.types import UNLABELLED, Evidence, Floats, ItemWeights, Labels, Pool, PoolView

ANOMALOUS, NORMAL = 0.05, 0.3  # shares of the unlabelled that are surely the one or the other
FINE_TUNING = 5  # epochs on the answers alone, before pictures are augmented
N_DRAWS = 2  # sets of augmented pictures, used in turn: each costs a pass through the frozen network
Draw = tuple[Floats, Floats]
Picture = NDArray[np.uint8]  # (h, w[, 3])
Pictures = NDArray[np.uint8]  # (n, h, w[, 3])
SHIFT = 0.125  # of the side, at most
HOLE = 0.5  # the side of the square that is cut out, of the picture's
N_CHANGES = 2
GREY = 127


def learn_fixmatch(
    learner: Learner, warm: Blend, pool: Pool, rounds: Sequence[Evidence], labels: Labels, draws: Sequence[Draw]
) -> Fitted:
    """Go on from the warm-up: first the answers alone, then answers and guesses on augmented pictures.

    draws: (weak, strong) rows (N, d) of the pool, taken in turn. The guesses are renewed each epoch.
    """
    start = warm.network or learner.new_network(pool)
    model, schedule = start.model.copy(), learner.profile.schedule
    view = PoolView(np.zeros(len(pool)), pool.rows, labels)
    answers = learner.objective.labelled(view)

    def train(rows: Pool, guesses: ItemWeights | None, epochs: int) -> None:
        tasks = [Task(view.labelled, answers, view.unlabelled, guesses)] * model.n_members
        networks.fit(model, rows.rows, tasks, replace(schedule, epochs=epochs), False)

    train(pool, None, FINE_TUNING)
    slight = [replace(pool, rows=weakly) for weakly, _ in draws]
    mixed = [replace(pool, rows=np.where((labels != UNLABELLED)[:, None], *draw)) for draw in draws]
    for epoch in range(schedule.epochs):
        drawn = epoch % len(draws)
        scores = networks.losses(model, slight[drawn].rows)[0].mean(axis=0)[view.unlabelled]
        train(mixed[drawn], confident(scores), 1)
    return learner.finish(model, pool, labels, learner.estimate(rounds))


def confident(scores: Floats) -> ItemWeights:
    """Top scores are anomalies, low ones normal, and what lies between weighs nothing."""
    anomaly = scores > np.quantile(scores, 1 - ANOMALOUS)
    normal = scores < np.quantile(scores, NORMAL)
    return ItemWeights(normal=normal.astype(np.float32), anomaly=anomaly.astype(np.float32))


def augment(pictures: Pictures, to_rows: Callable[[Pictures], Floats], seed: int) -> list[Draw]:
    """Several draws of weakly and strongly augmented pictures, as rows."""
    draws = []
    for number in range(N_DRAWS):
        rng = np.random.default_rng([seed, number, 2])
        draws.append((np.array(to_rows(weak(pictures, rng))), np.array(to_rows(strong(pictures, rng)))))
    return draws


def weak(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Mirrored half of the time and shifted a little; what a shift uncovers is reflected."""
    return np.stack([_move(picture, rng) for picture in pictures])


def strong(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Moved, changed in two random ways, and with a square cut out (Cutout)."""
    return np.stack([_cut(_change(_move(picture, rng), rng), rng) for picture in pictures])


def _move(picture: Picture, rng: np.random.Generator) -> Picture:
    reach = max(1, round(SHIFT * min(picture.shape[:2])))
    down, across = rng.integers(0, 2 * reach + 1, 2)
    turned = picture[:, ::-1] if rng.random() < 0.5 else picture
    padded = np.pad(turned, [(reach, reach), (reach, reach), *[(0, 0)] * (picture.ndim - 2)], mode="reflect")
    return padded[down : down + picture.shape[0], across : across + picture.shape[1]]


def _change(picture: Picture, rng: np.random.Generator) -> Picture:
    for index in rng.choice(len(CHANGES), N_CHANGES, replace=False):
        picture = CHANGES[index](picture, rng.random())
    return picture


def _cut(picture: Picture, rng: np.random.Generator) -> Picture:
    """A grey square around a random place, which may lie partly outside."""
    height, width = picture.shape[:2]
    row, column = rng.integers(height), rng.integers(width)
    half = round(HOLE * min(height, width) / 2)
    holed = picture.copy()
    holed[max(0, row - half) : row + half, max(0, column - half) : column + half] = GREY
    return holed


def _brighter(picture: Picture, strength: float) -> Picture:
    return _bytes(picture.astype(np.float32) * (0.4 + 1.2 * strength))


def _contrast(picture: Picture, strength: float) -> Picture:
    middle = picture.mean()
    return _bytes(middle + (picture - middle) * (0.4 + 1.2 * strength))


def _posterise(picture: Picture, strength: float) -> Picture:
    bits = 4 - int(3 * strength)  # how many are dropped: one to four
    return np.left_shift(np.right_shift(picture, bits), bits).astype(np.uint8)


def _solarise(picture: Picture, strength: float) -> Picture:
    return np.where(picture >= 128 + 127 * strength, 255 - picture, picture).astype(np.uint8)


def _stretch(picture: Picture, strength: float) -> Picture:
    """The darkest becomes black and the brightest white."""
    low, high = int(picture.min()), int(picture.max())
    return _bytes((picture.astype(np.float32) - low) * (255 / max(1, high - low)))


def _turn(picture: Picture, strength: float) -> Picture:
    """Turned by up to 30 degrees about the middle, by the nearest pixel."""
    angle = (strength - 0.5) * np.pi / 3
    height, width = picture.shape[:2]
    rows, columns = np.mgrid[:height, :width]
    down, across = rows - (height - 1) / 2, columns - (width - 1) / 2
    at_row = np.cos(angle) * down - np.sin(angle) * across + (height - 1) / 2
    at_column = np.sin(angle) * down + np.cos(angle) * across + (width - 1) / 2
    at_row = at_row.round().astype(int).clip(0, height - 1)
    at_column = at_column.round().astype(int).clip(0, width - 1)
    turned: Picture = picture[at_row, at_column]
    return turned


def _bytes(values: Floats) -> Picture:
    return values.round().clip(0, 255).astype(np.uint8)


CHANGES = (_brighter, _contrast, _posterise, _solarise, _stretch, _turn)
