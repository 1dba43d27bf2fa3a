"""The page of results: which artefacts, on which data, under which profile.

`python -m benchmarks.results_page --data-dir DIR` computes what is missing and writes `benchmarks/results.md` anew.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from soel.deep import has_gpu
from soel.files import write_whole
from soel.report.progress import progress_bar
from soel.types import Progress
from soel_paper.artefacts import MEDICAL, PHOTOS, TABLES, Artefact, find_artefact
from soel_paper.catalogue import CATALOGUE
from soel_paper.figures import write_toy
from soel_paper.findings import AXES, FigurePoint, FigureTable, Nearness, Position, nearness, word
from soel_paper.methods import VARIANTS, Variant, narrow, settings_table
from soel_paper.reproduce import Made, Plan, Reproduction, apply_plan, judge, reproduce
from soel_paper.sources import DataSource, best_extractor


def in_float32(variant: Variant) -> Variant:
    """With matrix products in full float32 instead of TF32 on a GPU."""
    vectors = replace(variant.profile.vectors, precision="highest")
    return replace(variant, name=f"{variant.name}, float32", profile=replace(variant.profile, vectors=vectors))


SMALL_TABLES = TABLES[:3]
OBJECTS = ("mvtec-bottle", "mvtec-cable", "mvtec-capsule", "mvtec-carpet")
PHOTO_CLASSES = ("cifar10-0", "cifar10-4", "cifar10-6")
RIVALS = ("Pos2", "Rand2", "SOEL")  # the two best of the others on CIFAR-10 in a first draw of the pools
BEST = ("Hybr1", "Mar", "SOEL")  # the two best of the others on both photo sets with 20 labels
MHROT = tuple(f"{name} on MHRot" for name in ("SOEL", "Hybr1", "Hybr2"))
X_RAYS = "pneumoniamnist"
BUDGETS = (5, 10, 20, 40, 80, 160)
MOST_NAMED = 3  # data sets in a heading
AUTHORS, PAPER, DEFAULT = VARIANTS["authors"], VARIANTS["paper"], VARIANTS["default"]
NARROW, NARROW_PAPER, OURS_NARROW = narrow(AUTHORS), narrow(PAPER), narrow(DEFAULT)
FLOAT32 = in_float32(AUTHORS)


@dataclass(frozen=True)
class Section:
    """One entry of the page: an artefact with the choices made for it, and what we have to say about it.

    on_gpu: computed where there is a GPU; elsewhere what was merged from such a machine is shown.
    per_class: how many pictures of each class; None for all.
    """

    artefact: str
    plan: Plan
    note: str = ""
    on_gpu: bool = False
    per_class: int | None = None

    @property
    def key(self) -> str:
        """Under which its figures are stored; a data set more in it leaves them valid."""
        plan = self.plan
        few = f", {self.per_class} a class" if self.per_class else ""
        classes = f", classes {' '.join(map(str, plan.classes))}" if plan.classes else ""
        return f"{self.artefact}, {plan.variant.name}, {plan.n_seeds or 'all'} seeds{classes}{few}"


HYBR3 = (
    "Of the 14 cells further off than three points all but two lie within two standard errors: Hybr3 on breastw and "
    "Pos1 on satellite. Hybr3 lies above the paper's figure (breastw +13.9, satellite +11.3), as on the images. Its "
    "loss is the printed one. Other readings of it, on breastw and Ionosphere (paper: 79.6, 88.2): one step for both "
    "parts gives 93.6 and 91.2, no min-max factor 92.7 and 90.9, differences brought to [0, 1] 95.6 and 90.9, "
    "labelled anomalies learnt as normal 92.1 and 90.9, the unlabelled part alone 91.5 and 90.7, weights renewed each "
    "epoch 92.6 (breastw). With the sign of the weights turned it is 46.0 and 89.8, with the labelled normals alone "
    "56.5 and 57.2. None gives the paper's. Pos1 and Hybr2 learn from ten labels alone, and vary by 3 to 15 points "
    "from seed to seed."
)
PHOTO_NOTE = (
    "A seed of both sets takes some 16 minutes of one H200. Of the five cells that are further off, four lie above "
    "the paper's figure: Hybr3 on both sets (+18.4, +6.8), Rand1 on Fashion-MNIST (+7.2) and Hybr2 on CIFAR-10 "
    "(+5.7); Pos1 lies 3.1 below on CIFAR-10. What was ruled out for Hybr3 stands with the tables."
)
MEDICAL_NOTE = (
    "On Blood all three lie 11 to 13 points above the paper's figures, in the paper's order, and Pos2 on OrganA 7; "
    "SOEL is the best on all three sets, as in the paper. The cause is not known; the network of the features is "
    "another."
)
SHARE_NOTE = "The kernel density estimate repeats the paper's on images, with one seed where the paper has several."
RANKED = (
    "The paper shows this on images, which were not computed. It is not so on breastw (40 labels: random 86.7, "
    "diverse 54.6): the network is trained on the answers alone, and batch-norm takes its statistics from them, half "
    "anomalies after diverse queries. Kept as the warm-up left them, diverse has 79.0 and random 86.2, too near to "
    "tell apart. On Ionosphere and Pima both are alike from 20 labels on."
)
PAIRS = (
    "A thousand query sets, as in the paper, but of pools of 125 to 278 rows instead of 5,555. The paper prints its "
    "figures for images."
)
CLEAN_TABLES = (
    "The protocol is ours: half of the normal rows are learnt from, all else is the test, F1 at the test's own share. "
    "The paper takes its table from another benchmark and gives no protocol; of its five sets these two are here. LOF "
    "repeats that benchmark's figures on both, so its splits are likely these; values here are raw, and NTL has the "
    "settings of the paper's other tables. On thyroid the one-class SVM has 26 to 79 by kernel width, nu and scaling, "
    "which are not given either (standardised: 75.5)."
)
KNN = (
    "The claim does not stand here: cut like every other method, the neighbour distance is better than SOEL in this "
    "profile, without a single label. The paper's lower figures look like a matter of the cut: at the score that marks "
    "a tenth of the pool, ours come near them on Ionosphere and Pima, less so on breastw, and not on satellite, where "
    "the pool holds the first anomalies of the file."
)
KDE = (
    "The paper's estimate, nearly unbiased on its images, is far too high on breastw and Ionosphere and about right on "
    "Pima. The cover is nearer on average, but single runs are far off (see its deviations), and on the CIFAR-10 "
    "features below it fails too."
)
STEPS_APART = (
    "In profile `authors` this weight changes nothing: the two means are learnt in steps of their own, and Adam "
    "does not mind the scale of a loss. So the profile here is `paper`."
)
ONE_SEED = "One seed: what a small machine could do. Figures of a GPU are in [detection](../docs/detection.md)."
OURS = (
    "Against profile `authors` on the same splits: 1.4 points more on CIFAR-10 (standard error over the classes 0.4), "
    "2.0 on Fashion-MNIST (0.5). The first seed of Fashion-MNIST has 95.4: its dresses "
    "were taken to hold 33 % anomalies instead of 10, and the network believes the share more than the detector does."
)
LAPTOP = (
    "What a machine without a GPU trains, here on the same features and splits. Against profile `authors`: 1.2 points "
    "more on CIFAR-10 (standard error over the classes 0.4) and 2.2 on Fashion-MNIST (0.6). Beside it the full network "
    "of the default gains 0.1 on CIFAR-10 (0.06) and loses 0.2 on Fashion-MNIST (0.2)."
)
FEW_PICTURES = (
    "Three classes of each, as far as time allowed, and few pictures: MHRot lies below the features on both sets."
)
PRECISION = (
    "The same cells in TF32, as everywhere else: 94.2, 88.8 and 94.2. Two classes agree within 0.1; for birds the last "
    "digits lead to other queries, and 90.6 lies among that class's three seeds in TF32 (94.2, 89.6, 88.9)."
)
FRAMES = "One seed, so differences of a point or two say little. SOEL is ahead at every budget but 40."
SVDD_NOTE = (
    "SOEL on CIFAR-10 repeats the paper's figure; the other three of SOEL and Hybr1 lie 4 to 6 points below it, in "
    "the paper's order. Hybr2 does not repeat it: it learns from 20 answers alone, and its figure follows how many of "
    "them are normal. With at least 13 it has 84 on CIFAR-10 and 66 on Fashion-MNIST, with at most two 46 and 30: it "
    "is the lowest for sneakers (7; 19.6 of 20 answers are anomalies) and the highest for bags (84; 6.4). Batch-norm "
    "that takes its statistics from these answers is a cause: with 1,000 pictures of sneakers Hybr2 has 94, 9 and 20 "
    "(three seeds), and 99, 72 and 74 where they stay as the warm-up left them; with 600 of trousers 80, 91, 85 and "
    "97, 96, 92. On three classes of CIFAR-10 (ResNet-18) that takes Hybr2 from 69.7 to 71.7 (two seeds), SOEL from "
    "76.3 to 79.6 and Hybr1 from 73.2 to 72.5 (one seed), but SOEL and Hybr1 on sneakers from 98 and 97 to 94 and 68: "
    "so it is not kept. A tenth of the steps gives Hybr2 72.3. The 300 cells took 5 minutes of one H200."
)
SIX_CLASSES = (
    "As many classes as all nine methods were computed for; the paper's figures are over ten, so none stands beside "
    "these. The order of the best is the paper's: SOEL, then Mar and Hybr1."
)
FILES = "From the files on; [images and video](../docs/images-and-video.md) has the commands and other detectors."


def _on_gpu(artefact: str, plan: Plan, note: str = "", per_class: int | None = None) -> Section:
    """An artefact on pictures, by one seed unless the plan says otherwise."""
    return Section(artefact, replace(plan, n_seeds=plan.n_seeds or 1), note, True, per_class)


def _tables(artefact: str, variant: Variant = AUTHORS, n_seeds: int = 5, note: str = "") -> Section:
    """An artefact of the paper's images, on the small tables with ten labels."""
    return Section(
        artefact, Plan(variant, datasets=SMALL_TABLES, budgets=(10,), measures=("f1",), n_seeds=n_seeds), note
    )


