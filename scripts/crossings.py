"""Count the files that a call walks through: `query` and `fit`, one answer on the page, `score --data`, `report`.

Run by `python -m scripts.crossings`. A file counts where one of its functions is called; imports are over by then.
Counted too: how often an answer reads the state of its session, and `score --data` the encoder of its model.
`CEILINGS` is what the tests hold the tree to.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import soel

PACKAGE = f"{Path(soel.__file__).parent}{os.sep}"
CEILINGS = {
    "files of query + fit": 43,
    "files of one answer on the page": 19,
    "files of score --data": 67,
    "files of report": 78,
    "reads of the state in an answer": 11,
    "parses of the encoder in score --data": 1,
}
READ_STATE, PARSE_ENCODER = "session/labelling.py:Labelling.state", "tables/encoder.py:Encoder.from_json"
Calls = Counter[str]  # how often each function was called, by its file and name


@contextmanager
def record() -> Iterator[Calls]:
    """The functions of the package that are called during the block, by any thread that it starts."""
    calls = Calls()

    def look(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            calls[f"{name.removeprefix(PACKAGE)}:{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def cross_estimator() -> Calls:
    """`query` and `fit` on a table of numbers."""
    x = np.random.default_rng(0).normal(size=(100, 5))
    _ask_and_fit(x)  # imports
    with record() as calls:
        _ask_and_fit(x)
    return calls


def _ask_and_fit(x: np.ndarray) -> None:
    detector, y = soel.SOEL(random_state=0), np.full(len(x), -1)
    rows = detector.query(x, 5)
    y[rows] = np.arange(5) % 2
    detector.fit(x, y)


def cross_page() -> Calls:
    """One answer on the page, through the server."""
    from tests.web.conftest import page_with_results

    with tempfile.TemporaryDirectory() as scratch, page_with_results(Path(scratch)) as page:
        item = page.get("/api/status")["mine"][-1]
        page.post("/api/answers", item=item, verdict="normal")
        with record() as calls:
            page.post("/api/answers", item=item, verdict="anomaly")
    return calls


def cross_score() -> Calls:
    """`soel score --data` on a small CSV file."""
    with _fitted_session() as (folder, new):
        return _cross_command("score", folder, "--data", new, "--out", folder.with_suffix(".csv"))


def cross_report() -> Calls:
    """`soel report` of a session on a table."""
    with _fitted_session() as (folder, _):
        return _cross_command("report", folder, "--out", folder.with_suffix(".html"))


@contextmanager
def _fitted_session() -> Iterator[tuple[Path, Path]]:
    """The folder of a session that has learnt from six labels, and a CSV file of other rows."""
    from soel.session import SessionOptions, as_answers
    from soel.session.create import create_session

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name, n in (("pool", 120), ("new", 30)):
            rows = (f"{name}{row},{a:.3f},{b:.3f}" for row, (a, b) in enumerate(rng.normal(size=(n, 2))))
            (place / f"{name}.csv").write_text("\n".join(["key,a,b", *rows]), encoding="utf-8")
        session = create_session(place / "session", place / "pool.csv", SessionOptions(id_column="key"))
        answers = {item: "anomaly" if at < 2 else "normal" for at, item in enumerate(session.ask(6).items)}
        session.tell(as_answers(answers), "expert")
        session.fit()
        session.close()
        yield place / "session", place / "new.csv"


def _cross_command(*words: object) -> Calls:
    from soel.cli.main import main as run

    for _ in range(2):  # the first time imports
        with record() as calls, redirect_stdout(io.StringIO()):
            if run([str(word) for word in words]):
                raise RuntimeError(f"soel {words[0]} failed")
    return calls


def files_of(calls: Calls) -> list[str]:
    """The files that were crossed."""
    return sorted({name.partition(":")[0] for name in calls})


def measure() -> tuple[dict[str, int], dict[str, list[str]]]:
    """Every figure of `CEILINGS`, and the files behind it."""
    calls = {
        "query + fit": cross_estimator(),
        "one answer on the page": cross_page(),
        "score --data": cross_score(),
        "report": cross_report(),
    }
    files = {f"files of {name}": files_of(made) for name, made in calls.items()}
    counts = {
        "reads of the state in an answer": calls["one answer on the page"][READ_STATE],
        "parses of the encoder in score --data": calls["score --data"][PARSE_ENCODER],
    }
    return {name: len(crossed) for name, crossed in files.items()} | counts, files


def main() -> int:
    """Print each figure beside its ceiling, and which files are crossed."""
    figures, files = measure()
    for name, value in figures.items():
        sys.stdout.write(f"{name:40} {value:4} of at most {CEILINGS[name]:4}  {', '.join(files.get(name, []))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
