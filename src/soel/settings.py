"""Profiles: the same code with other settings, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from soel.errors import ConfigError
from soel.records import read_body
from soel.types import Kind, Precision, PseudoLabelRule, StepRule

MANY_ROWS = 200_000
TABLE_ROWS = 10_240  # five steps of 2,048 rows
WIDE = 300  # encoded columns, above which a network as wide as its rows is too much for a table or without a GPU
NARROW_WEIGHT = 1.0  # of the narrow network's score beside the detector's; chosen as benchmarks/choices.md says
GOALS = ("learn", "find")
FIND_TILT = 4.0  # towards suspicious rows, where anomalies found count and not what is learnt
PICTURE_BACKBONES = ("mhrot",)  # these learn on pixels, not on rows of features
_FORMS = {Kind.TABLE: "tables", Kind.VECTORS: "vectors", Kind.PICTURES: "pictures"}


@dataclass(frozen=True)
class Schedule:
    """How rows of one kind are learnt: how long, in which steps, by which parts.

    rows_per_epoch: an epoch is a pass over the pool, or over this many rows drawn anew where the pool has more: so
    the length of training is a number of steps, whatever the size of the pool.
    batch_size: None takes a fifth of an epoch's rows. step: 'summed' adds the labelled and the unlabelled loss,
    'split' takes an Adam step on each in turn. pseudo_labels: refreshed over all unlabelled rows each
    'epoch', or within each 'batch' from its own forward pass. precision: of matrix products on a GPU, TF32 ('high')
    or full float32 ('highest').
    detector: scores without gradient steps; rows are then compared in its space, and the network's
    score counts `deep_weight` in the sum.
    patch_detector: of the patches of pictures; where a pool has them, it takes the network's place, and questions go to
    the highest scores.
    backbone, strategy, strategy_options, contamination: what a profile's 'auto' means for this kind.
    """

    epochs: int
    learning_rate: float
    batch_size: int | None = None
    warm_up_epochs: int = 1
    step: StepRule = "summed"
    pseudo_labels: PseudoLabelRule = "epoch"
    precision: Precision = "high"
    detector: str | None = None
    detector_options: Mapping[str, Any] = field(default_factory=dict)
    deep_weight: float = 1.0
    patch_detector: str | None = None
    rows_per_epoch: int = MANY_ROWS
    backbone: str = "ntl"
    strategy: str = "diverse"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    contamination: str = "kriging"


@dataclass(frozen=True)
class Profile:
    """Every choice of the method by name. `dataclasses.replace` makes a variant.

    kind: what the rows are; None until `settle` has said it, and everything that 'auto' leaves open with it.
    narrows: whether a narrow network stands in where one as wide as the rows is too much: for a table of more than
    WIDE encoded columns, and for feature vectors without a GPU.
    """

    name: str
    tables: Schedule
    vectors: Schedule
    backbone: str = "auto"
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    n_members: int = 1
    strategy: str = "diverse"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    objective: str = "soel"
    objective_options: Mapping[str, Any] = field(default_factory=dict)
    contamination: str = "kde"
    scaling: str = "none"
    pictures: Schedule = Schedule(epochs=15, learning_rate=1e-3, batch_size=10, backbone="mhrot")
    narrows: bool = False
    kind: Kind | None = None

    def to_json(self) -> dict[str, Any]:
        """The profile as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Profile:
        """The profile back from plain JSON values."""
        return read_body(cls, values)

    def with_parts(self, **names: str | None) -> Profile:
        """The profile with other parts by role; None keeps one. A new part starts with its own default options."""
        changes: dict[str, Any] = {}
        for role, name in names.items():
            if name is not None and name != getattr(self, role):
                changes |= {role: name}
                changes |= {f"{role}_options": {}} if hasattr(self, f"{role}_options") else {}
        return replace(self, **changes)

    def with_goal(self, goal: str) -> Profile:
        """The profile for what questions are asked for: 'learn' the best detector, or 'find' the most anomalies."""
        if goal not in GOALS:
            raise ConfigError(f"There is no goal called {goal!r}. Choose one of: {', '.join(GOALS)}.")
        if goal == "learn":
            return self
        return replace(self, strategy="positive-distant", strategy_options={"tilt": FIND_TILT, "balanced": False})

    def kind_for(self, found: Kind) -> Kind:
        """What the rows are for this profile: those of a backbone that learns on pixels are pictures."""
        return Kind.PICTURES if self.backbone in PICTURE_BACKBONES else found

    def settle(
        self,
        kind: Kind,
        n_features: int,
        has_gpu: bool = False,
        has_torch: bool = True,
        has_patches: bool = False,
    ) -> Profile:
        """The profile for rows of this kind and encoded width: nothing is left to be decided by the data.

        Without torch, or beside patches, a network that nobody named is left out where a detector stands beside it.
        """
        settled = replace(self, kind=kind)
        has_patches = has_patches and settled.schedule.patch_detector is not None
        if self.backbone == "auto" and settled.schedule.detector is not None and (has_patches or not has_torch):
            alone: dict[str, Any] = {_FORMS[kind]: replace(settled.schedule, deep_weight=0.0)}
            settled = replace(settled, **alone, narrows=False)
        schedule = settled.schedule
        if self.strategy == "auto" and has_patches:
            settled = replace(settled, strategy="highest")
        elif self.strategy == "auto":
            settled = replace(settled, strategy=schedule.strategy, strategy_options=schedule.strategy_options)
        if self.contamination == "auto":
            settled = replace(settled, contamination=schedule.contamination)
        if self.backbone != "auto":
            return settled
        too_wide = n_features > WIDE if kind is Kind.TABLE else kind is Kind.VECTORS and not has_gpu
        return settled.narrow() if settled.narrows and too_wide else settled.with_parts(backbone=schedule.backbone)

    def narrow(self) -> Profile:
        """One narrow member instead of several wide ones; on feature vectors it counts for less."""
        vectors = replace(self.vectors, deep_weight=NARROW_WEIGHT)
        return replace(self.with_parts(backbone="ntl-narrow"), n_members=1, vectors=vectors)

    @property
    def schedule(self) -> Schedule:
        """The schedule for rows of the profile's kind."""
        if self.kind is None:
            raise ConfigError(f"The profile {self.name!r} does not say what the rows are; settle it for a kind first.")
        schedule: Schedule = getattr(self, _FORMS[self.kind])
        return schedule

    def scaling_for(self, kind: Kind) -> str:
        """How columns are scaled; feature vectors and pixels are taken as they come: their scale carries meaning."""
        return self.scaling if kind is Kind.TABLE else "none"


