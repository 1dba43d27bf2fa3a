"""The settings in force, printed (tab:opt-param)."""

from __future__ import annotations

from collections.abc import Sequence

from soel import Profile
from soel.types import Kind
from soel_paper.variants import VARIANTS

HEADER = (
    "profile", "data", "backbone", "learning rate", "epochs", "batch", "members", "query", "objective",
    "contamination", "scaling",
)  # fmt: skip

NOTHING = "-"  # where no network is trained


def settings_rows() -> list[list[str]]:
    """One row per profile and kind of data."""
    return [row for variant in VARIANTS.values() for row in _rows(variant.profile)]


def settings_table() -> str:
    """The settings as Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *settings_rows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rows(profile: Profile) -> Sequence[list[str]]:
    kinds = (("tables", Kind.TABLE, 10), ("feature vectors", Kind.VECTORS, 2048))
    return [_row(profile.settle(kind, width, has_gpu=True), name, kind) for name, kind, width in kinds]


def _row(profile: Profile, rows: str, kind: Kind) -> list[str]:
    schedule, strategy = profile.schedule, profile.strategy
    trained = schedule.detector is None or schedule.deep_weight != 0
    training = (
        profile.backbone,
        f"{schedule.learning_rate:g}",
        str(schedule.epochs),
        "N/5" if schedule.batch_size is None else str(schedule.batch_size),
        str(profile.n_members),
    )
    options = ", ".join(f"{name} {value}" for name, value in profile.strategy_options.items())
    return [
        profile.name,
        rows,
        *(training if trained else (NOTHING,) * len(training)),
        f"{strategy} ({options})" if options else strategy,
        f"{profile.objective}, {schedule.step} step, labels by {schedule.pseudo_labels}" if trained else NOTHING,
        profile.contamination,
        profile.scaling_for(kind),
    ]
