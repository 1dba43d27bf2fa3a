"""Which code computed a cell: the versions of the parts that it used.

Every backbone, objective, strategy, detector and estimator has a `version`, raised by hand whenever its figures change;
so have the experiment itself and what is compared with it, here. A change to one strategy makes the cells of that
strategy old, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from soel.backbones import BACKBONES
from soel.contamination import ESTIMATORS
from soel.detectors import DETECTORS
from soel.objectives import OBJECTIVES
from soel.queries import STRATEGIES
from soel.registry import Registry
from soel.types import Kind
from soel_reproduction.cells import Cell

EXPERIMENT = 1  # protocols, encoding, training, metrics: what all cells share
PEERS = 1
AUGMENTED = 1  # FixMatch and its augmentations
ASSUMPTIONS = 1


def versions_of(cell: Cell) -> dict[str, int]:
    """The version of everything that this cell's figures depend on, by name."""
    method = cell.method
    found = {"experiment": EXPERIMENT}
    if method.peer is None or method.asks:
        found |= {f"{registry.role} {name}": registry.get(name).version for registry, name in _parts(cell)}
    extra: Mapping[str, tuple[int, bool]] = {
        "peers": (PEERS, method.peer is not None),
        "augmented": (AUGMENTED, method.augmented),
        "assumptions": (ASSUMPTIONS, cell.setting.stage == "assumptions"),
    }
    return found | {name: version for name, (version, used) in extra.items() if used}


def _parts(cell: Cell) -> Iterator[tuple[Registry, str]]:
    """The parts that the cell's profile names for its kind of rows; every estimator: cells show all of them."""
    profile = cell.settled
    for kind in {"table": (Kind.TABLE,), None: (Kind.TABLE, Kind.VECTORS)}.get(cell.kind, (Kind.VECTORS,)):
        settled = profile.settle(profile.kind_for(kind), 1, has_gpu=True)
        detector = settled.schedule.detector
        yield BACKBONES, settled.backbone
        yield STRATEGIES, settled.strategy
        yield from [(DETECTORS, detector)] if detector is not None else []
    yield OBJECTIVES, profile.objective
    yield from ((ESTIMATORS, name) for name in ESTIMATORS)