def _objects(artefact: str, variant: Variant = NARROW, n_seeds: int = 3) -> Section:
    """The same on image features with twenty labels."""
    return Section(artefact, Plan(variant, (), OBJECTS[:2], (20,), n_seeds=n_seeds))


SECTIONS = (
    Section("table3", Plan(AUTHORS), HYBR3),
    Section("table2", Plan(NARROW, (), OBJECTS, n_seeds=3)),
    Section("table2", Plan(NARROW, ("Hybr1", "Rand1", "SOEL"), PHOTO_CLASSES, n_seeds=1), ONE_SEED),
    Section("table2", Plan(NARROW, ("SOEL",), (X_RAYS,), n_seeds=1), FILES),
    Section("video", Plan(NARROW, ("SOEL",), budgets=(20,), n_seeds=1), FILES),
    Section("table2", Plan(OURS_NARROW, ("SOEL",), OBJECTS, n_seeds=3)),
    Section("table2", Plan(OURS_NARROW, ("SOEL",), PHOTO_CLASSES, n_seeds=1), ONE_SEED),
    Section("table2", Plan(OURS_NARROW, ("SOEL",), (X_RAYS,), n_seeds=3), FILES),
    Section("video", Plan(OURS_NARROW, ("SOEL",), budgets=(20,), n_seeds=1), FILES),
    Section("knn", Plan(AUTHORS), KNN),
    Section("knn", Plan(NARROW, datasets=OBJECTS, budgets=(20,), n_seeds=3, measures=("auroc",))),
    Section("alpha", Plan(AUTHORS, datasets=SMALL_TABLES, n_seeds=10), KDE),
    Section("alpha", Plan(AUTHORS, datasets=("satellite",), n_seeds=3)),
    Section("alpha", Plan(NARROW, datasets=(*OBJECTS, "cifar10-0"), n_seeds=3)),
    Section("cover-radius", Plan(AUTHORS, datasets=SMALL_TABLES, budgets=(10, 20, 40), n_seeds=10)),
    Section("cover-radius", Plan(NARROW, (), OBJECTS[:2], (10, 20, 40), n_seeds=3)),
    Section("ranking", Plan(AUTHORS, datasets=SMALL_TABLES, budgets=(10, 20, 40)), RANKED),
    _objects("ranking"),
    _tables("tau"),
    _objects("tau"),
    _tables("weights", PAPER, note=STEPS_APART),
    _objects("weights", NARROW_PAPER),
    _tables("pseudo-labels"),
    _objects("pseudo-labels"),
    Section("budgets", Plan(AUTHORS, ("Hybr1", "Rand1", "SOEL"), SMALL_TABLES, BUDGETS, measures=("f1",))),
    Section("budgets", Plan(NARROW, ("Rand1", "SOEL"), OBJECTS[:2], BUDGETS[:5], n_seeds=3)),
    _tables("components"),
    _objects("components"),
    *map(_tables, ("true-share", "classifier", "queries", "label-spreading", "gradients")),
    Section("sequential", Plan(AUTHORS, datasets=SMALL_TABLES, budgets=(40,), measures=("f1",))),
    Section("robust-ratio", Plan(AUTHORS, datasets=SMALL_TABLES, budgets=(10,), measures=("f1",))),
    _objects("deep-svdd"),
    Section("assumptions", Plan(AUTHORS, datasets=SMALL_TABLES, n_seeds=2), PAIRS),
    Section("initialisation", Plan(AUTHORS, (), SMALL_TABLES, (10, 20, 40), n_seeds=5, measures=("f1", "radius"))),
    _on_gpu("table2", Plan(datasets=PHOTOS), PHOTO_NOTE),
    _on_gpu("table2", Plan(DEFAULT, ("SOEL",), PHOTOS, n_seeds=3), OURS),
    _on_gpu("table2", Plan(AUTHORS, ("SOEL",), PHOTOS, n_seeds=3)),
    _on_gpu("table2", Plan(OURS_NARROW, ("SOEL",), PHOTOS, n_seeds=3), LAPTOP),
    _on_gpu("table2", Plan(AUTHORS, RIVALS, (*MEDICAL[:2], X_RAYS)), MEDICAL_NOTE),
    _on_gpu("budgets", Plan(AUTHORS, BEST, PHOTOS, (20, 40, 80, 160))),
    _on_gpu("video", Plan(AUTHORS, ("Hybr2", "Mar", "Rand2", "SOEL"), ("ucsd-peds1",), (20, 40, 80, 160)), FRAMES),
    _on_gpu("deep-svdd", Plan(datasets=PHOTOS, n_seeds=5), SVDD_NOTE),
    _on_gpu("mhrot", Plan(AUTHORS, MHROT, PHOTOS, (), (0, 1, 2)), FEW_PICTURES, per_class=500),
    _on_gpu("robust-ratio", Plan(AUTHORS, (), PHOTOS, (20,))),
    _on_gpu("alpha", Plan(datasets=PHOTOS), SHARE_NOTE),
    _on_gpu("table2", Plan(FLOAT32, ("SOEL",), PHOTOS[:1], (), (2, 3, 5)), PRECISION),
    _on_gpu("table2", Plan(datasets=PHOTOS[1:], classes=tuple(range(6))), SIX_CLASSES),
    Section("clean-tables", Plan(AUTHORS), CLEAN_TABLES),
    Section("misjudged-share", Plan(AUTHORS, datasets=SMALL_TABLES)),
    Section("noisy-expert", Plan(AUTHORS, datasets=SMALL_TABLES)),
)


