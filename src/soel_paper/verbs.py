"""For researchers: reproduce (of `soel` too), compare and datasets, by `python -m soel_paper`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Reply
from soel.errors import ConfigError

if TYPE_CHECKING:
    from soel_paper.catalogue import Dataset
    from soel_paper.reproduce import Plan, Reproduction

NETWORK = "the frozen network (default: the best of ResNet-152, ResNet-50 and the default one that is there)"
GRID = ("methods", "datasets", "budgets", "classes", "seeds", "peers", "own", "per_class", "narrow")  # of cells
SPECIAL = {
    "toy": "fig:toy-data, score maps on 2-D toy data",
    "settings": "tab:opt-param, the settings in force",
}


def add_datasets(verbs: Any, common: argparse.ArgumentParser) -> None:
    """The catalogue of public data sets."""
    datasets = verbs.add_parser("datasets", parents=[common], help="list public data sets, and fetch them")
    datasets.add_argument("--data-dir", metavar="DIR", type=Path, help="where copies lie (default: SOEL_DATA)")
    datasets.add_argument("--fetch", metavar="NAME", nargs="+", default=[], help="download these")
    datasets.add_argument("--extract", metavar="NAME", nargs="+", default=[], help="make features of these pictures")
    datasets.add_argument("--extractor", metavar="NAME|FILE.onnx", help=NETWORK)
    datasets.set_defaults(handler=run_datasets)


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """A table or figure of the paper."""
    reproduce = verbs.add_parser("reproduce", parents=[common], help="compute a table or figure of the paper")
    reproduce.add_argument("name", metavar="NAME", nargs="?", help="an artefact, as in --list")
    reproduce.add_argument("--list", action="store_true", help="name all artefacts")
    reproduce.add_argument("--profile", choices=("default", "paper", "authors"), default="authors")
    for option in ("methods", "datasets", "budgets", "classes"):
        reproduce.add_argument(f"--{option}", metavar="A,B", default="", help=f"only these {option}")
    reproduce.add_argument("--seeds", type=int, metavar="N", help="how many seeds (default: the artefact's own)")
    reproduce.add_argument("--peers", action="store_true", help="add other detectors to the table")
    reproduce.add_argument("--own", metavar="FILE.py", type=Path, help="add a method of yours: its function `fit`")
    reproduce.add_argument("--data-dir", metavar="DIR", type=Path, help="where copies lie (default: SOEL_DATA)")
    reproduce.add_argument("--out", metavar="DIR", type=Path, default=Path("reproduced"), help="default: reproduced")
    merged, jobs = "take in results of other runs", "processes (default: one per core; 0: show what is finished)"
    reproduce.add_argument("--merge", metavar="DIR", type=Path, nargs="+", default=[], help=merged)
    reproduce.add_argument("--jobs", type=int, metavar="N", help=jobs)
    reproduce.add_argument("--minutes", type=float, metavar="M", help="begin no further cells after these; run again")
    reproduce.add_argument("--keep-old", action="store_true", help="keep cells that other versions computed")
    group = reproduce.add_argument_group("pictures and video")
    group.add_argument("--extractor", metavar="NAME|FILE.onnx", help=NETWORK)
    group.add_argument("--per-class", type=int, metavar="N", help="pictures of each class (default: all)")
    group.add_argument("--narrow", action="store_true", help="a small network for features, without a GPU")
    reproduce.set_defaults(handler=run_reproduce)


def add_raw(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Every figure of every seed."""
    raw = verbs.add_parser("raw", parents=[common], help="write every seed's figures as one CSV")
    raw.add_argument("--from", metavar="DIR", type=Path, nargs="+", dest="folders", default=[Path("reproduced")])
    raw.add_argument("--out", metavar="FILE.csv", type=Path, default=Path("figures.csv"), help="default: figures.csv")
    raw.set_defaults(handler=run_raw)


