"""The tables and figures of the paper as data, and a few of ours: what varies, what is measured and claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from soel import ConfigError
from soel_paper import methods as m
from soel_paper.catalogue import CATALOGUE
from soel_paper.cell import Cell, CellSetting, Expert, Stage
from soel_paper.figures import Axis
from soel_paper.findings import (
    PRINTED,
    SHARES,
    Claim,
    Figures,
    FigureTable,
    alike,
    as_printed,
    beats,
    best,
    small,
    unbiased,
)
from soel_paper.methods import Method, Variant
from soel_paper.sources import DataSource

FIRST_SEED = 40


@dataclass(frozen=True)
class Artefact:
    """One table or figure.

    label: the paper's, empty for one of ours. rows, columns: the axes of the printed table; what varies beyond
    them gives several tables. plot: the axis that is drawn along x, None for no picture. needs: data and hardware in
    words.
    classes: those that are normal in turn; empty for all. compares_profiles: whether SOEL is the chosen profile's own
    method; else every method is the paper's learner, also where our default is chosen.
    minutes: on two cores in profile `authors`, from the files on; gpu_minutes: of training on one H200, None where
    that was not measured. Both are put together from the seconds that single cells took.
    """

    name: str
    label: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    measures: tuple[str, ...]
    budgets: tuple[int, ...] = (10,)
    shares: tuple[float | None, ...] = (None,)
    experts: tuple[Expert, ...] = (Expert(),)
    stage: Stage = "fit"
    rows: tuple[str, ...] = ("dataset",)
    columns: str = "method"
    paper_axes: tuple[str, ...] = ("dataset", "method")
    claims: tuple[Claim, ...] = ()
    plot: Axis | None = None
    n_seeds: int = 5
    classes: tuple[int, ...] = ()
    compares_profiles: bool = False
    needs: str = "tables"
    minutes: float = 0.0
    gpu_minutes: float | None = None

    @property
    def paper(self) -> Figures:
        """What the paper printed, with the spread, keyed by the places on `paper_axes`."""
        return PRINTED.get(self.name, {})

    def cells(self, variant: Variant, seeds: Sequence[int], source: DataSource, classes: tuple[int, ...]) -> list[Cell]:
        """Everything to compute, in the order of the table."""
        return [
            Cell(dataset, method, variant, self._setting(dataset, variant, *place), seed, normal, form)
            for dataset in self.datasets
            for normal in source.classes(dataset, classes or self.classes)
            for method in self.methods
            if source.suits(dataset, method.augmented, method.on_pixels(variant.profile))
            for form in (source.form(dataset, method.on_pixels(variant.profile)),)
            for place in product(self.budgets, self.shares, self.experts)
            for seed in seeds
        ]

    def with_paper(self, results: FigureTable) -> FigureTable:
        """The points with the paper's figures beside them."""
        keys = [tuple(getattr(point.at, axis) for axis in self.paper_axes) for point in results.points]
        points = [replace(point, paper=self.paper.get(key)) for point, key in zip(results.points, keys, strict=True)]
        return FigureTable(points, results.missing)

    def to_json(self) -> dict[str, Any]:
        shown = ("name", "label", "title", "datasets", "budgets", "needs", "minutes")
        methods = [method.name for method in self.methods]
        return {name: getattr(self, name) for name in shown} | {"methods": methods, "minutes_on_gpu": self.gpu_minutes}

    def _setting(self, dataset: str, variant: Variant, budget: int, share: float | None, expert: Expert) -> CellSetting:
        is_table = dataset in CATALOGUE and CATALOGUE[dataset].kind == "table"
        first = variant.first_anomalies and share is None and is_table
        return CellSetting(budget, share, "first" if first else "random", expert, self.stage)


TABLES = ("breastw", "ionosphere", "pima", "satellite")
PHOTOS = ("cifar10", "fashion-mnist")
MEDICAL = tuple(
    f"{name}mnist" for name in ("blood", "organa", "organc", "organs", "oct", "path", "pneumonia", "tissue", "derma")
)
IMAGES = PHOTOS + MEDICAL
BUDGETS = (20, 40, 80, 160)
AUROC, F1 = ("auroc",), ("f1",)
FEATURES, GPU = "feature vectors of the images", "feature vectors of the images; a GPU advised"
SOEL_BEST = Claim("SOEL is better than every other method on average.", best("SOEL", "auroc"))
AS_PRINTED = Claim("Our figures are the paper's.", as_printed(), fidelity=True)
HYBR2 = m.NINE[6]