def write_page(
    page: Path,
    out: Path,
    source: DataSource,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_old: bool = False,
    sections: Sequence[Section] = SECTIONS,
    doc: Path | None = None,
    only: Sequence[str] = (),
    with_toy: bool = False,
) -> list[Reproduction]:
    """Run what is missing of every section, then write the page, its pictures and its figures (.csv) beside it.

    What cannot be computed here is taken from the figures of the last time. A section of which a whole method has no
    figure is left out and named. doc: a shorter page for the manual. only: of these artefacts alone cells are computed.
    """
    stored = read_figures(page.with_suffix(".csv"))
    shown, parts, left_out = [], list[str](), []
    for number, section in enumerate(sections):
        known = stored.setdefault(section.key, {})
        left_alone = (section.on_gpu and not has_gpu()) or (only and section.artefact not in only)
        outcome, figures = _outcome(section, out, source, known, 0 if left_alone else n_jobs, progress, keep_old)
        known.update(figures)
        if not _complete(outcome):
            left_out.append(f"- {_heading(outcome.artefact, outcome.title)}")
            continue
        shown.append((section, outcome, any(figure.versions == OLD for figure in figures.values())))
        parts.append(_section(section, outcome, _picture(outcome, page, number)))
    parts = [HEAD, _summary(shown), _list_contradictions([outcome for _, outcome, _ in shown]), *parts]
    parts += [_toy(page.with_suffix(""))] if with_toy else []
    parts += ["\n".join(["## Not computed yet", "", *left_out])] if left_out else []
    parts.append("## The settings in force (tab:opt-param)\n\n" + settings_table())
    write_whole(page, ("\n\n".join(parts) + "\n").encode())
    write_figures(page.with_suffix(".csv"), {section.key: stored[section.key] for section in sections})
    if doc is not None:
        write_whole(doc, _manual(shown).encode())
    pictures = {part.rpartition("/")[2] for part in re.findall(r"\]\(([^)]+\.svg)\)", "\n".join(parts))}
    for old in page.with_suffix("").glob("*.svg"):
        if old.name not in pictures:
            old.unlink()
    return [outcome for _, outcome, _ in shown]


