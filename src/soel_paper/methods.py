"""What is compared: methods, profiles in their variants, settings of single data sets, and these as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from soel import PROFILES, ConfigError, Profile
from soel.types import Kind

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """A row of a comparison. None takes the profile's part; options are added to those of the profile.

    given_share: the method is told the true share of anomalies plus this; None: it has to estimate.
    n_rounds: the budget is spent in so many rounds, with a fit between them.
    clean: trained on the pool's normal rows alone, to see what contamination costs.
    peer: another detector instead of ours, see `peers`. all_labels: it is told the label of every row of the pool.
    own: a file of the user's with a method of theirs, and the digest of its content.
    augmented: learns from augmented pictures, see `fixmatch`.
    """

    name: str
    strategy: str | None = None
    objective: str | None = None
    backbone: str | None = None
    contamination: str | None = None
    strategy_options: Options = field(default_factory=dict)
    objective_options: Options = field(default_factory=dict)
    given_share: float | None = None
    n_rounds: int = 1
    asks: bool = True
    clean: bool = False
    peer: str | None = None
    peer_options: Options = field(default_factory=dict)
    augmented: bool = False
    all_labels: bool = False
    own: tuple[str, ...] = ()

    def on_pixels(self, profile: Profile) -> bool:
        """Whether it learns on pictures themselves rather than on rows."""
        return self.peer is None and not self.own and self.apply_to(profile).kind_for(Kind.VECTORS) is Kind.PICTURES

    def apply_to(self, profile: Profile) -> Profile:
        """The profile with this method's parts; a backbone or an objective means the paper's learner, as in `SOEL`."""
        if profile.name == "default" and (self.backbone or self.objective):
            profile = PROFILES["paper"].with_parts(backbone=profile.backbone)
        parts = ("strategy", "objective", "backbone", "contamination")
        changed = profile.with_parts(**{part: getattr(self, part) for part in parts})
        return replace(
            changed,
            strategy_options={**changed.strategy_options, **self.strategy_options},
            objective_options={**changed.objective_options, **self.objective_options},
        )


SOEL = Method("SOEL")
NINE = (
    Method("Mar", "margin", "one-class"),
    Method("Hybr1", "margin-diverse", "one-class"),
    Method("Pos1", "positive", "supervised"),
    Method("Pos2", "positive", "one-class"),
    Method("Rand1", "random", "one-class"),
    Method("Rand2", "positive-random", "one-class"),
    Method("Hybr2", "positive-diverse", "supervised"),
    Method("Hybr3", "positive-diverse", "refinement"),
    SOEL,
)
UNSUPERVISED = Method("no labels", objective="all-normal", asks=False)
LOE = Method("LOE", objective="loe-soft", asks=False, given_share=0.0)
QUERY_ONLY = Method("queries alone", "diverse", "supervised")
TRUE_SHARE = Method("SOEL with true share", given_share=0.0)
SEQUENTIAL = Method("SOEL in rounds of 20", n_rounds=-20)
GRADIENT = Method("gradient diversity", "gradient-diverse")
CLASSIFIER = Method("binary classifier", backbone="classifier")
NEIGHBOUR_LABELS = Method("nearest-neighbour labels", objective="neighbour-labels")
PROCESS_LABELS = Method("Gaussian-process labels", objective="gaussian-process-labels")
DEEP_SVDD = tuple(replace(m, name=f"{m.name} on Deep SVDD", backbone="deep-svdd") for m in (SOEL, NINE[1], NINE[6]))
MHROT = tuple(
    replace(m, name=f"{m.name} on MHRot", backbone="mhrot") for m in (SOEL, NINE[1], NINE[6], LOE, QUERY_ONLY)
)
FIXMATCH = (
    Method("FixMatch", "random", "supervised", augmented=True),
    Method("FixMatch after diverse queries", "diverse", "supervised", augmented=True),
)
CLEAN = Method("NTL", objective="all-normal", asks=False, clean=True)


def by_strategy(objective: str | None) -> tuple[Method, ...]:
    """The same training after each of the strategies that the paper compares."""
    strategies = ("diverse", "margin", "positive", "random", "margin-diverse", "positive-random", "positive-diverse")
    return tuple(Method(strategy, strategy, objective) for strategy in strategies)


def knn(k: int) -> Method:
    """The distance to the k-th neighbour in the pool, no labels."""
    return Method(f"kNN k={k}", peer="knn", peer_options={"k": k}, asks=False)


PEERS = (
    Method("isolation forest", peer="isolation-forest", asks=False),
    Method("LOF", peer="lof", asks=False),
    Method("one-class SVM", peer="one-class-svm", asks=False),
    knn(10),
    Method("PyOD Deep SVDD", peer="pyod-deep-svdd", asks=False),
    Method("DeepOD NeuTraL", peer="deepod-neutral", asks=False),
    Method("DeepOD Deep SAD", peer="deepod-deep-sad", strategy="diverse"),
    Method("all labels known", peer="labelled-forest", asks=False, all_labels=True),
)


def own_method(file: Path) -> Method:
    """A method of the user's, by its file; a changed file is another method."""
    if not file.is_file():
        raise ConfigError(f"There is no file {file} with a method of yours.")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return Method(file.stem, own=(str(file), digest))