TAUS = tuple(
    m.Method(f"tau = {tau:g}", "diverse", strategy_options={"temperature": tau}) for tau in (1, 0.1, 0.01, 0.001)
)
PSEUDO = tuple(
    m.Method(f"y = {y:g}", objective="soel", objective_options={"pseudo_label": y})
    for y in (1, 0.875, 0.75, 0.625, 0.5, 0.25)
)
WEIGHTS = tuple(  # a weight w on the labelled mean is a weight 1 / w on the other one, up to the step size
    m.Method(f"weight {w:g}", objective="soel", objective_options={"unlabelled_weight": 1 / w})
    for w in (0.01, 0.1, 1, 10)
)
MISJUDGED = tuple(m.Method(f"share off by {100 * off:+g}", given_share=off) for off in (-0.05, 0.0, 0.05))
CLEAN = tuple(replace(peer, clean=True) for peer in (m.CLEAN, *m.PEERS[:4]))


def _tables(name: str, label: str, title: str, methods: tuple[m.Method, ...], *claims: Claim, **more: Any) -> Artefact:
    """Detection on tables with 10 labels."""
    usual = {"datasets": TABLES, "measures": F1, "claims": claims}
    return Artefact(name, label, title, methods=methods, **{**usual, **more})


def _images(
    name: str, label: str, title: str, datasets: tuple[str, ...], methods: tuple[m.Method, ...], *claims: Claim,
    curves: bool = False, **more: Any,
) -> Artefact:  # fmt: skip
    """Detection on images with 20 labels. curves: as the budget grows."""
    usual: dict[str, Any] = {"measures": AUROC, "budgets": (20,), "needs": GPU, "claims": claims}
    if curves:
        usual |= {"budgets": BUDGETS, "rows": ("dataset", "method"), "columns": "budget", "plot": "budget"}
    return Artefact(name, label, title, datasets, methods, **{**usual, **more})


_budgets = partial(_images, curves=True)


