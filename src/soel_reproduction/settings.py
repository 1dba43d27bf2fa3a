"""The settings in force, printed (tab:opt-param)."""

from __future__ import annotations

from collections.abc import Sequence

from soel.profiles import PROFILES, Profile, Schedule

HEADER = (
    "profile", "data", "backbone", "learning rate", "epochs", "batch", "members", "query", "objective",
    "contamination", "scaling",
)  # fmt: skip


def settings_rows() -> list[list[str]]:
    """One row per profile and kind of data."""
    return [row for profile in PROFILES.values() for row in _rows(profile)]


def settings_table() -> str:
    """The settings as Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *settings_rows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rows(profile: Profile) -> Sequence[list[str]]:
    kinds = (("tables", 10, profile.tables), ("feature vectors", 2048, profile.features))
    return [_row(profile, kind, width, schedule) for kind, width, schedule in kinds]


def _row(profile: Profile, kind: str, width: int, schedule: Schedule) -> list[str]:
    strategy, chosen = profile.strategy_for(width)
    options = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return [
        profile.name,
        kind,
        profile.backbone_for(width),
        f"{schedule.learning_rate:g}",
        str(schedule.epochs),
        "N/5" if schedule.batch_size is None else str(schedule.batch_size),
        str(profile.n_members),
        f"{strategy} ({options})" if options else strategy,
        f"{profile.objective}, {schedule.step} step, labels by {schedule.pseudo_labels}",
        profile.contamination,
        profile.scaling_for(width),
    ]
