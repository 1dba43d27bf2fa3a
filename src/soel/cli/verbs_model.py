"""The machine's part: fit, score, report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from soel.cli.options import RULES_HELP, add_engine, add_place, open_session
from soel.cli.reply import Reply
from soel.report.progress import progress_bar


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    fit = verbs.add_parser("fit", parents=[common], help="learn from all answers so far")
    add_place(fit)
    add_engine(fit)
    fit.set_defaults(handler=run_fit)
    score = verbs.add_parser("score", parents=[common], help="write scores, ranks and alarms")
    add_place(score)
    score.add_argument("--data", metavar="DATA", help="other rows to score (default: all of the session's own)")
    score.add_argument("--out", metavar="FILE", type=Path, help=OUT_HELP)
    score.add_argument("--maps", metavar="DIR", type=Path, help="of pictures that raise an alarm: where, as files")
    score.add_argument("--threshold", metavar="RULE", help=RULES_HELP)
    add_engine(score)
    score.set_defaults(handler=run_score)
    report = verbs.add_parser("report", parents=[common], help="write one HTML page about the session")
    add_place(report)
    report.add_argument("--out", metavar="FILE.html", type=Path, help="the page (default: DIR/report.html)")
    report.set_defaults(handler=run_report)


OUT_HELP = ".csv, .parquet, .json (default: DIR/scores.csv); of data read in parts, a folder (default: scores.parquet)"


def run_fit(args: argparse.Namespace) -> Reply:
    """Learn from all answers so far."""
    from soel.session.state import estimate_body

    with closing(open_session(args)) as session, progress_bar("Training") as bar:
        fitted = session.fit(bar)
    estimate = fitted.estimate
    lines = [
        f"Learned from {fitted.n_labels} labels ({fitted.n_anomalies} anomalies): {fitted.model.folder}.",
        f"Contamination: roughly {estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f}).",
        *([fitted.note] if fitted.note else []),
        f"Next: soel score {args.folder}",
    ]
    return Reply(asdict(fitted) | {"estimate": estimate_body(estimate)}, "\n".join(lines))


def run_score(args: argparse.Namespace) -> Reply:
    """Write scores, ranks and alarms."""
    from soel.api.maps import write_maps
    from soel.api.scores import score_file

    with closing(open_session(args)) as session, progress_bar("Scoring") as bar:
        out = args.out or args.folder / ("scores.csv" if not session.folder.wholes else "scores.parquet")
        document = score_file(session, args.data, out, args.threshold, bar)
        if args.maps is not None:
            document |= {"maps": str(args.maps), **write_maps(session, args.data, args.maps, args.threshold)}
    lines = [f"{document['n_alarms']} of {document['n_items']} items raise an alarm; scores are in {out}."]
    if args.maps is not None:
        lines.append(f"{document['n_maps']} pictures with {document['n_boxes']} boxes are in {args.maps}.")
    lines += [f"{row['rank']:>4}  {row['score']:10.4f}  {_describe_item(row)}" for row in document["top"]]
    return Reply(document, "\n".join([*lines, f"Next: soel report {args.folder}"]))


def _describe_item(row: Mapping[str, Any]) -> str:
    """What an item is called, by the columns before its rank; the id only where there is nothing else."""
    names = dict(takewhile(lambda cell: cell[0] != "rank", row.items()))
    shown = {name: value for name, value in names.items() if value is not None and (name != "id" or len(names) == 1)}
    plain = len(shown) == 1 and "row" not in shown
    return ", ".join(str(value) if plain else f"{name} {value}" for name, value in shown.items())


def run_report(args: argparse.Namespace) -> Reply:
    """Write one HTML page about the session."""
    from soel.api import sessions

    with closing(open_session(args)) as session:
        out = sessions.write_report(session, args.out or args.folder / "report.html")
    return Reply({"out": str(out)}, f"The report is in {out}.\nNext: soel ask {args.folder}")