MAIN = (
    _tables(
        "table3", "tab:tab_results", "Detection on tables with 10 labels", m.NINE,
        AS_PRINTED,
        Claim("SOEL is the best on average.", best("SOEL", "f1")),
        compares_profiles=True, minutes=3.3,
    ),
    _images(
        "table2", "tab:img_results", "Detection on images with 20 labels", IMAGES, m.NINE,
        AS_PRINTED,
        SOEL_BEST,
        compares_profiles=True, minutes=237_000, gpu_minutes=403,
    ),
    _budgets(
        "budgets", "fig:img_data", "Detection as the budget grows", IMAGES, m.NINE,
        SOEL_BEST,
        compares_profiles=True, minutes=947_000, gpu_minutes=1612,
    ),
    _budgets(
        "video", "fig:video_data", "AUROC on frames of UCSD Peds1", ("ucsd-peds1",), m.NINE,
        SOEL_BEST,
        rows=("method",), compares_profiles=True, needs="feature vectors of the frames; a GPU advised", minutes=7940,
        gpu_minutes=13.3,
    ),
)  # fmt: skip
THEORY = (
    _budgets(
        "cover-radius", "fig:thm1-delta", "How well each strategy covers the pool", PHOTOS, m.by_strategy(None)[:4],
        Claim("Diverse queries have the smallest cover radius.", best("diverse", "radius", lowest=True)),
        measures=("radius", "delta", "delta_defined"), stage="query", rows=("dataset", "measure", "method"),
        n_seeds=100, classes=(0,), needs=FEATURES, minutes=8300,
    ),
    _budgets(
        "ranking", "fig:ranking-unquery", "AUROC on the rows nobody was asked about", PHOTOS,
        m.by_strategy("supervised")[:4],
        Claim("Diverse queries rank the unqueried rows best.", best("diverse", "ranking")),
        measures=("ranking",), minutes=84_500, gpu_minutes=144,
    ),
    _images(
        "assumptions", "fig:corr-mat", "Correlations within a query set; equal scores with unequal labels", PHOTOS,
        (m.Method("diverse", "diverse"),),
        AS_PRINTED,
        Claim("Scores of one query set are nearly uncorrelated.", small("correlation_mean", 5.0)),
        measures=("correlation_mean", "correlation_max", "correlation_min", "equal_scores", "violations"),
        stage="assumptions", columns="measure", paper_axes=("dataset", "measure"), n_seeds=1, classes=(0, 1),
        needs=FEATURES, minutes=95,
    ),
    _images(
        "alpha", "tab:alpha-estimate", "Estimates of the share of anomalies with 40 labels", PHOTOS,
        (m.Method("diverse", "diverse"),),
        Claim("The kernel density estimate is right within 5 points.", unbiased("alpha_kde")),
        Claim("(ours) The cover estimate is right within 5 points.", unbiased("alpha_cover")),
        Claim("(ours) The kriging estimate is right within 5 points.", unbiased("alpha_kriging")),
        measures=("alpha_kde", "alpha_cover", "alpha_kriging"), budgets=(40,), shares=SHARES, stage="query",
        rows=("dataset", "measure"), columns="share", plot="share",
        paper_axes=("dataset", "share", "measure"), n_seeds=10, needs=FEATURES, minutes=5260,
    ),
)  # fmt: skip
ABLATIONS = (
    _images(
        "deep-svdd", "tab:backbone-dsvdd-mhrot", "Deep SVDD as the backbone", IMAGES[:6], m.DEEP_SVDD,
        Claim("SOEL is the best with Deep SVDD too.", best("SOEL on Deep SVDD", "auroc")),
        needs=FEATURES, minutes=413, gpu_minutes=16.5,
    ),
    _images(
        "mhrot", "tab:backbone-dsvdd-mhrot, MHRot", "MHRot on pixels as the backbone", IMAGES[:6], m.MHROT,
        Claim("SOEL is the best with MHRot too.", best("SOEL on MHRot", "auroc")),
        needs="images; a GPU", minutes=1_070_000,
    ),
    _budgets(
        "robust-ratio", "fig:robust-ratio", "Other shares of anomalies", PHOTOS, (m.SOEL, HYBR2),
        Claim("SOEL beats Hybr2 at 1, 5 and 20 %.", beats("SOEL", "Hybr2", "auroc")),
        shares=(0.01, 0.05, 0.2), minutes=127_000, gpu_minutes=216,
    ),
    _images(
        "components", "tab:ablation-backbone", "LOE without labels, diverse queries without pseudo-labels", PHOTOS,
        (m.UNSUPERVISED, m.LOE, m.QUERY_ONLY, m.SOEL),
        Claim("Labels help: SOEL beats LOE, which knows the true share.", beats("SOEL", "LOE", "auroc")),
        Claim("Pseudo-labels help: SOEL beats its queries alone.", beats("SOEL", "queries alone", "auroc")),
        minutes=21_200, gpu_minutes=36,
    ),
    _budgets(
        "classifier", "fig:img-data-bce", "A binary classifier instead of a deep anomaly loss", IMAGES,
        (m.SOEL, m.CLASSIFIER),
        Claim("SOEL beats the classifier.", beats("SOEL", "binary classifier", "auroc")),
        minutes=106_000,
    ),
    _budgets(
        "sequential", "fig:img-data-seq", "All labels at once or in rounds of 20", PHOTOS, (m.SOEL, m.SEQUENTIAL),
        Claim("Asking at once beats rounds.", beats("SOEL", "SOEL in rounds of 20", "auroc")),
        minutes=96_100,
    ),
    _budgets(
        "queries", "fig:ablation-query", "The same supervised training after each strategy", IMAGES,
        m.by_strategy("supervised"),
        Claim("Diverse queries are the best.", best("diverse", "auroc")),
        minutes=737_000, gpu_minutes=1253,
    ),
    _budgets(
        "true-share", "fig:ablation-true-est-ratio", "The true share of anomalies against the estimated one", IMAGES,
        (m.SOEL, m.TRUE_SHARE),
        Claim("Both do equally well.", alike("SOEL", "SOEL with true share", "auroc")),
        minutes=211_000, gpu_minutes=358,
    ),
    _budgets(
        "weights", "fig:ablation-weight", "Other weights on the labelled mean", PHOTOS, WEIGHTS,
        Claim("Equal weights are the best.", best("weight 1", "auroc")),
        minutes=84_500, gpu_minutes=144,
    ),
    _images(
        "tau", "tab:ablation-tau", "The temperature of the diverse queries", PHOTOS, TAUS,
        Claim("0.01 beats 1.", beats("tau = 0.01", "tau = 1", "auroc")),
        minutes=21_200, gpu_minutes=36,
    ),
    _images(
        "pseudo-labels", "tab:ablation-pseudo-y", "The value given to suspected anomalies", PHOTOS, PSEUDO,
        Claim("One half is the best.", best("y = 0.5", "auroc")),
        minutes=31_700, gpu_minutes=54,
    ),
    _budgets(
        "label-spreading", "fig:semisuper-comparison", "Other ways to guess the missing labels", PHOTOS,
        (m.SOEL, m.QUERY_ONLY, m.NEIGHBOUR_LABELS, m.PROCESS_LABELS, *m.FIXMATCH),
        SOEL_BEST,
        minutes=140_000,
    ),
    _tables(
        "knn", "tab:tab_knn", "The distance to the k-th neighbour, without any label",
        (*(m.knn(k) for k in (1, 2, 5, 10, 15, 20)), m.SOEL),
        AS_PRINTED,
        Claim("SOEL beats the nearest-neighbour distance.", best("SOEL", "f1")),
        Claim("... also when both are cut at the pool's share.", best("SOEL", "f1_pool_cut")),
        measures=("f1", "f1_pool_cut"), paper_axes=("dataset", "method", "measure"), minutes=1.4,
    ),
    _budgets(
        "gradients", "fig:grad-div-comparison", "Diverse gradients (BADGE) instead of diverse embeddings", PHOTOS,
        (m.SOEL, m.GRADIENT),
        Claim("Embeddings beat gradients.", beats("SOEL", "gradient diversity", "auroc")),
        minutes=42_300, gpu_minutes=72,
    ),
    _images(
        "clean-images", "fig:image_benchmark", "Without labels on clean images", ("cifar10",), CLEAN,
        Claim("NTL is the best.", best("NTL", "auroc")),
        budgets=(10,), minutes=2440, gpu_minutes=4.1,
    ),
    _tables(
        "clean-tables", "tab:tab_benchmark", "Without labels on clean tables, by a protocol of ours", CLEAN,
        Claim("NTL is the best.", best("NTL", "f1")),
        datasets=("arrhythmia", "thyroid"), minutes=0.6,
    ),
    _images(
        "initialisation", "app:rand-init", "How much the outcome depends on the seed", PHOTOS, (m.SOEL,),
        measures=("auroc", "radius"), budgets=BUDGETS, rows=("dataset", "measure"), columns="budget", n_seeds=10,
        minutes=42_300, gpu_minutes=72,
    ),
)  # fmt: skip
OURS = (
    _tables(
        "misjudged-share", "", "The share of anomalies told wrongly by 5 points", MISJUDGED,
        Claim("5 points too low do no harm.", alike(MISJUDGED[0].name, MISJUDGED[1].name, "f1")),
        Claim("5 points too high do no harm.", alike(MISJUDGED[2].name, MISJUDGED[1].name, "f1")),
        compares_profiles=True, minutes=1.1,
    ),
    _tables(
        "noisy-expert", "", "An expert who errs, passes, or overlooks anomalies", (m.SOEL,),
        budgets=(20,), columns="expert", compares_profiles=True, minutes=2.2,
        experts=(*(Expert(wrong=share) for share in (0, 0.05, 0.1, 0.2)), Expert(skip=0.3), Expert(bias=0.3)),
    ),
)  # fmt: skip

ARTEFACTS: Mapping[str, Artefact] = {a.name: a for a in (*MAIN, *THEORY, *ABLATIONS, *OURS)}


def find_artefact(name: str) -> Artefact:
    """An artefact by its name or by the paper's label."""
    labelled = {artefact.label: artefact for artefact in ARTEFACTS.values()}
    found = ARTEFACTS.get(name) or labelled.get(name)
    if found is None:
        raise ConfigError(f"There is no artefact called {name!r}. `soel reproduce --list` names them.")
    return found
