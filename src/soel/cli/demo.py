"""The whole loop on a table that comes with scikit-learn: ten questions, a simulated expert, one report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest

from soel.assess.metrics import auroc, f1_score
from soel.errors import SessionError
from soel.files import MARK, is_marked, mark, remove_marked
from soel.oracle import SimulatedExpert
from soel.report.facts import MethodResult, gather_report
from soel.report.page import write_report
from soel.report.progress import progress_bar
from soel.session import Session, SessionOptions, create
from soel.session.item_tables import read_encoder
from soel.tables.frame import read_frame
from soel.tables.rows import write_rows
from soel.text import format_table, percent, percent_range
from soel.types import Floats

N_QUERIES, SHARE, SEED = 10, 0.1, 0
SESSION, POOL, REPORT = "session", "cells.csv", "report.html"


@dataclass(frozen=True)
class DemoTable:
    """Measurements of cells, benign (normal) and malignant (anomaly): a contaminated pool and new rows."""

    columns: list[str]
    pool: Floats
    pool_truth: np.ndarray
    new: Floats
    new_truth: np.ndarray


def run_demo_session(out: Path) -> dict[str, Any]:
    """Ask, answer, train and score in `out`; returns what there is to tell."""
    out, cells = Path(out), load_cells()
    _clear(out)
    names = [f"cell-{row:03d}" for row in range(len(cells.pool))]
    table = [[name, *map(float, row)] for name, row in zip(names, cells.pool, strict=True)]
    write_rows(out / POOL, ["id", *cells.columns], table)
    options = SessionOptions(id_column="id", seed=SEED, budget=N_QUERIES)
    session = create.create_session(out / SESSION, out / POOL, options)
    with closing(session), progress_bar("training") as progress:
        asked = session.ask(N_QUERIES)
        session.fit(progress)  # nothing told yet: what the detector is worth without an expert
        without = _result("soel, no labels", session, cells)
        expert = SimulatedExpert(dict(zip(names, cells.pool_truth.astype(int).tolist(), strict=True)))
        session.tell(expert.answer(asked.items), who="simulated expert")
        fitted = session.fit(progress)
        results = [_forest(cells), without, _result(f"soel, {N_QUERIES} labels", session, cells)]
        report = _report(session, cells, results, out / REPORT)
        answers = {item: answer.verdict for item, answer in session.state.answers.items()}
    return {
        "n_items": len(names),
        "asked": [{"item": item, "answer": answers[item]} for item in asked.items],
        "contamination": {
            "estimate": fitted.estimate.value,
            "low": fitted.estimate.low,
            "high": fitted.estimate.high,
            "true": float(cells.pool_truth.mean()),
        },
        "results": [vars(result) for result in results],
        "session": str(out / SESSION),
        "report": str(report),
    }


def load_cells() -> DemoTable:
    """Half of the benign rows with a tenth of malignant ones make the pool; all others are new rows."""
    source = load_breast_cancer()
    x, truth = np.asarray(source.data), np.asarray(source.target) == 0
    rng = np.random.default_rng(SEED)
    benign, malignant = rng.permutation(np.flatnonzero(~truth)), rng.permutation(np.flatnonzero(truth))
    half = len(benign) // 2 + 1
    n_malignant = int(SHARE / (1 - SHARE) * half)
    pool = rng.permutation(np.concatenate([benign[:half], malignant[:n_malignant]]))
    new = np.concatenate([benign[half:], malignant[n_malignant:]])
    return DemoTable([str(name) for name in source.feature_names], x[pool], truth[pool], x[new], truth[new])


def _clear(out: Path) -> None:
    """Make room for a new demo; a folder that holds anything else is left alone."""
    ours = (SESSION, POOL, REPORT, MARK)
    strangers = sorted(path.name for path in out.iterdir() if path.name not in ours) if out.exists() else []
    if strangers:
        raise SessionError(f"{out} holds other things ({', '.join(strangers[:3])}); choose another folder.")
    if out.exists() and any(out.iterdir()) and not is_marked(out):
        raise SessionError(f"{out} was not made by `soel demo`; choose another folder, or remove it yourself.")
    remove_marked(out)
    out.mkdir(parents=True, exist_ok=True)
    mark(out)


def _result(method: str, session: Session, cells: DemoTable) -> MethodResult:
    """Detection on the new rows at the session's own threshold."""
    frame = read_frame(cells.new)
    scored = session.score(read_encoder(session.folder).encode(frame), [str(i) for i in range(frame.n_rows)])
    return MethodResult(method, auroc(cells.new_truth, scored.scores), f1_score(cells.new_truth, scored.alarms))


def _forest(cells: DemoTable) -> MethodResult:
    forest = IsolationForest(random_state=SEED).fit(cells.pool)
    alarms = forest.predict(cells.new) == -1
    return MethodResult(
        "isolation forest", auroc(cells.new_truth, -forest.score_samples(cells.new)), f1_score(cells.new_truth, alarms)
    )


def _report(session: Session, cells: DemoTable, results: list[MethodResult], out: Path) -> Path:
    facts = gather_report(session)
    own = "Your own table: run `soel init my-session --data FILE.csv`, then `soel ask my-session`."
    return write_report(
        replace(
            facts,
            title="Malignant cells among benign ones",
            comparison=results,
            line=replace(facts.line, true_share=float(cells.pool_truth.mean())),
            next_steps=[own, *facts.next_steps],
        ),
        out,
    )


def describe_demo(document: Mapping[str, Any]) -> str:
    """The answers, the estimate, the comparison and how to go on."""
    share = document["contamination"]
    asked = [[n, entry["item"], entry["answer"]] for n, entry in enumerate(document["asked"], start=1)]
    results = [[row["method"], f"{row['auroc']:.3f}", f"{row['f1']:.3f}"] for row in document["results"]]
    return "\n".join(
        [
            f"{document['n_items']} cells, some of them malignant. A simulated expert was asked about {len(asked)}:",
            "",
            format_table(["", "item", "answer"], asked),
            "",
            f"Share of anomalies: {percent(share['estimate'])} estimated (80 % interval "
            f"{percent_range(share['low'], share['high'])}), {percent(share['true'])} true.",
            "",
            "On rows the detector has not seen, at its own threshold:",
            "",
            format_table(["", "AUROC", "F1"], results),
            "",
            f"Report:  {document['report']}   (open it in a browser)",
            "Now your own table:",
            "    soel init my-session --data FILE.csv",
            "    soel ask my-session        # writes a sheet of questions; fill in the column 'label'",
            "    soel tell my-session my-session/round-0001.csv",
            "    soel fit my-session && soel score my-session && soel report my-session",
        ]
    )
