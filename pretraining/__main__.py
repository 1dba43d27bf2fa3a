"""`python -m pretraining compare|train|evaluate|export`: make and measure `soel.detect.incontext`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from pretraining import checkpoint, compare, tables
from pretraining.batches import Plan
from pretraining.evaluate import RULES, evaluate, shown
from pretraining.export import export
from pretraining.train import Run, begin, keep, resume, train
from soel.detect.incontext.network import Shape


def main(words: list[str] | None = None) -> int:
    """Run one of the verbs."""
    parser = argparse.ArgumentParser(prog="python -m pretraining", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    _add_compare(verbs.add_parser("compare", help="show whether the made-up tasks are like real tables"))
    _add_train(verbs.add_parser("train", help="train, or go on from a checkpoint, for a number of seconds"))
    _add_evaluate(verbs.add_parser("evaluate", help="measure a checkpoint on real tables"))
    _add_export(verbs.add_parser("export", help="write a checkpoint's running average as the package's weights"))
    _add_pack(verbs.add_parser("pack", help="split a folder of tables into pools and test rows, as one file"))
    arguments = parser.parse_args(words)
    torch.set_float32_matmul_precision("highest")
    return int(arguments.verb(arguments) or 0)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", type=Path, help="a folder of .npz files with X and y, or a packed file")
    parser.add_argument("--batches", type=int, default=100, help="of four tasks each")
    parser.set_defaults(verb=_compare)


def _compare(arguments: argparse.Namespace) -> None:
    _say(compare.show(compare.of_tables(arguments.tables), compare.of_tasks(arguments.batches)))


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="where the run is kept; gone on from if it is there")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--decay-seconds", type=float, default=0.0, help="the last part, in which the rate falls")
    parser.add_argument("--decayed", type=Path, help="where the run is kept after the rate has fallen")
    parser.add_argument("--batches", type=int, default=Plan.batches_a_step, help="of tasks, for each step")
    parser.add_argument("--rows", type=int, default=Plan.rows_a_batch, help="in a batch of tasks, about")
    parser.add_argument("--warmup", type=int, default=Plan.warmup_steps, help="steps in which the rate rises")
    parser.add_argument("--pace", type=float, default=1.0, help="of the rates: less to go on from trained weights")
    parser.add_argument("--real", type=Path, help="an .npz file of real tables that tasks are cut from, too")
    parser.add_argument("--real-share", type=float, default=Plan.real_share, help="of the tasks")
    parser.add_argument("--makers", type=int, default=Plan.makers, help="processes that make tasks beside the training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", type=Path, help="measure on these tables at the end")
    parser.set_defaults(verb=_train)


def _train(arguments: argparse.Namespace) -> None:
    device = _device()
    plan = Plan(
        seconds=arguments.seconds,
        decay_seconds=arguments.decay_seconds,
        rate=arguments.pace * Plan.rate,
        matrix_rate=arguments.pace * Plan.matrix_rate,
        warmup_steps=arguments.warmup,
        batches_a_step=arguments.batches,
        rows_a_batch=arguments.rows,
        real=arguments.real,
        real_share=arguments.real_share,
        makers=arguments.makers,
        seed=arguments.seed,
        log=_say,
    )
    there = (arguments.folder / "notes.json").exists()
    run = resume(arguments.folder, plan, device) if there else begin(Shape(), plan, device)

    def before_decay(run: Run) -> None:
        keep(run, arguments.folder)

    train(run, plan, device, before_decay if arguments.decay_seconds else None)
    keep(run, arguments.decayed if arguments.decay_seconds else arguments.folder)
    if arguments.tables:
        run.module.load_state_dict(run.average)
        _say(shown(evaluate(run.module.network, arguments.tables, device)))


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="a checkpoint")
    parser.add_argument("tables", type=Path, help="a folder of .npz files with X and y, or a packed file")
    parser.add_argument("--budgets", type=int, nargs="+", default=[0, 10, 40])
    parser.add_argument("--rules", nargs="*", default=[], choices=sorted(RULES), help="for questions one at a time")
    parser.add_argument("--part", type=int, nargs=2, default=[0, 1], help="which of how many parts of the tables")
    parser.add_argument("--out", type=Path, help="also write every table's figures")
    parser.set_defaults(verb=_evaluate)


def _evaluate(arguments: argparse.Namespace) -> None:
    module, average, _, _ = checkpoint.load(arguments.folder, _device())
    module.load_state_dict(average)
    part = slice(arguments.part[0], None, arguments.part[1])
    result = evaluate(module.network, arguments.tables, _device(), arguments.budgets, arguments.rules, part)
    if arguments.out:
        arguments.out.write_text(json.dumps(result))
    _say(shown(result))


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", type=Path, nargs="+", help="a checkpoint; of several, their mean")
    parser.add_argument("to", type=Path, help="the weights file to write")
    parser.set_defaults(verb=lambda arguments: _say(export(arguments.folders, arguments.to)))


def _add_pack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", type=Path)
    parser.add_argument("to", type=Path)
    parser.set_defaults(verb=lambda arguments: tables.pack(tables.read(arguments.tables), arguments.to))


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
