"""The page of results: which artefacts, on which data, under which profile.

`python -m benchmarks.results_page --data-dir DIR` computes what is missing and writes `benchmarks/results.md` anew.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from soel.deep import has_gpu
from soel.files import write_whole
from soel.report.progress import progress_bar
from soel.types import Progress
from soel_paper.artefacts import MEDICAL, PHOTOS, TABLES, Artefact, find_artefact
from soel_paper.catalogue import CATALOGUE
from soel_paper.methods import VARIANTS, Variant, narrow, settings_table
from soel_paper.reproduce import Plan, Reproduction, apply_plan, reproduce
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
MOST_NAMED = 2  # data sets in a heading
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
TOO_SHORT = (
    "Below the paper's figures, Hybr2 far below. What is missing is training: on held-out training pictures (four "
    "classes of CIFAR-10, pools of 1,777) a learning rate of 1e-3 instead of 1e-4 raises SOEL from 84.5 to 89.4 and "
    "Hybr2 from 75.3 to 90.1, and four times as many epochs raise SOEL to 87.4; Hybr1 stays at 79."
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
    Section("table3", Plan(AUTHORS)),
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
    Section("ranking", Plan(AUTHORS, datasets=SMALL_TABLES, budgets=(10, 20, 40))),
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
    Section("assumptions", Plan(AUTHORS, datasets=SMALL_TABLES)),
    _on_gpu("table2", Plan(datasets=PHOTOS)),
    _on_gpu("table2", Plan(DEFAULT, ("SOEL",), PHOTOS, n_seeds=3), OURS),
    _on_gpu("table2", Plan(AUTHORS, ("SOEL",), PHOTOS, n_seeds=3)),
    _on_gpu("table2", Plan(OURS_NARROW, ("SOEL",), PHOTOS, n_seeds=3), LAPTOP),
    _on_gpu("table2", Plan(AUTHORS, RIVALS, (*MEDICAL[:2], X_RAYS))),
    _on_gpu("budgets", Plan(AUTHORS, BEST, PHOTOS, (20, 40, 80, 160))),
    _on_gpu("video", Plan(AUTHORS, ("Hybr2", "Mar", "Rand2", "SOEL"), ("ucsd-peds1",), (20, 40, 80, 160)), FRAMES),
    _on_gpu("deep-svdd", Plan(datasets=PHOTOS), TOO_SHORT),
    _on_gpu("mhrot", Plan(AUTHORS, MHROT, PHOTOS, (), (0, 1, 2)), FEW_PICTURES, per_class=500),
    _on_gpu("robust-ratio", Plan(AUTHORS, (), PHOTOS, (20,))),
    _on_gpu("alpha", Plan(datasets=PHOTOS)),
    _on_gpu("table2", Plan(FLOAT32, ("SOEL",), PHOTOS[:1], (), (2, 3, 5)), PRECISION),
    Section("clean-tables", Plan(AUTHORS)),
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
) -> list[Reproduction]:
    """Run what is missing of every section, then write the page and its pictures beside it.

    A section of which a whole method is not computed is left out and named.
    """
    outcomes, parts, left_out = [], [HEAD], []
    for number, section in enumerate(sections):
        artefact, jobs = find_artefact(section.artefact), 0 if section.on_gpu and not has_gpu() else n_jobs
        if section.on_gpu and not all(map(source.present, section.plan.datasets)):
            left_out.append(f"- {_heading(apply_plan(artefact, section.plan), section.plan.variant.name)}")
            continue
        own = source if section.per_class is None else replace(source, per_class=section.per_class)
        outcome = reproduce(artefact, section.plan, out, own, jobs, progress, keep_old)
        outcome = replace(outcome, verdicts=[pair for pair in outcome.verdicts if pair[1].outcome != "not run"])
        if not _complete(outcome):
            left_out.append(f"- {_heading(outcome.artefact, outcome.title)}")
            continue
        outcomes.append(outcome)
        parts.append(_section(section, outcome, _picture(outcome, page, number)))
    parts[1:1] = [_count_made(outcomes), _list_contradictions(outcomes)]
    parts += ["\n".join(["## Not computed yet", "", *left_out])] if left_out else []
    parts.append("## The settings in force (tab:opt-param)\n\n" + settings_table())
    write_whole(page, ("\n\n".join(parts) + "\n").encode())
    shown = {part.rpartition("/")[2] for part in re.findall(r"\]\(([^)]+\.svg)\)", "\n".join(parts))}
    for old in page.with_suffix("").glob("*.svg"):
        if old.name not in shown:
            old.unlink()
    return outcomes


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
    counts = sorted({point.n for point in outcome.results.points if point.at.measure != "delta"})
    number = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
    seeds = f"Profile `{outcome.title}`, {number} seed{'' if number == '1' else 's'}."
    classes = ", ".join(map(str, section.plan.classes))
    seeds += f" Normal classes: {classes}." if classes else ""
    seeds += f" {_means(section)}" if section.on_gpu else ""
    parts = [f"## {_heading(outcome.artefact, outcome.title)}", seeds, outcome.text, picture]
    return "\n\n".join([*[part for part in parts if part], *([section.note] if section.note else [])])


def _means(section: Section) -> str:
    """What a GPU computed, and from what."""
    number = "" if section.per_class is None else f"{section.per_class} pictures of each class, "
    if section.artefact == "mhrot":
        return f"{number.capitalize()}pixels, one H200."
    network = "" if "narrow" in section.plan.variant.name else " the full network,"
    return f"{number}ResNet-50 features,{network} one H200."


def _heading(artefact: Artefact, profile: str) -> str:
    kinds = {CATALOGUE[name].kind for name in artefact.datasets}
    few = " and ".join(CATALOGUE[name].title for name in artefact.datasets)
    kind = "tables" if kinds == {"table"} else few if len(artefact.datasets) <= MOST_NAMED else "image features"
    where = f" ({artefact.label})" if artefact.label else ""
    return f"{artefact.title}{where}: {kind}, `{profile}`"


def _count_made(outcomes: Sequence[Reproduction]) -> str:
    """How much of the page the present versions computed, and which sections others did."""
    n_cells, n_old = (sum(counts) for counts in zip(*((o.made.n_cells, o.made.n_old) for o in outcomes), strict=True))
    old = [outcome for outcome in outcomes if outcome.made.n_old]
    summary = f"{n_cells - n_old} of {n_cells} cells were computed by the present versions of their parts."
    others = [f"- {_heading(o.artefact, o.title)}: {o.made.n_old} of {o.made.n_cells}" for o in old]
    return "\n".join([summary, *(["", "By other versions:", "", *others] if others else [])])


def _list_contradictions(outcomes: Sequence[Reproduction]) -> str:
    """Every claim that failed, with the section it failed in."""
    lines = [
        f"- {_heading(outcome.artefact, outcome.title)}. *{text}* Not so: {verdict.why}."
        for outcome in outcomes
        for text, verdict in outcome.verdicts
        if verdict.outcome == "fails"
    ]
    return "\n".join(["## Where our findings contradict a claim", "", *lines])


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
only source of error; sections with one to three seeds can hardly decide anything. 'Our figures are the paper's' is
lenient where a method varies much from seed to seed."""


def main() -> int:
    """Compute what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="where copies of data sets lie (default: SOEL_DATA)")
    parser.add_argument(
        "--out", type=Path, default=Path("reproduced"), help="where cells are kept (default: reproduced)"
    )
    parser.add_argument("--page", type=Path, default=Path("benchmarks/results.md"))
    parser.add_argument("--extractor", help="the frozen network (default: the best one that is there)")
    parser.add_argument("--jobs", type=int, help="processes (default: one per core; 0: show what is finished)")
    parser.add_argument("--keep-old", action="store_true", help="keep cells that other versions computed")
    args = parser.parse_args()
    source = DataSource(args.data_dir, extractor=args.extractor or best_extractor(args.data_dir))
    with progress_bar("page") as progress:
        write_page(args.page, args.out, source, args.jobs, progress, args.keep_old)
    return 0


if __name__ == "__main__":
    sys.exit(main())
