"""A sample of the faults that `python -m benchmarks faults` injects at every call: what was acknowledged is there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.faults.harness import FAULTS, build_shim, run, tabulate
from benchmarks.faults.judge import Known, Line, judge, read_known
from benchmarks.faults.work import work, write_table

from tests.session.fake_learner import use_fake_learner

Worked = tuple[Path, Path, list[Line]]
# in the table's copy, the database, a round's record, a model, a pool, the event that names it, an export
SAMPLE = (2, 40, 95, 150, 175, 260, 294, 330, 370)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A place where syncing takes no time, if there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def test_a_sample_of_faults_loses_nothing(scratch: Path) -> None:
    shim = build_shim(scratch)
    if shim is None:
        pytest.skip("faults are injected on Linux, with a C compiler")
    attempts = list(run(scratch, shim, SAMPLE))
    assert len(attempts) == len(SAMPLE) * len(FAULTS)
    assert attempts[0]["n_calls"] > max(SAMPLE), "the sample reaches into the whole session"
    assert [attempt for attempt in attempts if attempt["problems"] or attempt["raised"] == "raw"] == []
    table = tabulate(attempts)
    assert all(row["met"] == row["points"] == len(SAMPLE) for row in table.values()), "every fault was met"
    assert table["input/output error"]["told"] >= 4, "and most were told to somebody"


@pytest.fixture
def worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worked:
    """A session without a fault: its folder, its table and what was said of it."""
    use_fake_learner(monkeypatch)
    write_table(tmp_path / "table.csv")
    lines: list[Line] = []
    folder = tmp_path / "place" / "session"
    folder.parent.mkdir()
    work(folder, tmp_path / "table.csv", lambda *line: lines.append(line))
    return folder, tmp_path / "table.csv", lines


def test_the_judge_finds_nothing_in_a_session_without_a_fault(
    worked: Worked,
) -> None:
    folder, table, lines = worked
    assert judge(lines, folder, table, True) == []


def test_the_judge_notices_what_is_lost_or_half_written(worked: Worked) -> None:
    folder, table, lines = worked
    more = [*lines, ("try", "anomaly", "i23"), ("ok", "anomaly", "i23"), ("ok", "round", "2")]
    assert any(problem.startswith("lost: {") for problem in judge(more, folder, table, True))
    (folder / "scores.csv").write_text("id,score")
    (folder / "labels.json").write_text("[")
    (folder / "features.npy").write_bytes(b"no array")
    kinds = {problem.split(":")[0] for problem in judge(lines, folder, table, True)}
    assert {"half-written", "damaged"} <= kinds


def test_a_step_that_was_begun_may_have_happened_or_not() -> None:
    lines = [("try", "normal", "a"), ("ok", "normal", "a"), ("try", "anomaly", "a")]
    acknowledged, perhaps = read_known(lines)
    assert (acknowledged.labels, perhaps.labels) == ({"a": "normal"}, {"a": "anomaly"})
    undone = Known(told={"a": ["normal", "anomaly"]})
    undone.add("undo", "a")
    assert undone.labels == {"a": "normal"}
