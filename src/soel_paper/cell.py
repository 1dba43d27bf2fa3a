"""What is computed, as data: a method on a data set with a seed, and the versions of the parts that it used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from soel import Profile
from soel.ask import STRATEGIES
from soel.assess import ESTIMATORS
from soel.detect import DETECTORS
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES
from soel.types import Kind
from soel_paper.catalogue import CATALOGUE
from soel_paper.methods import Method, Order, Variant, with_paper_settings

FORMAT = 2
OTHER_SCHEDULES: Mapping[str | None, tuple[str, ...]] = {
    "table": ("vectors", "pictures"),
    "features": ("tables", "pictures"),
    "video": ("tables", "pictures"),
    "pixels": ("tables", "vectors"),
}
Stage = Literal["fit", "query", "assumptions"]
EXPERIMENT = 1  # protocols, encoding, the loop, metrics: what all cells share
SEVERAL_ROUNDS = 2  # 2: a round is seeded by the number of labels known, as everywhere else in soel
PEERS = 1
AUGMENTED = 2  # FixMatch and its augmentations
ASSUMPTIONS = 2  # 2: a thousand query sets, as in the paper
CLEAN = 2  # 2: all anomalies of a table are in the test
ROLES = {
    "backbone": BACKBONES,
    "objective": OBJECTIVES,
    "strategy": STRATEGIES,
    "detector": DETECTORS,
    "estimator": ESTIMATORS,
}


@dataclass(frozen=True)
class Expert:
    """The faults of the simulated expert: chances of a wrong label, of no answer, of an anomaly called normal."""

    wrong: float = 0.0
    skip: float = 0.0
    bias: float = 0.0

    def __str__(self) -> str:
        faults = [f"{name} {100 * value:g} %" for name, value in asdict(self).items() if value]
        return ", ".join(faults) or "perfect"


@dataclass(frozen=True)
class CellSetting:
    """What varies besides data set, method and seed.

    share: anomalies in the pool, None for what the data set's protocol takes. order: which anomalies enter the pool.
    stage: train to the end, stop after the query, or only look at the estimator's assumptions.
    """

    budget: int = 10
    share: float | None = None
    order: Order = "random"
    expert: Expert = field(default_factory=Expert)
    stage: Stage = "fit"


def as_values(value: Any) -> dict[str, Any]:
    """A frozen dataclass as JSON values, without its name and without what is at its default.

    So a setting that is added later, with a default that changes nothing, leaves finished cells valid.
    """
    given = {}
    for part in fields(value):
        own = getattr(value, part.name)
        usual = part.default_factory() if part.default_factory is not MISSING else part.default
        if part.name != "name" and own != usual:
            given[part.name] = as_values(own) if is_dataclass(own) else own
    return given


@dataclass(frozen=True)
class Cell:
    """dataset: a name of the catalogue, or of a user's file with its fingerprint. normal: the normal class, if any.

    form: for pictures, whether their pixels are learnt or the features of which network, and how many a class.
    """

    dataset: str
    method: Method
    variant: Variant
    setting: CellSetting
    seed: int
    normal: int | None = None
    form: str = ""

    @property
    def settled(self) -> Profile:
        """The profile with the method's parts; one that repeats the paper, with what it sets for the data set."""
        profile = self.method.apply_to(self.variant.profile)
        return with_paper_settings(profile, self.dataset) if self.variant.repeats_paper else profile

    @property
    def kind(self) -> str | None:
        """What its rows are: 'table', 'features', 'video' or 'pixels'; None for a file that the catalogue lacks."""
        kind = CATALOGUE[self.dataset].kind if self.dataset in CATALOGUE else None
        if kind == "images":
            return "pixels" if self.settled.kind_for(Kind.VECTORS) is Kind.PICTURES else "features"
        return kind

    def to_json(self) -> dict[str, Any]:
        others = OTHER_SCHEDULES.get(self.kind, ())  # schedules for other kinds of data do not matter
        profile = {name: value for name, value in as_values(self.settled).items() if name not in others}
        setting = self.setting  # a method that asks nobody depends neither on the budget nor on the expert
        setting = setting if self.method.asks else replace(setting, budget=0, expert=Expert())
        given = {name: getattr(self, name) for name in ("dataset", "normal", "form", "seed")}
        parts = {"method": as_values(self.method), "profile": profile, "setting": as_values(setting)}
        return {"format": FORMAT, **given, **parts}

    @property
    def key(self) -> str:
        text = json.dumps(self.to_json(), sort_keys=True)
        place = self.dataset if self.normal is None else f"{self.dataset}.{self.normal}"
        return f"{place}-{self.seed}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def group(self) -> str:
        """Cells with the same group differ in their seed or normal class alone, and may be trained as one model."""
        return json.dumps({**self.to_json(), "seed": None, "normal": None}, sort_keys=True)


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
        "clean": (CLEAN, method.clean),
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
