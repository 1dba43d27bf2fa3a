"""Made-up payments with three kinds of fraud: what questions one at a time find of each, beside as many at once.

Once a kind is known, its next instance teaches little; a quiet kind must not be forgotten for a loud one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soel import SOEL
from soel.assess.metrics import auroc
from soel.types import UNLABELLED, Floats

KINDS = ("stolen", "testing", "mule")  # from the loudest to the quietest
N_NORMAL, N_OF_KIND, N_LABELS, SEEDS = 1440, (30, 20, 10), 20, (0, 1)
FLOORS: dict[str, float] = {}


def payments(rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Rows (N, 10) and their kind (N,): 0 normal, 1 to 3 of KINDS.

    Columns: log amount, hour, log minutes since the last payment, log payments today, log distance from home, log age
    of the account, risk of the shop, log mean amount of the customer, number of articles, foreign currency.
    """
    n = N_NORMAL + sum(N_OF_KIND)
    kind = np.repeat(range(4), (N_NORMAL, *N_OF_KIND))
    usual = rng.normal(3.5, 0.8, n)
    amount, hour = usual + rng.normal(0, 0.6, n), rng.normal(14, 4, n) % 24
    since, today = rng.normal(6, 1.5, n), rng.exponential(0.5, n)
    home, age = rng.exponential(1, n), rng.normal(6.5, 1, n)
    risk, articles, foreign = rng.beta(2, 8, n), rng.poisson(2, n) + 1.0, (rng.random(n) < 0.08) * 1.0
    stolen, testing, mule = (kind == number for number in (1, 2, 3))
    amount[stolen] += 2.5 + rng.normal(0, 0.2, stolen.sum())
    home[stolen] += 5 + rng.normal(0, 0.5, stolen.sum())
    hour[stolen] = rng.normal(3, 0.7, stolen.sum()) % 24
    since[testing] = rng.normal(1, 0.3, testing.sum())
    today[testing] += 2.2 + rng.normal(0, 0.2, testing.sum())
    amount[testing] = rng.normal(0.5, 0.3, testing.sum())
    age[mule] = rng.normal(3.2, 0.4, mule.sum())
    risk[mule] = rng.beta(6, 4, mule.sum())
    amount[mule] = usual[mule] + 1.2 + rng.normal(0, 0.2, mule.sum())
    x = np.column_stack([amount, hour, since, today, home, age, risk, usual, articles, foreign])
    order = rng.permutation(n)
    return x[order], kind[order]


def measure() -> dict[str, float]:
    """AUROC of each kind against the normal rows of new payments, and how many of each were found, mean over seeds."""
    figures: dict[str, list[float]] = {}
    for seed in SEEDS:
        for way, at_once in (("one at a time", 1), ("at once", N_LABELS)):
            for name, value in _measure(seed, at_once).items():
                figures.setdefault(f"{way}: {name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in figures.items()}


def _measure(seed: int, at_once: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    (pool, kind), (new, new_kind) = payments(rng), payments(rng)
    labels, detector = np.full(len(pool), UNLABELLED, np.int8), SOEL(random_state=seed)
    for _ in range(0, N_LABELS, at_once):
        rows = detector.query(pool, at_once, labels)
        labels[rows] = kind[rows] > 0
    scores = detector.fit(pool, labels).anomaly_score(new)
    figures = {"all kinds": auroc(new_kind > 0, scores)}
    for number, name in enumerate(KINDS, 1):
        is_either = (new_kind == 0) | (new_kind == number)
        figures[name] = auroc(new_kind[is_either] > 0, scores[is_either])
        figures[f"{name} found"] = float(((labels >= 0) & (kind == number)).sum())
    return figures
