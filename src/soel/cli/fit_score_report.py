"""The machine's part: fit, score, report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any

from soel.cli.arguments import Exit, Reply, add_engine, add_verb, cluster_options, open_session
from soel.errors import ConfigError, EmptyTableError
from soel.report.progress import progress_bar
from soel.text import count, format_table, show


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    add_verb(verbs, common, run_fit, "learn from all answers so far")
    score = add_verb(verbs, common, run_score, "write scores, ranks and alarms")
    score.add_argument("--data", metavar="DATA", help="other rows to score (default: all of the session's own)")
    score.add_argument("--out", metavar="FILE", type=Path, help=OUT_HELP)
    score.add_argument("--maps", metavar="DIR", type=Path, help="of pictures that raise an alarm: where, as files")
    score.add_argument(
        "--why",
        nargs="?",
        choices=("alarms", "all"),
        const="alarms",
        help="say which columns raise the score of each alarm, or of all rows",
    )
    score.add_argument("--with-columns", action="store_true", help="write the rows' own columns behind, too")
    score.add_argument("--threshold", metavar="RULE", help="where alarms start")
    score.add_argument(
        "--fail-on-drift",
        action="store_true",
        help=f"end with code {Exit.DRIFTED} where new rows are not like the pool",
    )
    add_engine(score)
    report = add_verb(verbs, common, run_report, "write one HTML page about the session")
    report.add_argument("--out", metavar="FILE.html", type=Path, help="the page (default: DIR/report.html)")


OUT_HELP = ".csv, .parquet, .json, .xlsx (default: DIR/scores.csv); of data read in parts, a folder, too"


def run_fit(args: argparse.Namespace) -> Reply:
    """Learn from all answers so far."""
    from soel.records import body_of
    from soel.session.feedback import adopt_answered

    with closing(open_session(args)) as session, progress_bar("Training") as bar:
        adopt_answered(session)
        fitted = session.fit(bar)
    estimate = fitted.estimate
    lines = [
        f"Learned from {count(fitted.n_labels, 'label')} ({count(fitted.n_anomalies, 'anomaly')}): "
        f"{fitted.model.folder}.",
        f"Contamination: roughly {estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f}).",
        *([fitted.note] if fitted.note else []),
        f"Next: soel score {args.folder}",
    ]
    return Reply(asdict(fitted) | {"estimate": body_of(estimate)}, "\n".join(lines))


def run_score(args: argparse.Namespace) -> Reply:
    """Write scores, ranks and alarms."""
    from soel.report.quality_words import NO_CHECK
    from soel.session.score_file import score_file

    if args.fail_on_drift and args.data is None:
        raise ConfigError("--fail-on-drift compares new rows with the pool, and none are given; name them with --data.")
    cluster = cluster_options(args)
    with closing(open_session(args)) as session, progress_bar("Scoring") as bar:
        out = args.out or args.folder / ("scores.csv" if not session.folder.all_data else "scores.parquet")
        try:
            document = score_file(session, args.data, out, args.threshold, bar, args.with_columns, args.why, cluster)
        except EmptyTableError:
            text = f"{show(args.data)} has no rows: nothing to score, and nothing is written to {out}."
            return Reply({"n_items": 0, "n_alarms": 0, "out": None}, text, Exit.EMPTY)
        if args.maps is not None:
            from soel.session.score_file import write_maps

            document |= {"maps": str(args.maps), **write_maps(session, args.data, args.maps, args.threshold)}
        is_unchecked = args.data is None and document["n_alarms"] and session.quality() is None
    lines = [*map(show, document["notes"])]
    lines.append(f"{document['n_alarms']} of {document['n_items']} items raise an alarm; scores are in {out}.")
    if document.get("intervals"):
        worst, n_events = document["intervals"][0], len(document["intervals"])
        lines.append(f"They make {count(n_events, 'event')}, in {out.stem}.intervals.csv; the highest:")
        lines.append(f"      {worst['clip']}, {worst['start']:g} to {worst['end']:g} s, peak at {worst['peak']:g} s")
    if args.maps is not None:
        lines.append(f"{document['n_maps']} pictures with {document['n_boxes']} boxes are in {args.maps}.")
    lines += [_show_top(document["top"])] if document["top"] else []
    lines += [f"{row['rank']:>4}. {show(row['why'])}" for row in document["top"] if row.get("why")]
    lines += _say_explained(document, is_new=args.data is not None)
    if is_unchecked:
        lines.append(NO_CHECK.replace("DIR", str(args.folder)))
    lines += document["promise"]["lines"]
    drift = document["drift"]
    lines += [] if drift is None else map(show, drift["lines"])
    has_failed = args.fail_on_drift and drift is not None and drift["found"]
    left_out = document.get("left_out", ())
    lines += [f"Not scored: {show(file['name'])} cannot be read ({show(file['reason'])})." for file in left_out]
    code = Exit.DRIFTED if has_failed else Exit.INCOMPLETE if left_out else Exit.DONE
    return Reply(document, "\n".join([*lines, f"Next: soel report {args.folder}"]), code)


def _say_explained(document: Mapping[str, Any], is_new: bool) -> list[str]:
    """Which rows have reasons, and among which rows a rank is meant."""
    if "n_explained" not in document:
        return []
    n_rows, n_left = document["n_explained"], document["n_alarms"] - document["n_explained"]
    lines = [f"The {n_rows:,} most anomalous rows are explained."]
    if n_left > 0:
        lines = [f"The {n_rows:,} most anomalous rows are explained; {n_left:,} alarms below them are not."]
    return [*lines, "A rank that a row would have is one among the session's own rows."] if is_new else lines


def _show_top(rows: Sequence[Mapping[str, Any]]) -> str:
    """The most anomalous items as a table, with the names of the file; an id only where nothing else names the item."""
    from soel.scoring.score_table import COLUMNS

    names = list(takewhile(lambda name: name != "rank", rows[0]))
    shown = [name for name in names if name != "id" or len(names) == 1]
    header = [*COLUMNS, *shown]
    return format_table(header, [[row[name] for name in header] for row in rows])


def run_report(args: argparse.Namespace) -> Reply:
    """Write one HTML page about the session."""
    from soel.report.facts import gather_report
    from soel.report.page import write_report

    with closing(open_session(args)) as session:
        out = write_report(gather_report(session), args.out or args.folder / "report.html")
    return Reply({"out": str(out)}, f"The report is in {out}.\nNext: soel ask {args.folder}")
