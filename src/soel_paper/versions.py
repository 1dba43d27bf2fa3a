"""Which code computed a cell: the versions of the parts that it used.

Every backbone, objective, strategy, detector and estimator has a `version`, raised by hand whenever its figures change;
so have the experiment itself and what is compared with it, here. A change to one strategy makes the cells of that
strategy old, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator

from soel.ask import STRATEGIES
from soel.assess import ESTIMATORS
from soel.detect import DETECTORS
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES
from soel.types import Kind
from soel_paper.cells import Cell

EXPERIMENT = 1  # protocols, encoding, the loop, metrics: what all cells share
SEVERAL_ROUNDS = 2  # 2: a round is seeded by the number of labels known, as everywhere else in soel
PEERS = 1
AUGMENTED = 1  # FixMatch and its augmentations
ASSUMPTIONS = 1
ROLES = {
    "backbone": BACKBONES,
    "objective": OBJECTIVES,
    "strategy": STRATEGIES,
    "detector": DETECTORS,
    "estimator": ESTIMATORS,
}


def versions_of(cell: Cell) -> dict[str, int]:
    """The version of everything that this cell's figures depend on, by name."""
    method = cell.method
    found = {"experiment": EXPERIMENT}
    if method.peer is None or method.asks:
        found |= {f"{role} {name}": ROLES[role].get(name).version for role, name in _parts(cell)}
    extra = {
        "several rounds": (SEVERAL_ROUNDS, method.n_rounds != 1),
        "peers": (PEERS, method.peer is not None),
        "augmented": (AUGMENTED, method.augmented),
        "assumptions": (ASSUMPTIONS, cell.setting.stage == "assumptions"),
    }
    return found | {name: version for name, (version, used) in extra.items() if used}


def _parts(cell: Cell) -> Iterator[tuple[str, str]]:
    """The parts that the cell's profile names for its kind of rows; every estimator: cells show all of them."""
    profile = cell.settled
    for kind in {"table": (Kind.TABLE,), None: (Kind.TABLE, Kind.VECTORS)}.get(cell.kind, (Kind.VECTORS,)):
        settled = profile.settle(profile.kind_for(kind), 1, has_gpu=True)
        detector = settled.schedule.detector
        yield "backbone", settled.backbone
        yield "strategy", settled.strategy
        yield from [("detector", detector)] if detector is not None else []
    yield "objective", profile.objective
    yield from (("estimator", name) for name in ESTIMATORS)
