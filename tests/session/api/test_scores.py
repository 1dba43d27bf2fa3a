"""Scores of new rows beside what was said of the session's own."""

from __future__ import annotations

from pathlib import Path

from soel.session.score_file import score_file
from soel.tables.rows import read_rows, write_rows
from tests.table_session import Make


def test_an_answer_belongs_to_the_row_that_was_seen_not_to_its_id(make: Make, tmp_path: Path) -> None:
    """Ids of another night may start again."""
    session, told = make("session"), {"=n1": "anomaly", "=n2": "normal"}
    session.tell(told, "ann")
    session.fit()
    rows, other = read_rows(tmp_path / "table.csv"), tmp_path / "other.csv"
    number = next(name for name in rows[0] if name not in ("name", "truth"))
    write_rows(other, list(rows[0]), [[*{**row, number: str(float(row[number]) + 1)}.values()] for row in rows])
    for data, labels in ((tmp_path / "table.csv", told), (other, {})):
        score_file(session, data, tmp_path / "scores.csv")
        found = {row["name"]: row["label"] for row in read_rows(tmp_path / "scores.csv") if row["label"]}
        assert found == labels