def _outcome(
    section: Section,
    out: Path,
    source: DataSource,
    stored: Figures,
    n_jobs: int | None,
    progress: Progress | None,
    keep_old: bool,
) -> tuple[Reproduction, Figures]:
    """The section's outcome from its cells and, where these have fewer seeds or are not there, from stored figures."""
    artefact = find_artefact(section.artefact)
    wanted, variant = apply_plan(artefact, section.plan), section.plan.variant
    own = source if section.per_class is None else replace(source, per_class=section.per_class)
    here = tuple(name for name in wanted.datasets if own.present(name))
    fresh = FigureTable([])
    made = Made()
    if here:
        found = reproduce(artefact, replace(section.plan, datasets=here), out, own, n_jobs, progress, keep_old)
        fresh, made = found.results, found.made
    titles, methods = [own.title(name) for name in wanted.datasets], [method.name for method in wanted.methods]
    places = {"dataset": titles, "method": methods, "budget": wanted.budgets, "measure": wanted.measures}
    figures = {
        at: figure for at, figure in stored.items() if all(getattr(at, axis) in few for axis, few in places.items())
    }
    for point in fresh.points:
        if point.at not in figures or figures[point.at].point.n <= point.n:
            figures[point.at] = Figure(replace(point, paper=None), OLD if made.n_old else PRESENT)
    points = [figure.point for figure in figures.values()]
    points.sort(key=lambda point: (titles.index(point.at.dataset), methods.index(point.at.method)))
    results = FigureTable(points, fresh.missing)
    results = results if section.plan.classes else wanted.with_paper(results)
    outcome = judge(wanted, variant, results, made, out)
    verdicts = [pair for pair in outcome.verdicts if pair[1].outcome != "not run"]
    return replace(outcome, verdicts=verdicts), figures


