"""Alarms answered in the file that `score` wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.cli.sheet import tell_sheet
from soel.session import Session, score_file
from soel.session.labels import _read_rows, import_labels
from soel.tables.rows import write_table
from tests.cli.conftest import write_table as write_pool
from tests.table_session import Make

SUFFIXES = ("csv", "xlsx", "json")


@pytest.fixture
def fitted(make: Make) -> Session:
    session = make(budget=6)
    session.tell(dict.fromkeys(session.ask(4).items, "normal"), "ann")
    session.fit()
    return session


def answer(path: Path, said: dict[str, str]) -> Path:
    """Fill in the labels of some items."""
    rows = _read_rows(path)
    assert rows is not None
    for row in rows:
        row["label"] = said.get(row["name"], row["label"])
    write_table(path, list(rows[0]), [list(row.values()) for row in rows])
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("verb", ["tell", "import"])
def test_a_file_of_scores_is_taken_as_it_is(fitted: Session, tmp_path: Path, suffix: str, verb: str) -> None:
    more = write_pool(tmp_path / "more.csv", 60)
    out = tmp_path / f"scores.{suffix}"
    score_file.score_file(fitted, more, out)
    told = next(iter(fitted.state.labels))
    fresh = next(item for item in ("=n1", "=n2", "=n3", "=n4", "=n5") if item not in fitted.state.labels)
    answer(out, {"=n50": "anomaly", fresh: "anomaly", told: "a"})
    n_left = fitted.state.n_left
    store = import_labels if verb == "import" else tell_sheet
    stored = store(fitted, out, "bob")
    assert (stored.n_stored, stored.n_repeated, stored.unknown) == (2, 3, ("=n50",))
    assert fitted.state.labels[fresh] == 1
    assert fitted.state.answers[told].verdict == "disagreement", "bob says otherwise than ann"
    assert fitted.state.n_left == n_left, "what was not asked leaves the budget as it is"
    assert store(fitted, out, "bob").n_stored == 0


def test_answers_to_open_questions_use_the_budget(make: Make, tmp_path: Path) -> None:
    session = make(budget=6)
    asked = session.ask(2).items
    other = next(item for item in session.ids if item not in asked)
    (tmp_path / "x.csv").write_text(f"item_id,label\n{asked[0]},normal\n{other},normal\n")
    import_labels(session, tmp_path / "x.csv")
    assert (session.state.budget, session.state.n_left) == (7, 5)