def choose_methods(methods: tuple[Method, ...], names: tuple[str, ...]) -> tuple[Method, ...]:
    """Those of the methods that were named; all when none was."""
    known = {method.name.lower(): method for method in methods}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ConfigError(
            f"There is no method called {unknown[0]!r} here. Choose among: {', '.join(m.name for m in methods)}."
        )
    return tuple(known[name.lower()] for name in names) or methods


Order = Literal["random", "first"]


@dataclass(frozen=True)
class Variant:
    """A profile with what an experiment has to know about it.

    name: the profile's own, and the form of the network where it is another. repeats_paper: it means to repeat the
    paper or its code, so it takes what these set for single data sets, and is asked whether its figures are theirs.
    first_anomalies: the anomalies of a table's pool are the first of the file, as in the authors' code.
    """

    name: str
    profile: Profile
    repeats_paper: bool = True
    first_anomalies: bool = False


VARIANTS: Mapping[str, Variant] = {
    "default": Variant("default", PROFILES["default"], repeats_paper=False),
    "paper": Variant("paper", PROFILES["paper"]),
    "authors": Variant("authors", PROFILES["authors"], first_anomalies=True),
}


def as_paper(variant: Variant) -> Variant:
    """The paper's learner in place of our default, in the same form."""
    if variant.repeats_paper:
        return variant
    return VARIANTS["paper"] if variant.profile.backbone == "auto" else narrow(VARIANTS["paper"])


def find_variant(name: str) -> Variant:
    """A variant by the name of its profile."""
    if name not in VARIANTS:
        raise ConfigError(f"There is no profile called {name!r}. Choose one of: {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def narrow(variant: Variant) -> Variant:
    """For feature vectors on a machine without a GPU: one member, views through a narrow middle.

    Ours is the form that soel itself takes there; the others only change the backbone.
    """
    profile = variant.profile
    small = profile.with_parts(backbone="ntl-narrow") if variant.repeats_paper else profile.narrow()
    return replace(variant, name=f"{variant.name}, narrow", profile=replace(small, n_members=1))


HEADER = (
    "profile", "data", "backbone", "learning rate", "epochs", "batch", "members", "query", "objective",
    "contamination", "scaling",
)  # fmt: skip

NOTHING = "-"  # where no network is trained


def settings_rows() -> list[list[str]]:
    """One row per profile and kind of data."""
    kinds = (("tables", Kind.TABLE, 10), ("feature vectors", Kind.VECTORS, 2048))
    return [
        _row(variant.profile.settle(kind, width, has_gpu=True), name, kind)
        for variant in VARIANTS.values()
        for name, kind, width in kinds
    ]


def settings_table() -> str:
    """The settings as Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *settings_rows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


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


VIDEO = "ucsd-peds1"
VIDEO_BATCH, VIDEO_EPOCHS = 192, 3
LONG = ("positive", "positive-diverse")  # Hybr2, Hybr3, Pos1 and Pos2 train for the usual 30 epochs there
COLOUR_PHOTOS, CLOTHES = "cifar10", "fashion-mnist"
MHROT_RATE = 1e-4  # everywhere but on colour photos
CLOTHES_EPOCHS = 3  # of SOEL; all else trains for the usual number


def with_paper_settings(profile: Profile, dataset: str) -> Profile:
    """The profile with what the paper sets for this data set."""
    if profile.backbone == "mhrot":
        return _on_pixels(profile, dataset)
    if dataset == VIDEO:
        changes: dict[str, Any] = {"batch_size": VIDEO_BATCH}
        changes |= {} if profile.strategy in LONG else {"epochs": VIDEO_EPOCHS}
        return replace(profile, vectors=replace(profile.vectors, **changes))
    return profile


def _on_pixels(profile: Profile, dataset: str) -> Profile:
    changes: dict[str, Any] = {} if dataset == COLOUR_PHOTOS else {"learning_rate": MHROT_RATE}
    if profile.strategy == "diverse":  # the paper gives no temperature for MHRot; its queries are plain k-means++
        first = "largest" if profile.strategy_options.get("first") == "central" else "uniform"
        profile = replace(profile, strategy="k-means++", strategy_options={"first": first})
    options: Mapping[str, Any] = profile.backbone_options
    if dataset == CLOTHES:
        changes |= {"epochs": CLOTHES_EPOCHS} if profile.objective == "soel" else {}
        options = {**options, "penalty": 0.0}
    return replace(profile, pictures=replace(profile.pictures, **changes), backbone_options=options)
