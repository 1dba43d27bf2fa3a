"""The paper's main tables and figures, and those behind its theorems."""

from __future__ import annotations

from soel_reproduction import methods as m
from soel_reproduction import paper_figures as paper
from soel_reproduction.artefact import Artefact
from soel_reproduction.claims import Claim, as_printed, best, small, unbiased

TABLES = ("breastw", "ionosphere", "pima", "satellite")
PHOTOS = ("cifar10", "fashion-mnist")
MEDICAL = tuple(
    f"{name}mnist" for name in ("blood", "organa", "organc", "organs", "oct", "path", "pneumonia", "tissue", "derma")
)
IMAGES = PHOTOS + MEDICAL
BUDGETS = (20, 40, 80, 160)
SHARES = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
FEATURES, GPU = "feature vectors of the images", "feature vectors of the images; a GPU advised"
AUROC, F1 = ("auroc",), ("f1",)
SOEL_BEST = Claim("SOEL is better than every other method on average.", best("SOEL", "auroc"))

MAIN = (
    Artefact(
        "table3",
        "tab:tab_results",
        "Detection on tables with 10 labels",
        TABLES,
        m.NINE,
        F1,
        paper=paper.TABLES,
        claims=(
            Claim("Our figures are the paper's.", as_printed(), fidelity=True),
            Claim("SOEL is the best on average.", best("SOEL", "f1")),
        ),
    ),
    Artefact(
        "table2",
        "tab:img_results",
        "Detection on images with 20 labels",
        IMAGES,
        m.NINE,
        AUROC,
        (20,),
        paper=paper.IMAGES,
        needs=GPU,
        claims=(Claim("Our figures are the paper's.", as_printed(), fidelity=True), SOEL_BEST),
    ),
    Artefact(
        "budgets",
        "fig:img_data",
        "Detection as the budget grows",
        IMAGES,
        m.NINE,
        AUROC,
        BUDGETS,
        rows=("dataset", "method"),
        columns="budget",
        plot="budget",
        needs=GPU,
        claims=(SOEL_BEST,),
    ),
    Artefact(
        "video",
        "fig:video_data",
        "AUROC on frames of UCSD Peds1",
        ("ucsd-peds1",),
        m.NINE,
        AUROC,
        BUDGETS,
        rows=("method",),
        columns="budget",
        plot="budget",
        needs="feature vectors of the frames; a GPU advised",
        claims=(SOEL_BEST,),
    ),
)
THEORY = (
    Artefact(
        "cover-radius",
        "fig:thm1-delta",
        "How well each strategy covers the pool",
        PHOTOS,
        m.by_strategy(None)[:4],
        ("radius", "delta", "delta_defined"),
        BUDGETS,
        stage="query",
        rows=("dataset", "measure", "method"),
        columns="budget",
        plot="budget",
        n_seeds=20,
        needs=FEATURES,
        claims=(Claim("Diverse queries have the smallest cover radius.", best("diverse", "radius", lowest=True)),),
    ),
    Artefact(
        "ranking",
        "fig:ranking-unquery",
        "AUROC on the rows nobody was asked about",
        PHOTOS,
        m.by_strategy("supervised")[:4],
        ("ranking",),
        BUDGETS,
        rows=("dataset", "method"),
        columns="budget",
        plot="budget",
        needs=GPU,
        claims=(Claim("Diverse queries rank the unqueried rows best.", best("diverse", "ranking")),),
    ),
    Artefact(
        "assumptions",
        "fig:corr-mat",
        "Correlations within a query set; equal scores with unequal labels",
        PHOTOS,
        (m.Method("diverse", "diverse"),),
        ("correlation_mean", "correlation_max", "correlation_min", "equal_scores", "violations"),
        (20,),
        stage="assumptions",
        columns="measure",
        n_seeds=2,
        needs=FEATURES,
        claims=(Claim("Scores of one query set are nearly uncorrelated.", small("correlation_mean", 5.0)),),
    ),
    Artefact(
        "alpha",
        "tab:alpha-estimate",
        "Estimates of the share of anomalies with 40 labels",
        PHOTOS,
        (m.Method("diverse", "diverse"),),
        ("alpha_kde", "alpha_cover", "alpha_kriging"),
        (40,),
        SHARES,
        stage="query",
        rows=("dataset", "measure"),
        columns="share",
        plot="share",
        paper=paper.ALPHA,
        paper_axes=("dataset", "share"),
        n_seeds=10,
        needs=FEATURES,
        claims=(
            Claim("The kernel density estimate is right within 5 points.", unbiased("alpha_kde")),
            Claim("(ours) The cover estimate is right within 5 points.", unbiased("alpha_cover")),
            Claim("(ours) The kriging estimate is right within 5 points.", unbiased("alpha_kriging")),
        ),
    ),
)