OLD, PRESENT = "old", "present"


@dataclass(frozen=True)
class Figure:
    """A point of the page. versions: OLD where other versions of its parts than the present ones computed it."""

    point: FigurePoint
    versions: str = PRESENT


Figures = dict[Position, Figure]
COLUMNS = ("section", *AXES, "mean", "deviation", "n", "versions")


def read_figures(path: Path) -> dict[str, Figures]:
    """The figures of a page by section."""
    found: dict[str, Figures] = {}
    if path.exists():
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            share = float(row["share"]) if row["share"] else None
            at = Position(row["dataset"], row["method"], int(row["budget"]), share, row["expert"], row["measure"])
            point = FigurePoint(at, float(row["mean"]), float(row["deviation"]), int(row["n"]))
            found.setdefault(row["section"], {})[at] = Figure(point, row["versions"])
    return found


def write_figures(path: Path, sections: Mapping[str, Figures]) -> None:
    """Keep the figures of a page, to two decimals."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, figures in sections.items():
        for figure in figures.values():
            point = figure.point
            place = ["" if value is None else value for value in asdict(point.at).values()]
            writer.writerow([key, *place, round(point.mean, 2), round(point.deviation, 2), point.n, figure.versions])
    write_whole(path, text.getvalue().encode())


def _complete(outcome: Reproduction) -> bool:
    """Whether every method, share and expert has a figure that can have one."""
    artefact, results = outcome.artefact, outcome.results
    found = {*results.values("method"), *(missing.what for missing in results.missing)}
    wanted = {"share": len(artefact.shares), "expert": len(artefact.experts)}
    return found >= {m.name for m in artefact.methods} and all(len(results.values(a)) >= n for a, n in wanted.items())


def _picture(outcome: Reproduction, page: Path, number: int) -> str:
    """Keep the picture under a name of its own; returns the Markdown that shows it."""
    if "picture" not in outcome.files:
        return ""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    name = f"{number:02d}-{outcome.artefact.name}.svg"
    write_whole(folder / name, Path(outcome.files["picture"]).read_bytes())
    return f"![{outcome.artefact.title}]({folder.name}/{name})"


def _section(section: Section, outcome: Reproduction, picture: str) -> str:
    seeds = f"Profile `{outcome.title}`, {_extent(section, outcome)}."
    seeds += f" {_means(section)}" if section.on_gpu else ""
    parts = [f"## {_heading(outcome.artefact, outcome.title)}", seeds, outcome.text, picture]
    return "\n\n".join([*[part for part in parts if part], *([section.note] if section.note else [])])


def _toy(folder: Path) -> str:
    """The figure on toy data."""
    maps = write_toy(folder)
    found = "\n".join(f"- {shown.title}: AUROC {100 * shown.auroc:.1f}" for shown in maps)
    title = "## Score maps on toy data of ours (fig:toy-data), `paper`"
    return f"{title}\n\n{found}\n\n![Score maps on toy data]({folder.name}/toy.svg)\n\n{TOY}"


def _extent(section: Section, outcome: Reproduction) -> str:
    """How many seeds a figure has, and which classes are normal in turn."""
    counts = sorted({point.n for point in outcome.results.points if point.at.measure != "delta"})
    seeds = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    seeds += " seed" if counts[-1] == 1 else " seeds"
    if all(CATALOGUE[name].protocol != "one-vs-rest" for name in outcome.artefact.datasets):
        return seeds
    classes = section.plan.classes or outcome.artefact.classes
    return f"{seeds}, {'classes ' + ', '.join(map(str, classes)) if classes else 'all classes'}"


def _means(section: Section) -> str:
    """What a GPU computed, and from what."""
    number = "" if section.per_class is None else f"{section.per_class} pictures of each class, "
    if section.artefact == "mhrot":
        return f"{number.capitalize()}pixels, one H200."
    network = "" if "narrow" in section.plan.variant.name else " the full network,"
    return f"{number}ResNet-50 features,{network} one H200."


def _data(outcome: Reproduction) -> str:
    titles = outcome.results.values("dataset")
    kinds = {CATALOGUE[name].kind for name in outcome.artefact.datasets}
    few = " and ".join(titles)
    return few if len(titles) <= MOST_NAMED else "tables" if kinds == {"table"} else ", ".join(titles)


def _heading(artefact: Artefact, profile: str) -> str:
    kinds = {CATALOGUE[name].kind for name in artefact.datasets}
    few = " and ".join(CATALOGUE[name].title for name in artefact.datasets)
    kind = "tables" if kinds == {"table"} else few if len(artefact.datasets) <= MOST_NAMED else "image features"
    where = f" ({artefact.label})" if artefact.label else ""
    return f"{artefact.title}{where}: {kind}, `{profile}`"


Shown = Sequence[tuple[Section, Reproduction, bool]]  # whether other versions computed some of it


def _compared(shown: Shown) -> list[tuple[Section, Reproduction, Nearness, bool]]:
    """The sections that repeat figures of the paper, with how many came out, and whether by other versions."""
    found = [
        (section, outcome, nearness(outcome.results), is_old)
        for section, outcome, is_old in shown
        if section.plan.variant in (AUTHORS, PAPER)
    ]
    return [one for one in found if one[2].n]


def _summary(shown: Shown) -> str:
    """How many cells are the paper's, by artefact."""
    lines = [
        "| artefact | data | profile | within 3 points | or within the spreads | a figure is the mean over |",
        "|---|---|---|---:|---:|---|",
    ]
    compared = _compared(shown)
    for section, outcome, found, is_old in compared:
        counts = f"{found.near} of {found.n} | {found.with_spreads} of {found.n} | {_extent(section, outcome)}"
        name = (outcome.artefact.label or outcome.artefact.name) + ("*" if is_old else "")
        lines.append(f"| {name} | {_data(outcome)} | `{outcome.title}` | {counts} |")
    points = [(outcome.artefact.name, point) for _, outcome, *_ in compared for point in outcome.results.points]
    once = {(name, point.at): point for name, point in sorted(points, key=lambda pair: pair[1].n)}  # most seeds last
    total = nearness(FigureTable(list(once.values())))
    share = f" ({100 * total.near / total.n:.0f} %)" if total.n else ""
    lines.append(f"| all, each once | | | {total.near} of {total.n}{share} | {total.with_spreads} of {total.n} | |")
    return "\n".join(["## Cells within three points of the paper's", "", *lines, "", STARS])


