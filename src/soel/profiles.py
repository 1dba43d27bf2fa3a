"""Profiles: the same code with other settings, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from soel.errors import ConfigError
from soel.types import Precision, PseudoLabelRule, StepRule

WIDE = 300  # more columns than this are feature vectors, not a table
MANY_ROWS = 200_000
TABLE_ROWS = 10_240  # five steps of 2,048 rows
NARROW_WEIGHT = 1.0  # of the narrow network's score beside its companion's
PICTURE_BACKBONES = ("mhrot",)  # these learn on pixels, not on rows of features


@dataclass(frozen=True)
class Schedule:
    """How rows of one form are learnt: how long, in which steps, and what stands beside the backbone.

    rows_per_epoch: an epoch is a pass over the pool, or over this many rows drawn anew where the pool has more: so
    the length of training is a number of steps, whatever the size of the pool.
    batch_size: None takes a fifth of an epoch's rows. step: 'summed' adds the labelled and the unlabelled loss,
    'split' takes an Adam step on each in turn. pseudo_labels: refreshed over all unlabelled rows each
    'epoch', or within each 'batch' from its own forward pass. precision: of matrix products on a GPU, TF32 ('high')
    or full float32 ('highest').
    companion: a scorer beside the deep one; its space is then the one in which rows are compared, and the deep
    score counts `deep_weight` in the sum.
    """

    epochs: int
    learning_rate: float
    batch_size: int | None = None
    warm_up_epochs: int = 1
    step: StepRule = "summed"
    pseudo_labels: PseudoLabelRule = "epoch"
    precision: Precision = "high"
    companion: str | None = None
    deep_weight: float = 1.0
    rows_per_epoch: int = MANY_ROWS


@dataclass(frozen=True)
class Profile:
    """Every choice of the method by name. `dataclasses.replace` makes a variant."""

    name: str
    tables: Schedule
    features: Schedule
    backbone: str = "auto"
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    n_members: int = 1
    strategy: str = "diverse"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    objective: str = "soel"
    objective_options: Mapping[str, Any] = field(default_factory=dict)
    contamination: str = "kde"
    scaling: str = "none"
    pictures: Schedule = Schedule(epochs=15, learning_rate=1e-3, batch_size=10)

    def to_json(self) -> dict[str, Any]:
        """The profile as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Profile:
        """The profile back from plain JSON values."""
        schedules = {form: Schedule(**values[form]) for form in ("tables", "features", "pictures") if form in values}
        return cls(**{**values, **schedules})

    def with_parts(self, **names: str | None) -> Profile:
        """The profile with other parts by role; None keeps one. A new part starts with its own default options."""
        changes: dict[str, Any] = {}
        for role, name in names.items():
            if name is not None and name != getattr(self, role):
                changes |= {role: name}
                changes |= {f"{role}_options": {}} if hasattr(self, f"{role}_options") else {}
        return replace(self, **changes)

    def without_gpu(self) -> Profile:
        """The form for feature vectors on a machine without a GPU: one narrow member, which counts for less."""
        features = replace(self.features, deep_weight=NARROW_WEIGHT)
        return replace(self.with_parts(backbone="ntl-narrow"), n_members=1, features=features)

    def schedule(self, n_features: int) -> Schedule:
        """The schedule for rows of this width; raw pictures have one of their own."""
        if self.backbone in PICTURE_BACKBONES:
            return self.pictures
        return self.tables if n_features <= WIDE else self.features

    def scaling_for(self, n_columns: int) -> str:
        """How columns are scaled; feature vectors are taken as they come, since their scale carries meaning."""
        return self.scaling if n_columns <= WIDE else "none"

    def strategy_for(self, n_features: int) -> tuple[str, Mapping[str, Any]]:
        """The strategy's name and options, with 'auto' decided by the width of the rows."""
        if self.strategy != "auto":
            return self.strategy, self.strategy_options
        return ("k-center", {"first": "central"}) if n_features <= WIDE else ("medoids", {})

    def backbone_for(self, n_features: int) -> str:
        """The backbone's name, with 'auto' decided by the width of the rows."""
        if self.backbone != "auto":
            return self.backbone
        return "ntl" if n_features <= WIDE else "ntl-features"


PAPER = Profile(
    name="paper",
    tables=Schedule(epochs=100, learning_rate=1e-3, rows_per_epoch=TABLE_ROWS),
    features=Schedule(epochs=30, learning_rate=1e-4, batch_size=512),
    strategy_options={"first": "uniform"},
)

AUTHORS = Profile(
    name="authors",
    tables=Schedule(epochs=100, learning_rate=1e-3, step="split", pseudo_labels="batch", rows_per_epoch=TABLE_ROWS),
    features=Schedule(epochs=30, learning_rate=1e-4, batch_size=512, step="split", pseudo_labels="batch"),
    strategy_options={"first": "central"},
    pictures=Schedule(epochs=15, learning_rate=1e-3, batch_size=10, step="split", pseudo_labels="batch"),
)

DEFAULT = Profile(
    name="default",
    tables=Schedule(
        epochs=100,
        learning_rate=1e-3,
        pseudo_labels="batch",
        companion="surroundings",
        deep_weight=0.25,
        rows_per_epoch=TABLE_ROWS,
    ),
    features=Schedule(
        epochs=30, learning_rate=1e-4, batch_size=512, pseudo_labels="batch", companion="angles", deep_weight=8.0
    ),
    strategy="auto",
    contamination="kriging",
    n_members=4,
    scaling="standard",
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (DEFAULT, PAPER, AUTHORS)}


def find_profile(profile: str | Profile) -> Profile:
    """A profile by name, or the one given."""
    if isinstance(profile, Profile):
        return profile
    if profile not in PROFILES:
        raise ConfigError(
            f"There is no profile called {profile!r}. Choose one of: {', '.join(PROFILES)}, or pass a Profile."
        )
    return PROFILES[profile]