PAPER = Profile(
    name="paper",
    tables=Schedule(epochs=100, learning_rate=1e-3, rows_per_epoch=TABLE_ROWS),
    vectors=Schedule(epochs=30, learning_rate=1e-4, batch_size=512, backbone="ntl-features"),
    strategy_options={"first": "uniform"},
)


def _split(schedule: Schedule) -> Schedule:
    return replace(schedule, step="split", pseudo_labels="batch")


AUTHORS = Profile(
    name="authors",
    tables=_split(PAPER.tables),
    vectors=_split(PAPER.vectors),
    pictures=_split(PAPER.pictures),
    strategy_options={"first": "central"},
)

DEFAULT = Profile(
    name="default",
    # no network is trained on tables: benchmarks/choices.md says what the paper's would add
    tables=Schedule(
        epochs=100,
        learning_rate=1e-3,
        pseudo_labels="batch",
        detector="pretrained",
        deep_weight=0.0,
        rows_per_epoch=TABLE_ROWS,
        strategy="positive-distant",
        contamination="pretrained",
    ),
    vectors=Schedule(
        epochs=30,
        learning_rate=1e-4,
        batch_size=512,
        pseudo_labels="batch",
        detector="angular",
        deep_weight=8.0,
        patch_detector="patches",
        backbone="ntl-features",
        strategy="medoids",
    ),
    strategy="auto",
    narrows=True,
    contamination="auto",
    n_members=4,
    scaling="standard",
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (DEFAULT, PAPER, AUTHORS)}


def choose_profile(
    profile: str | Profile,
    *,
    backbone: str | None = None,
    objective: str | None = None,
    strategy: str | None = None,
    contamination: str | None = None,
    goal: str = "learn",
) -> Profile:
    """The profile with the parts that are named, for a goal; every name has an effect or is refused.

    A backbone or an objective means the paper's learner: the default scores tables without either.
    """
    if not isinstance(profile, Profile) and profile not in PROFILES:
        raise ConfigError(
            f"There is no profile called {profile!r}. Choose one of: {', '.join(PROFILES)}, or pass a Profile."
        )
    base = profile if isinstance(profile, Profile) else PROFILES[profile]
    if base is DEFAULT and (backbone is not None or objective is not None):
        base = PAPER
    if goal == "find" and strategy is not None:
        raise ConfigError(f"The goal 'find' is a strategy of its own, got {strategy!r} too; give one of them.")
    parts = {"backbone": backbone, "objective": objective, "strategy": strategy, "contamination": contamination}
    return base.with_parts(**parts).with_goal(goal)