def _list_contradictions(outcomes: Sequence[Reproduction]) -> str:
    """Every claim that failed, with the section it failed in."""
    lines = [
        f"- {_heading(outcome.artefact, outcome.title)}. *{text}* Not so: {verdict.why}."
        for outcome in outcomes
        for text, verdict in outcome.verdicts
        if verdict.outcome == "fails"
    ]
    return "\n".join(["## Where our findings contradict a claim", "", *lines])


def _manual(shown: Shown) -> str:
    """The page of the manual: the summary, every figure beside the paper's, a sentence on each artefact."""
    parts = [MANUAL_HEAD, _summary(shown).replace("## Cells within three points of the paper's\n\n", "")]
    for section, outcome, _, is_old in _compared(shown):
        title = f"## {outcome.artefact.title} ({outcome.artefact.label})"
        where = f"Profile `{outcome.title}`, {_extent(section, outcome)}{', older versions' * is_old}."
        note = section.note.replace("../docs/", "")
        parts.append("\n\n".join([title, f"{where} {note}".strip(), _differences(outcome)]))
    parts.append("## Claims without printed figures beside them\n\n" + "\n".join(_claims(shown)))
    return "\n\n".join(map(_wrap, "\n\n".join(parts).split("\n\n"))) + "\n"


def _wrap(paragraph: str) -> str:
    """In lines of at most 120 characters; tables and headings as they are."""
    if paragraph.startswith(("|", "#")):
        return paragraph
    lines = [line if len(line) <= WIDTH else _fill(line) for line in paragraph.splitlines()]
    return "\n".join(lines)


