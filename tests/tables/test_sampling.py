"""A sample of a stream: uniform, repeatable, the same however the stream is cut, and read back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soel.tables import batches
from soel.tables.batches import draw_rows, open_stream, write_sample
from soel.tables.open import read_table

N_ROWS = 900


def write(path: Path, row_group_size: int) -> Path:
    rng = np.random.default_rng(1)
    codes = [str(row % 3) if row % 7 else None for row in range(N_ROWS)]
    columns = {
        "row": rng.normal(size=N_ROWS),
        "code": pa.array(codes).dictionary_encode(),
        "n": np.arange(N_ROWS),
        "truth": ["anomaly" if row % 50 == 0 else "normal" for row in range(N_ROWS)],
    }
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return path


def test_all_rows_where_there_are_few() -> None:
    assert draw_rows(5, 10, 0).tolist() == [0, 1, 2, 3, 4]


def test_rows_are_distinct_and_in_order_and_follow_the_seed() -> None:
    rows = draw_rows(10_000, 700, 3)
    assert len(rows) == 700
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == draw_rows(10_000, 700, 3).tolist()
    assert rows.tolist() != draw_rows(10_000, 700, 4).tolist()


def test_every_row_is_as_likely() -> None:
    counts = np.zeros(200)
    for seed in range(2000):
        counts[draw_rows(200, 50, seed)] += 1
    # 2000 draws with a chance of 1/4: a standard deviation of 19.4
    assert abs(counts - 500).max() < 5 * 19.4
    assert 15 < counts.std() < 24


@pytest.mark.parametrize("size", [1, 64, 1 << 20])
def test_it_does_not_depend_on_how_many_are_looked_at_at_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_rows(3000, 100, 7)
    monkeypatch.setattr(batches, "_KEYS_AT_ONCE", size)
    assert draw_rows(3000, 100, 7).tolist() == whole.tolist()


@pytest.mark.parametrize("row_group_size", [10, 333, 900])
def test_the_sample_is_read_back_as_it_was(tmp_path: Path, row_group_size: int) -> None:
    stream = open_stream(write(tmp_path / "t.parquet", row_group_size), exclude=["truth"])
    told: list[tuple[int, int]] = []
    id_column = write_sample(stream, draw_rows(N_ROWS, 90, 0), tmp_path / "s.parquet", lambda *now: told.append(now))
    assert id_column == "row number"  # the stream has a column 'row' of its own
    whole = read_table(tmp_path / "t.parquet", None, ["truth"])
    sample = read_table(tmp_path / "s.parquet", id_column, ["truth"])
    rows = draw_rows(N_ROWS, 90, 0)
    assert sample.ids.tolist() == [str(row) for row in rows]
    assert sample.frame.columns["code"].tolist() == whole.frame.columns["code"][rows].tolist()
    assert sample.frame.columns["row"].tolist() == whole.frame.columns["row"][rows].tolist()
    assert sample.excluded["truth"].tolist() == whole.excluded["truth"][rows].tolist()
    assert told[-1] == (N_ROWS, N_ROWS)


def test_the_stream_s_own_ids_are_kept(tmp_path: Path) -> None:
    stream = open_stream(write(tmp_path / "t.parquet", 50), id_column="n", exclude=["truth"])
    assert write_sample(stream, np.array([3, 700]), tmp_path / "s.parquet") == "n"
    assert read_table(tmp_path / "s.parquet", "n", ["truth"]).ids.tolist() == ["3", "700"]
