"""Unattended: watch what comes in, choose the model that scores, answer requests."""

from __future__ import annotations

import argparse
import glob
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.cli.arguments import Exit, Reply, add_verb, open_session
from soel.errors import ConfigError, MissingPackageError
from soel.files import write_whole
from soel.report.progress import progress_bar
from soel.text import count, format_table, percent, show

if TYPE_CHECKING:
    from soel.session import Session
    from soel.session.state import Comparison, Fit, SessionState
    from soel.session.watch import Watched

N_SHOWN = 5
CODES = {"fine": Exit.DONE, "look": Exit.ALARMS, "stale": Exit.STALE}


def add(verbs: Any, common: argparse.ArgumentParser) -> None:
    """Add these verbs to the command line."""
    watch = add_verb(verbs, common, run_watch, "score what is new since the last run, and say how it is")
    watch.add_argument("--data", metavar="PATTERN", required=True, help="files that come in, such as 'inbox/*.parquet'")
    watch.add_argument(
        "--refit",
        choices=("never", "suggest", "auto"),
        default="suggest",
        help="where answers came in: leave the model, say that a refit is due, or refit and promote what is not worse",
    )
    watch.add_argument("--metrics", metavar="FILE", type=Path, help="write figures for a Prometheus textfile collector")
    watch.add_argument("--notify", metavar="URL", help="send each group of alike alarms as JSON to this address")
    watch.add_argument("--page", metavar="URL", default="", help="the page's address, for links in what is sent")
    models = add_verb(verbs, common, run_models, "list the models of a session, or choose which one scores")
    models.add_argument("--promote", metavar="N", type=int, help="let model N score from now on")
    serve = add_verb(verbs, common, run_serve, "score rows by a session or a model's folder, behind an HTTP endpoint")
    serve.add_argument("--host", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="the port (default: 8000; 0 for any)")
    serve.add_argument("--no-auth", action="store_true", help="ask for no token, which only this machine may")


def run_watch(args: argparse.Namespace) -> Reply:
    """Score what is new, keep alarms and questions, and say whether the model still fits."""
    from soel.session import notify as sending
    from soel.session.refit import count_new_labels, labels_until_due, refit
    from soel.session.watch import watch, write_questions

    for address in filter(None, (args.notify, args.page)):
        sending.check_address(address)
    if args.page and not args.notify:
        raise ConfigError("--page stands in what --notify sends; give an address to notify, or leave it out.")
    found = _find_inputs(args.data)
    with closing(open_session(args)) as session:
        with progress_bar("Watching") as bar:
            watched = watch(session, found, bar)
        comparison = None
        due = args.refit != "never" and not labels_until_due(session.state)
        if due and args.refit == "auto":
            with progress_bar("Learning") as bar:
                comparison = refit(session, bar)
        sheet = write_questions(session)
        problems = []
        if args.notify:
            problems = sending.notify(session.folder, session.state.nights, args.notify, session.title, args.page)
        state = session.state
    n_new = count_new_labels(state)
    if args.metrics is not None:
        write_whole(args.metrics, _metrics(watched, state, n_new))
    lines = [_sentence(watched), *_details(watched)]
    lines += [f"Not scored: {show(night.input)}: {show(night.refused)}" for night in watched.refused]
    if watched.proven is not None:
        lines.append(_proven(watched))
    if watched.questions:
        lines.append(f"{count(len(watched.questions), 'question')} wait for an answer beside the alarms.")
    if comparison is not None:
        lines.append(_compared(comparison))
    elif due:
        lines.append(f"{count(n_new, 'label')} came in since the model was fitted: `--refit auto` learns from them.")
    elif sheet is not None and args.refit != "never":
        lines.append(f"After {count(labels_until_due(state), 'more label')} a refit is worth it.")
    lines += map(show, problems)
    if sheet is not None:
        lines.append(f"Next: fill in the column `label` of {sheet}, then soel tell {args.folder} {sheet}")
    document = {
        "verdict": watched.verdict,
        "nights": [asdict(night) for night in watched.nights],
        "refused": [asdict(night) for night in watched.refused],
        "n_alarms": watched.n_alarms,
        "rate": asdict(watched.rate) | {"is_rejected": watched.rate.is_rejected},
        "questions": list(watched.questions),
        "proven": None if watched.proven is None else asdict(watched.proven),
        "refit": None if comparison is None else asdict(comparison) | {"is_promoted": comparison.is_promoted},
        "refit_is_due": due and comparison is None,
        "labels_until_refit": labels_until_due(state),
        "sheet": None if sheet is None else str(sheet),
        "problems": problems,
    }
    code = Exit.BUG if watched.refused else CODES[watched.verdict]
    return Reply(document, "\n".join(lines), code)