def add_compare(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Detectors on a user's own labelled table."""
    compare = verbs.add_parser("compare", parents=[common], help="compare detectors on your own labelled table")
    compare.add_argument("data", metavar="DATA", type=Path)
    compare.add_argument("--label-column", metavar="COLUMN", required=True, help="the truth of every row")
    compare.add_argument("--budgets", metavar="A,B", default="5,10,20,40", help="labels (default: 5,10,20,40)")
    compare.add_argument("--profiles", metavar="A,B", default="default,authors")
    compare.add_argument("--seeds", type=int, metavar="N", default=3)
    compare.add_argument("--out", metavar="DIR", type=Path, default=Path("compared"), help="default: compared")
    compare.add_argument("--jobs", type=int, metavar="N", help="processes (default: one per core)")
    compare.set_defaults(handler=run_compare)


def run_datasets(args: argparse.Namespace) -> Reply:
    """List the catalogue, after fetching what was named."""
    from soel.report.progress import progress_bar
    from soel.text import format_table
    from soel_paper.catalogue import CATALOGUE, find_dataset
    from soel_paper.sources import DataSource, best_extractor, data_folder, fetch

    source = DataSource(args.data_dir, extractor=args.extractor or best_extractor(args.data_dir))
    folder = data_folder(source.data_dir)
    for name in args.fetch:
        with progress_bar(name) as progress:
            fetch(find_dataset(name), folder, progress)
    for name in args.extract:
        if not source.has_pictures(name):
            raise ConfigError(f"{name} is not there as pictures or clips. `datasets` says what is present.")
        with progress_bar(name) as progress:
            source.prepare(name, progress)
    entries = [_entry(dataset, folder.find(dataset)) for dataset in CATALOGUE.values()]
    rows = [[e["name"], e["kind"], e["protocol"], e["present"] is not None, e["licence"]] for e in entries]
    text = format_table(["name", "kind", "protocol", "present", "licence"], rows)
    made = "".join(f"\nFeatures of {name} by {Path(source.extractor).name} are in the cache." for name in args.extract)
    return Reply({"folder": str(folder.path), "datasets": entries}, f"{text}\n\nIn {folder.path}.{made}")


def _entry(dataset: Dataset, found: Path | None) -> dict[str, Any]:
    file = dataset.files[0] if dataset.files else None
    shown = ("name", "title", "kind", "protocol", "licence")
    return {
        **{name: getattr(dataset, name) for name in shown},
        "source": None if file is None else file.address,
        "checksum": (file.checksum if file else "") or dataset.content or None,
        "present": None if found is None else str(found),
    }


def run_reproduce(args: argparse.Namespace) -> Reply:
    """Compute one artefact, or name them all."""
    if args.list or args.name is None:
        return _artefact_list()
    from soel.report.progress import progress_bar
    from soel_paper.artefacts import find_artefact
    from soel_paper.reproduce import CELLS, reproduce
    from soel_paper.runner import CellStore
    from soel_paper.sources import DataSource, best_extractor

    if args.merge:
        CellStore(args.out / CELLS).merge(args.merge)
    if args.name in SPECIAL:
        return _special(args)
    artefact = find_artefact(args.name)
    extractor = args.extractor or best_extractor(args.data_dir)
    source = DataSource(args.data_dir, extractor=extractor, per_class=args.per_class)
    with progress_bar(artefact.name) as progress:
        outcome = reproduce(artefact, _plan(args), args.out, source, args.jobs, progress, args.keep_old, args.minutes)
    pictured = any(source.has_pictures(name) for name in outcome.artefact.datasets if source.present(name))
    features = f", features by {Path(extractor).name}" if pictured else ""
    title = f"{artefact.title}, profile {outcome.title}{features}"
    rest = "" if outcome.made.n_cells == outcome.made.n_wanted else f"\n\n{outcome.made}"
    return _reply(outcome, f"{title}\n\n{outcome.text}{rest}")


def run_raw(args: argparse.Namespace) -> Reply:
    """One line for each measure of each finished cell."""
    from soel_paper.runner import write_raw

    n_cells = write_raw(args.folders, args.out)
    return Reply({"cells": n_cells, "out": str(args.out)}, f"{n_cells} cells are in {args.out}.")


def run_compare(args: argparse.Namespace) -> Reply:
    """Compare our profiles and the peers on a user's table."""
    from soel.report.progress import progress_bar
    from soel_paper.methods import find_variant
    from soel_paper.reproduce import compare

    budgets, variants = _numbers(args.budgets), [find_variant(name) for name in _words(args.profiles)]
    with progress_bar("compare") as progress:
        found = compare(
            args.data, args.label_column, args.out, budgets, variants, args.seeds, n_jobs=args.jobs, progress=progress
        )
    return _reply(found, found.text)


def _reply(outcome: Reproduction, text: str) -> Reply:
    written = "\n".join(f"{kind}: {path}" for kind, path in outcome.files.items())
    return Reply(outcome.to_json(), f"{text}\n\n{written}")


def _special(args: argparse.Namespace) -> Reply:
    """Artefacts that are no grid of cells."""
    given = [option for option in GRID if getattr(args, option)]
    if given:
        raise ConfigError(f"--{given[0].replace('_', '-')} does nothing for {args.name}. Leave it out.")
    from soel_paper import figures, methods

    if args.name == "settings":
        rows = [dict(zip(methods.HEADER, row, strict=True)) for row in methods.settings_rows()]
        return Reply({"settings": rows}, methods.settings_table())
    maps, out = figures.write_toy(args.out), args.out / "toy.svg"
    lines = [f"{shown.title}: AUROC {100 * shown.auroc:.1f} %" for shown in maps]
    document = {"panels": [{"title": m.title, "auroc": m.auroc} for m in maps], "out": str(out)}
    return Reply(document, "\n".join([*lines, f"The picture is in {out}."]))


def _artefact_list() -> Reply:
    from soel.text import format_table
    from soel_paper.artefacts import ARTEFACTS

    entries = [artefact.to_json() for artefact in ARTEFACTS.values()]
    times = ("minutes", "minutes_on_gpu")
    rows = [
        [e["name"], e["label"] or "ours", e["title"], e["needs"], *(_duration(e[t]) for t in times)] for e in entries
    ]
    rows += [[name, "", what, "", "", ""] for name, what in SPECIAL.items()]
    text = format_table(["name", "in the paper", "what", "needs", "two cores", "one H200"], rows)
    return Reply({"artefacts": entries, "special": SPECIAL}, f"{text}\nNext: soel reproduce NAME")


def _duration(minutes: float | None) -> str:
    """Minutes in the unit that a person would use; nothing where they were not measured."""
    if minutes is None:
        return ""
    if minutes < 100:
        return f"{max(1, round(minutes))} min"
    return f"{minutes / 60:.0f} h" if minutes < 60 * 100 else f"{minutes / 60 / 24:.0f} days"


def _plan(args: argparse.Namespace) -> Plan:
    from soel_paper.methods import find_variant, narrow
    from soel_paper.reproduce import Plan

    if args.seeds is not None and args.seeds < 1:
        raise ConfigError(f"At least one seed is needed, got {args.seeds}.")
    if args.per_class is not None and args.per_class < 2:
        raise ConfigError(f"At least two pictures of each class are needed, got {args.per_class}.")
    variant = find_variant(args.profile)
    return Plan(
        narrow(variant) if args.narrow else variant,
        _words(args.methods),
        _words(args.datasets),
        _numbers(args.budgets),
        _numbers(args.classes),
        args.seeds,
        args.peers,
        own=args.own,
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in _words(text))
    except ValueError as error:
        raise ConfigError(f"{text!r} is no list of whole numbers; write them as 5,10,20.") from error
