"""`python -m benchmarks watch`: a quarter of nights with an expert who answers five alarms a day.

For each table: precision and recall by week of `soel watch` with answers, of the same without answers, and of an
isolation forest that is refitted every night; when each event was noticed; how often a quiet quarter was called stale;
how often the printed interval of the precision held. A figure is about alarms at the product's own threshold; the
forest raises as many alarms a night as the product with answers does.
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

from benchmarks.watch.quarter import BROKEN_ON, DRIFT_FROM, NEW_FROM, Quarter, load
from soel.session import SessionOptions
from soel.session.alarms import read_kept
from soel.session.create import create_session
from soel.session.refit import is_due, refit
from soel.session.watch import prove, watch
from soel.types import Booleans

A_DAY, MISTAKES, FIRST_LABELS, WEEK = 5, 0.05, 20, 7


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks watch", description=__doc__)
    parser.add_argument("tables", nargs="+", type=Path, help="files with X and y (.npz)")
    parser.add_argument("--nights", type=int, default=90)
    parser.add_argument("--rows", type=int, default=5_000, help="a night")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/watch.json"))
    arguments = parser.parse_args(words)
    results = []
    for path in arguments.tables:
        for has_events, answers in ((True, True), (True, False), (False, True)):
            pool, truth, quarter = load(path, arguments.nights, arguments.rows, arguments.seed, has_events)
            with tempfile.TemporaryDirectory() as folder:
                results.append(run(Path(folder), pool, truth, quarter, answers))
            print(describe(results[-1]), flush=True)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(results, indent=1))
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
            (item,) = session.ask(1).items
            session.tell({item: _word(truth[int(item[2:])], rng)})
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
                if is_due(session.state):
                    refit(session)
                proven = prove(session)
                if proven is not None and proven.precision is not None:
                    found = [each["hits"] / each["alarms"] for each in nights[-29:] if each["alarms"]]
                    n_hits = sum(each["hits"] for each in nights[-29:]) + int((alarms & odd).sum())
                    n_alarms = sum(each["alarms"] for each in nights[-29:]) + int(alarms.sum())
                    held.append(bool(found) and n_hits / max(n_alarms, 1) in proven.precision)
            forest = _by_forest(frame, int(alarms.sum()), quarter.seed)
            nights.append(
                {
                    "verdict": watched.verdict,
                    "alarms": int(alarms.sum()),
                    "hits": int((alarms & odd).sum()),
                    "anomalies": int(odd.sum()),
                    "new": int(is_new.sum()),
                    "new_hits": int((alarms & is_new).sum()),
                    "forest_hits": int((forest & odd).sum()),
                }
            )
        n_models = len(session.state.fits)
    return {
        "table": quarter.name,
        "events": quarter.has_events,
        "answers": answers,
        "models": n_models,
        "interval_held": float(np.mean(held)) if held else None,
        "nights": nights,
    }


def describe(result: dict[str, Any]) -> str:
    """A run in words: by week, then the events."""
    nights = result["nights"]
    said = "with answers" if result["answers"] else "without answers"
    lines = [f"{result['table']}, {'events' if result['events'] else 'quiet'}, {said}, {result['models']} models"]
    for first in range(0, len(nights), WEEK):
        week = nights[first : first + WEEK]
        sums = {name: sum(night[name] for night in week) for name in ("alarms", "hits", "anomalies", "forest_hits")}
        shares = [sums["hits"] / max(sums["alarms"], 1), sums["hits"] / max(sums["anomalies"], 1)]
        shares += [sums["forest_hits"] / max(sums["alarms"], 1), sums["forest_hits"] / max(sums["anomalies"], 1)]
        texts = [f"{100 * share:5.1f}" for share in shares]
        lines.append(
            f"  week {first // WEEK + 1:2}: precision, recall {texts[0]} {texts[1]}; forest {texts[2]} {texts[3]}"
        )
    stale = [number for number, night in enumerate(nights, start=1) if night["verdict"] == "stale"]
    if result["events"]:
        for name, start in (("slow drift", DRIFT_FROM), ("broken sensor", BROKEN_ON), ("new kind", NEW_FROM)):
            noticed = next((number for number in stale if number >= start), None)
            lines.append(f"  {name} from night {start}: stale on night {noticed}")
        n_new = sum(night["new"] for night in nights)
        if n_new:
            lines.append(
                f"  of the new kind {100 * sum(night['new_hits'] for night in nights) / n_new:.1f} % were alarms"
            )
    else:
        lines.append(f"  quiet nights called stale: {len(stale)} of {len(nights)}")
    if result["interval_held"] is not None:
        lines.append(f"  the interval of the precision held on {100 * result['interval_held']:.0f} % of the nights")
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