def _find_inputs(pattern: str) -> list[Path]:
    """The files of a pattern. An empty folder is a quiet night; a folder that is not there is a mistake."""
    found = sorted(Path(name) for name in glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute patterns, too
    parts = Path(pattern).parts
    fixed = Path(*parts[: next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))])
    if not fixed.exists():
        raise ConfigError(f"{fixed} does not exist; name the files that come in, such as 'inbox/*.parquet'.")
    if found == [Path(pattern)] and found[0].is_dir():
        raise ConfigError(f"{pattern} is a folder; name the files in it that come in, such as '{pattern}/*'.")
    return found


def _metrics(watched: Watched, state: SessionState, n_new: int) -> bytes:
    """The run and all runs before it, as Prometheus reads them from a file."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ImportError as error:
        raise MissingPackageError("Figures for Prometheus need prometheus-client. Install soel[serve].") from error
    figures = {
        "soel_watch_rows": ("Rows that were watched, of all runs", sum(night.n_rows for night in state.nights)),
        "soel_watch_alarms": ("Alarms that they raised", sum(night.n_alarms for night in state.nights)),
        "soel_watch_refused_files": ("Files of this run that could not be scored", len(watched.refused)),
        "soel_watch_outside_rows": ("Rows of this run like none of the pool", sum(n.n_outside for n in watched.nights)),
        "soel_watch_moved_columns": ("Drift findings of this run", sum(len(n.moved) for n in watched.nights)),
        "soel_watch_stale": ("Whether the model no longer fits", int(watched.verdict == "stale")),
        "soel_watch_rate_evidence": ("Evidence against an unchanged alarm rate; 20 rejects it", watched.rate.evidence),
        "soel_watch_questions": ("Rows that wait for an answer beside the alarms", len(watched.questions)),
        "soel_watch_labels_waiting": ("Labels that the model has not learnt from", n_new),
        "soel_watch_time_seconds": ("When this run ended", time.time()),
    }
    registry = CollectorRegistry()
    for name, (text, value) in figures.items():
        Gauge(name, text, registry=registry).set(value)
    return generate_latest(registry)


def _sentence(watched: Watched) -> str:
    """The verdict."""
    n_rows = sum(night.n_rows for night in watched.nights)
    if not watched.nights and not watched.refused:
        what = "Nothing new came in"
    else:
        what = f"{count(n_rows, 'row')} in {count(len(watched.nights), 'file')}, {count(watched.n_alarms, 'alarm')}"
    ends = {
        "fine": "fine.",
        "look": "look at the alarms.",
        "stale": "stale: the data are no longer like those that the model learnt from.",
    }
    return f"{what}: {ends[watched.verdict]}"


def _details(watched: Watched) -> list[str]:
    """Why it is stale: the alarm rate, columns that moved, rows unlike the pool."""
    lines, rate = [], watched.rate
    if rate.is_rejected:
        low, high = rate.usual
        more = "more" if rate.is_more else "fewer"
        lines.append(f"  {more} alarms than usual ({percent(low)} to {percent(high)} of the rows)")
    moved = list(dict.fromkeys(text for night in watched.nights for text in night.moved))
    lines += [f"  {show(text)}" for text in moved[:N_SHOWN]]
    lines += [f"  ... and {len(moved) - N_SHOWN} more columns"] if len(moved) > N_SHOWN else []
    n_outside = sum(night.n_outside for night in watched.nights)
    return [*lines, f"  {count(n_outside, 'row')} are like none that the model learnt from"] if n_outside else lines


def _proven(watched: Watched) -> str:
    """What answers prove of the last month."""
    from soel.session.watch import MISTAKES

    quality = watched.proven
    assert quality is not None
    words = []
    if quality.precision is not None:
        of = quality.precision.round_outwards(0.01)
        interval = f"{of.low:.2f} to {of.high:.2f}, even if {percent(MISTAKES)} of the answers are wrong"
        words.append(f"precision {of.value:.2f} ({interval})")
    if quality.missed is not None:
        words.append(f"at most {1000 * quality.missed.high / max(quality.n_rows, 1):.1f} missed in 1,000 rows")
    return f"Last 30 days: {' and '.join(words)}, from {count(quality.n_checked, 'answer')}."


def _compared(comparison: Comparison) -> str:
    if comparison.current is None or comparison.candidate is None:
        return f"A new model learnt from {count(comparison.n_labels, 'new label')} and scores from now on."
    figures = f"{percent(comparison.candidate)} against {percent(comparison.current)} AUROC"
    held = f"on {count(comparison.n_labels, 'label')} that neither had seen: {figures}"
    if comparison.is_promoted:
        return f"A new model scores from now on; {held}."
    return f"A new model is kept but does not score; {held}."


def run_models(args: argparse.Namespace) -> Reply:
    """List the models, or promote one."""
    with closing(open_session(args)) as session:
        if args.promote is not None:
            session.promote(args.promote)
        state = session.state
        rows = [_model(session, number, fit, number - 1 == state.current) for number, fit in enumerate(state.fits, 1)]
    if not rows:
        return Reply({"models": []}, f"There is no model yet; `soel fit {args.folder}` makes one.")
    header = ["model", "scores", "folder", "at", "labels", "alarms in pool", "AUROC before, with it"]
    table = format_table(header, [_line(row) for row in rows])
    return Reply({"models": rows}, f"{table}\nNext: soel models {args.folder} --promote N")


def _model(session: Session, number: int, fit: Fit, is_current: bool) -> dict[str, Any]:
    return {
        "number": number,
        "is_current": is_current,
        "folder": str(session.folder.path / fit.model.folder),
        "fingerprint": fit.model.fingerprint,
        "at": fit.at,
        "n_labels": fit.n_labels,
        "n_alarms": fit.figures.n_alarms,
        "comparison": None if fit.comparison is None else asdict(fit.comparison),
    }


def _line(row: dict[str, Any]) -> Sequence[object]:
    held = row["comparison"] or {}
    figures = ", ".join(percent(held[name]) for name in ("current", "candidate") if held.get(name) is not None)
    is_current = "yes" if row["is_current"] else ""
    return [
        str(row["number"]),
        is_current,
        row["folder"],
        row["at"][:16],
        str(row["n_labels"]),
        str(row["n_alarms"]),
        figures,
    ]


def run_serve(args: argparse.Namespace) -> Reply:
    """Serve the model until it is stopped."""
    try:
        from soel.serve.service import serve_model
        from soel.web.launch import Address
    except ImportError as error:
        raise MissingPackageError(f"The endpoint needs more packages ({error}). Install soel[serve].") from error

    def announce(link: str, token: str) -> None:
        said = f"The token is {token}" if token else "No token is asked for"
        print(f"Serving {args.folder} at {link}\n{said}. Stop with Ctrl+C.", file=sys.stderr, flush=True)

    with suppress(KeyboardInterrupt):
        serve_model(args.folder, Address(args.host, args.port), args.no_auth, announce, args.store)
    return Reply({"folder": str(args.folder), "stopped": True}, "Stopped; every request was answered.")