def _fill(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


WIDTH = 120


def _differences(outcome: Reproduction) -> str:
    """Each printed figure, ours and the plain difference."""
    axes = outcome.artefact.paper_axes
    lines = [f"| {' | '.join(axes)} | paper | ours | difference |", "|" + "---|" * len(axes) + "---:|" * 3]
    for point in outcome.results.points:
        if point.paper is None:
            continue
        place = " | ".join(word(axis, getattr(point.at, axis)) for axis in axes)
        spread = f" ± {point.deviation:.1f}" if point.n > 1 else ""
        ours, paper = f"{point.mean:.1f}{spread}", f"{point.paper[0]:.1f}"
        lines.append(f"| {place} | {paper} | {ours} | {point.mean - point.paper[0]:+.1f} |")
    return "\n".join(lines)


def _claims(shown: Shown) -> list[str]:
    """The verdicts of sections without printed figures, a line for each claim."""
    compared = {section.key for section, *_ in _compared(shown)}
    return [
        f"- **{outcome.artefact.name}** ({_data(outcome)}, `{outcome.title}`, {_extent(section, outcome)}). *{text}* "
        f"{verdict.outcome.capitalize()}: {verdict.why}."
        for section, outcome, _ in shown
        if section.key not in compared and section.plan.variant.repeats_paper
        for text, verdict in outcome.verdicts
    ]


HEAD = """# Results

Written by `python -m benchmarks.results_page`; do not edit by hand. Every figure is ours, mean ± standard deviation
over the seeds, with the paper's in brackets where it printed one. A verdict *holds* or *fails* by two standard
errors, else it is *undecided*. In profile `authors` the anomalies of a table's pool are the first of the file, as in
the authors' code; elsewhere they are drawn. Features of MVTec-AD objects and of single classes of CIFAR-10 are
ResNet-18 vectors of 512 values; X-rays, frames and everything computed on a GPU are ResNet-50 vectors of 2048 values.
Neither is the paper's ResNet-152, so compare with the figures in brackets with care. 'Narrow' is one member whose
views go through 64 units, which a small machine can train. A dash was not computed, or is a budget above half of the
pool.

Read the verdicts with care: they are one comparison each, against the best rival found afterwards, with seeds as the
only source of error; sections with one to three seeds can hardly decide anything. 'Our figures are the paper's' counts
plain differences of at most three points, and holds from three quarters of them on."""


TOY = (
    "As in the paper, a classifier misses the new anomalies in the corner, contaminated data harm a detector without "
    "labels, and one label nearly repairs that. The paper gives neither its data nor its network: both are ours."
)
STARS = (
    "The spreads are two standard errors, ours and the paper's printed one taken together. Of an artefact with a "
    "star, some figures are of earlier versions of its parts."
)
MANUAL_HEAD = """# The paper's figures beside ours

Written by `python -m benchmarks.results_page`, from runs of `soel reproduce`; do not edit by hand. Profile `authors`
follows the authors' released code. Features of pictures are ResNet-50 vectors (the paper: ResNet-152). The complete
page, with every verdict and plot, is `benchmarks/results.md`, its figures `benchmarks/results.csv`;
`python -m soel_paper raw` writes every seed's as one CSV."""


def main() -> int:
    """Compute what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="where copies of data sets lie (default: SOEL_DATA)")
    parser.add_argument(
        "--out", type=Path, default=Path("reproduced"), help="where cells are kept (default: reproduced)"
    )
    parser.add_argument("--page", type=Path, default=Path("benchmarks/results.md"))
    parser.add_argument("--doc", type=Path, default=Path("docs/results.md"), help="the page of the manual")
    parser.add_argument("--extractor", help="the frozen network (default: the best one that is there)")
    parser.add_argument("--jobs", type=int, help="processes (default: one per core; 0: show what is finished)")
    parser.add_argument("--only", default="", help="compute only these artefacts, parted by commas; show all")
    parser.add_argument("--keep-old", action="store_true", help="keep cells that other versions computed")
    args = parser.parse_args()
    source = DataSource(args.data_dir, extractor=args.extractor or best_extractor(args.data_dir))
    only = [name for name in args.only.split(",") if name]
    with progress_bar("page") as progress:
        write_page(
            args.page, args.out, source, args.jobs, progress, args.keep_old, doc=args.doc, only=only, with_toy=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
