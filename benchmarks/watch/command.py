"""`python -m benchmarks watch`: a quarter of nights with an expert who answers five alarms a day.

For each table three quarters: with events and answers, with events and without answers, quiet with answers. Printed are
precision and recall by week, beside an isolation forest that is refitted every night and raises as many alarms; when
each event was noticed; how many quiet nights were called stale; on how many nights the interval of the precision held
that of all alarms so far. Alarms are those at the product's own threshold.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest

import soel.session.watch
from benchmarks.watch.quarter import BROKEN_ON, DRIFT_FROM, NEW_FROM, Quarter, load
from soel.session import SessionOptions
from soel.session.alarms import read_kept
from soel.session.create import create_session
from soel.session.refit import labels_until_due, refit
from soel.session.watch import prove, watch
from soel.types import Booleans

A_DAY, MISTAKES, FIRST_LABELS, WEEK = 5, 0.05, 20, 7
COUNTED = ("alarms", "hits", "anomalies", "forest_hits")
QUARTERS = {"answered": (True, True), "unanswered": (True, False), "quiet": (False, True)}  # events, answers


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks watch", description=__doc__)
    parser.add_argument("tables", nargs="+", type=Path, help="files with X and y (.npz)")
    parser.add_argument("--nights", type=int, default=90)
    parser.add_argument("--rows", type=int, default=5_000, help="a night")
    parser.add_argument("--quarters", nargs="+", choices=QUARTERS, default=list(QUARTERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/watch.json"))
    arguments = parser.parse_args(words)
    soel.session.watch.MOST_EXPLAINED = 0  # nobody reads reasons here
    out: Path = arguments.out
    out.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    for kind in arguments.quarters:
        for path in arguments.tables:
            name = f"{path.stem} {kind} {arguments.nights} x {arguments.rows}, seed {arguments.seed}"
            if name not in results:  # a quarter takes minutes: one that was finished is kept
                has_events, answers = QUARTERS[kind]
                pool, truth, quarter = load(path, arguments.nights, arguments.rows, arguments.seed, has_events)
                with tempfile.TemporaryDirectory() as folder:
                    results[name] = run(Path(folder), pool, truth, quarter, answers)
                out.write_text(json.dumps(results))
            print(f"\n{name}\n\n{describe(results[name])}", flush=True)
    return 0


def run(folder: Path, pool: Any, truth: Booleans, quarter: Quarter, answers: bool) -> dict[str, Any]:
    """One quarter by the product. answers: whether the expert goes on answering after the first fit."""
    rng = np.random.default_rng(quarter.seed)
    pool.to_csv(folder / "pool.csv", index=False)
    options = SessionOptions(id_column="name", budget=FIRST_LABELS)
    nights: list[dict[str, Any]] = []
    held: list[bool] = []
    with closing(create_session(folder / "work", folder / "pool.csv", options)) as session:
        while session.state.n_left:
            session.tell({item: _word(truth[int(item[2:])], rng) for item in session.ask(5).items})
        session.fit()
        for number in range(1, quarter.n_nights + 1):
            frame, odd, is_new = quarter.night(number)
            path = folder / f"night-{number:03}.parquet"
            frame.to_parquet(path, index=False)
            watched = watch(session, [path])
            path.unlink()
            (night,) = watched.nights
            table = read_kept(session.folder, [night], ["alarm_id", "row", "alarm", "drawn", "score"]).to_pylist()
            alarms = np.zeros(len(frame), bool)
            alarms[[row["row"] - 1 for row in table if row["alarm"]]] = True
            if answers:
                asked = [row for row in table if row["drawn"]] + [row for row in table if row["alarm"]][:A_DAY]
                session.tell({row["alarm_id"]: _word(odd[row["row"] - 1], rng) for row in asked})
                if not labels_until_due(session.state):
                    refit(session)
                proven = prove(session)
            counts = {"alarms": int(alarms.sum()), "hits": int((alarms & odd).sum())}
            forest = _by_forest(frame, counts["alarms"], quarter.seed) if answers and quarter.has_events else alarms
            nights.append(
                counts
                | {
                    "verdict": watched.verdict,
                    "moved": watched.nights[0].moved,
                    "outside": watched.nights[0].n_outside,
                    "rate": watched.rate.is_rejected,
                    "anomalies": int(odd.sum()),
                    "new": int(is_new.sum()),
                    "new_hits": int((alarms & is_new).sum()),
                    "forest_hits": int((forest & odd).sum()),
                }
            )
            if answers and proven is not None and proven.precision is not None:  # of all nights: they are all of today
                n_hits, n_alarms = (sum(each[name] for each in nights) for name in ("hits", "alarms"))
                held.append(n_hits / n_alarms in proven.precision)
        n_models = len(session.state.fits)
    return {
        "table": quarter.name,
        "events": quarter.has_events,
        "answers": answers,
        "models": n_models,
        "interval_held": held,
        "nights": nights,
    }


def describe(result: dict[str, Any]) -> str:
    """A quarter by week as a table of Markdown, then what was noticed."""
    nights = result["nights"]
    has_forest = result["answers"] and result["events"]
    lines = [f"| week | precision | recall |{' forest, precision | recall |' if has_forest else ''}"]
    lines.append("|---|---|---|" + "---|---|" * has_forest)
    for first in range(0, len(nights), WEEK):
        sums = {name: sum(night[name] for night in nights[first : first + WEEK]) for name in COUNTED}
        found = (sums["hits"], sums["forest_hits"])[: 1 + has_forest]
        shares = [n / max(sums[of], 1) for n in found for of in ("alarms", "anomalies")]
        lines.append(f"| {first // WEEK + 1} |{''.join(f' {100 * share:.0f} % |' for share in shares)}")
    stale = [number for number, night in enumerate(nights, start=1) if night["verdict"] == "stale"]
    lines += ["", f"- models: {result['models']}; nights called stale: {len(stale)} of {len(nights)}, {stale}"]
    if result["events"]:
        for name, start in (("slow drift", DRIFT_FROM), ("broken sensor", BROKEN_ON), ("new kind", NEW_FROM)):
            noticed = next((number for number in stale if number >= start), None)
            lines.append(f"- {name} from night {start}: stale on night {noticed}")
        n_new, n_found = (sum(night[name] for night in nights) for name in ("new", "new_hits"))
        lines.append(f"- of {n_new} anomalies of the new kind {n_found} were alarms")
    if held := result["interval_held"]:
        lines.append(f"- the interval of the precision held on {sum(held)} of {len(held)} nights")
    return "\n".join(lines)


def _by_forest(frame: Any, n_alarms: int, seed: int) -> Booleans:
    x = frame.drop(columns="name").to_numpy()
    scores = -IsolationForest(random_state=seed).fit(x).score_samples(x)
    alarms = np.zeros(len(x), bool)
    alarms[np.argsort(-scores)[:n_alarms]] = True
    return alarms


def _word(is_anomaly: Any, rng: np.random.Generator) -> str:
    """The expert's answer, wrong now and then."""
    return "anomaly" if bool(is_anomaly) != (rng.random() < MISTAKES) else "normal"
