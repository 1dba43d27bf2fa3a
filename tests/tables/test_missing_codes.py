"""Codes for missing values: found where they stand out, kept with the reading, and never made of ordinary numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from soel import SOEL
from soel.errors import DataWarning
from soel.tables.batches import open_stream
from soel.tables.column import Column
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, read_frame
from soel.tables.look import look_at
from soel.tables.missing import CODES, blank_codes, find_codes
from soel.tables.open import read_table
from soel.tables.read_options import ReadOptions
from soel.tables.schema import Schema, options_for, warnings_of

N = 200
CODED = np.arange(N) % 25 == 3  # 8 cells


def ordinary(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(12, 2, N).round(3)


def coded(code: float = -999.0) -> np.ndarray:
    return np.where(CODED, code, ordinary())


def schema_of(frame: Frame, name: str = "a") -> Column:
    assert frame.schema is not None
    return frame.schema[name]


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_found_where_it_is_far_from_all_others(code: float) -> None:
    values = np.where(CODED, code, ordinary() / 10)
    assert find_codes(values) == (code,)
    as_float32 = values.astype(np.float32).astype(np.float64)
    assert np.isnan(blank_codes(as_float32, find_codes(as_float32))).sum() == CODED.sum()


def test_several_codes_are_found_together_on_either_side() -> None:
    values = ordinary()
    values[:4], values[4:8], values[8:12] = -99, -999, 9999
    assert find_codes(values) == (-999, -99, 9999)


RNG = np.random.default_rng(7)
ORDINARY = {
    "counts up to 999": np.append(RNG.integers(0, 1000, 500), [999] * 5),
    "percentages with 99": np.append(RNG.integers(0, 101, 500), [99] * 9),
    "few percent and 99": np.append(RNG.integers(0, 40, 500), [99] * 9),
    "ages with 99": np.append(RNG.integers(18, 90, 500), [99] * 4),
    "temperatures with -9": np.append(RNG.normal(6, 6, 500).round(), [-9] * 6),
    "frosts with -9": np.append(RNG.integers(-3, 3, 500), [-9] * 6),
    "heavy tail": np.append(np.round(RNG.pareto(1, 2000)), [999, 999]),
    "capped incomes": np.append(np.round(RNG.uniform(0, 40000, 2000)), [99999] * 10),
    "gains with a cap": np.append(np.where(RNG.random(2000) < 0.9, 0, RNG.integers(100, 27828, 2000)), [99999] * 9),
    "mostly zero with -9": np.append(np.where(RNG.random(900) < 0.95, 0, RNG.integers(0, 100, 900)), [-9] * 4),
    "9999 once": np.append(RNG.normal(0, 1, 500), [9999]),
    "too few of many": np.append(RNG.normal(0, 1, 5000), [-999] * 3),
    "constant": np.full(500, 999.0),
    "constant beside a code": np.append(np.zeros(500), [999] * 9),
    "all codes": np.tile([-9.0, -99.0, 99.0], 100),
    "few others": np.array([1.0, 2, 3, 4, 5, -999, -999]),
    "another number": np.append(RNG.normal(0, 1, 500), [-998] * 9),
    "nothing": np.full(30, np.nan),
    "no rows": np.zeros(0),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_stay_values(name: str) -> None:
    assert find_codes(np.asarray(ORDINARY[name], np.float64)) == ()


def test_heavy_tails_of_whole_numbers_hardly_ever_make_a_code() -> None:
    rng = np.random.default_rng(0)
    draws: list[Any] = [
        *(rng.pareto(shape, 300) for shape in np.tile([0.5, 1.0, 1.5, 3.0], 250)),
        *(rng.lognormal(0, width, 300) for width in np.tile([0.5, 1.0, 2.0, 3.0], 250)),
        *(rng.standard_t(freedom, 300) for freedom in np.tile([1.0, 2.0, 3.0, 5.0], 250)),
    ]
    assert sum(bool(find_codes(np.round(each))) for each in draws) == 0


values_and_order = st.tuples(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([*CODES[:8], np.nan]), max_size=60), st.randoms()
)


@settings(max_examples=80, deadline=None)
@given(values_and_order)
def test_the_order_of_rows_does_not_matter_and_what_is_left_holds_no_code(drawn: tuple[list[float], Any]) -> None:
    values, random = drawn
    found = find_codes(np.array(values, np.float64))
    shuffled = random.sample(values, len(values))
    assert find_codes(np.array(shuffled, np.float64)) == found
    assert find_codes(blank_codes(np.array(values, np.float64), found)) == ()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(CODES), st.floats(0.1, 4), st.integers(0, 99))
def test_a_column_with_codes_is_that_column_with_gaps(code: float, width: float, seed: int) -> None:
    plain = 5 + width * np.random.default_rng(seed).random(N)
    with_codes, with_gaps = (
        read_frame(pd.DataFrame({"a": np.where(CODED, gap, plain), "z": plain})) for gap in (code, np.nan)
    )
    np.testing.assert_array_equal(with_codes.columns["a"], with_gaps.columns["a"])
    one, other = (Encoder.fit(frame, "standard") for frame in (with_codes, with_gaps))
    assert one.columns == other.columns
    np.testing.assert_array_equal(one.encode(with_codes), other.encode(with_gaps))


def sources(folder: Path, values: np.ndarray) -> dict[str, Any]:
    """The same column in every kind of source."""
    table = pd.DataFrame({"a": values, "z": ordinary(1)})
    table.to_csv(folder / "a.csv", index=False)
    table.to_csv(folder / "german.csv", index=False, sep=";", decimal=",")
    pq.write_table(pa.table({"a": values, "z": ordinary(1)}), folder / "a.parquet")
    np.save(folder / "a.npy", table.to_numpy())
    files = {name: read_table(folder / name).frame for name in ("a.csv", "german.csv", "a.parquet", "a.npy")}
    streams = {name: open_stream(folder / name) for name in ("a.csv", "a.parquet", "a.npy")}
    parts = {f"parts of {name}": next(stream.blocks(stream.parts[0])).frame for name, stream in streams.items()}
    return files | parts | {"pandas": read_frame(table), "array": read_frame(table.to_numpy())}


def test_the_rule_holds_for_every_kind_of_source(tmp_path: Path) -> None:
    for name, frame in sources(tmp_path, coded()).items():
        column = next(iter(frame.columns))
        np.testing.assert_array_equal(np.isnan(frame.columns[column]), CODED, err_msg=name)
        assert schema_of(frame, column).form.missing == (-999,), name


def test_it_is_said_and_the_option_keeps_the_values(tmp_path: Path) -> None:
    pd.DataFrame({"a": coded(), "z": ordinary(1)}).to_csv(tmp_path / "a.csv", index=False)
    found = look_at(tmp_path / "a.csv")
    assert found["a"].seen.n_missing == CODED.sum()
    said = "8 cells are -999, far from all others: taken for missing; <<numeric>> keeps them as values"
    assert warnings_of(found) == [f"Column 'a' is read as number, -999 for missing: {said}."]
    assert "numeric" in options_for(found["a"])
    kept = read_table(tmp_path / "a.csv", options=ReadOptions(numeric=("a",))).frame
    np.testing.assert_array_equal(kept.columns["a"], coded())
    assert schema_of(kept).is_sure
    german = pd.DataFrame({"a": [f"{x:.3f}".replace(".", ",") for x in coded()]})
    np.testing.assert_array_equal(read_frame(german, ReadOptions(numeric=("a",), decimal=",")).columns["a"], coded())
    assert schema_of(read_frame(pd.DataFrame({"a": coded()}), ReadOptions(categorical=("a",)))).kind == "category"


def test_a_doubt_that_offers_an_option_stays_the_question() -> None:
    cells = ["-999" if code else f"1,{100 + row}" for row, code in enumerate(CODED)]
    found = schema_of(read_frame(pd.DataFrame({"a": cells})))
    assert found.form.missing == (-999,)
    assert "<<decimal>>" in found.doubt
    assert found.seen.oddities[0].startswith("8 cells are -999")


@pytest.mark.parametrize("named", [True, False])
def test_new_rows_are_read_by_the_codes_of_the_pool(named: bool) -> None:
    pool = np.column_stack([coded(), ordinary(1)])
    table: Any = pd.DataFrame(pool, columns=["a", "z"]) if named else pool
    frame = read_frame(table)
    assert frame.schema is not None
    stored = Schema.from_json(json.loads(json.dumps(frame.schema.to_json())))
    assert stored == frame.schema
    new = np.array([[-999.0, 5.0], [-99.0, -999.0], [12.0, 13.0]])
    rows = read_frame(pd.DataFrame(new, columns=["a", "z"]) if named else new, schema=stored)
    np.testing.assert_array_equal(np.column_stack(list(rows.columns.values())), [[np.nan, 5], [-99, -999], [12, 13]])


def test_a_column_without_codes_takes_all_numbers() -> None:
    table = Schema((Column("a", "number"),))
    np.testing.assert_array_equal(read_frame(coded()[:, None], schema=table).columns["x0"], coded())


def test_cells_are_shown_as_they_are_written(tmp_path: Path) -> None:
    pd.DataFrame({"a": coded(), "z": ordinary(1)}).to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", with_cells=True)
    assert table.cells["a"].tolist() == [int(x) if x.is_integer() else x for x in coded().tolist()]


def test_the_estimator_warns_and_scores_codes_as_gaps(tmp_path: Path) -> None:
    with_codes, with_gaps = (
        np.column_stack([np.where(CODED, gap, ordinary()), ordinary(1), np.ones(N)]) for gap in (-999, np.nan)
    )
    with pytest.warns(DataWarning, match="8 cells are -999, far from all others"):
        one = SOEL(random_state=0).fit(with_codes)
    other = SOEL(random_state=0).fit(with_gaps)
    np.testing.assert_array_equal(one.anomaly_score(with_codes), other.anomaly_score(with_gaps))
    one.save(tmp_path / "model")
    again = SOEL.load(tmp_path / "model")
    np.testing.assert_array_equal(again.anomaly_score(with_codes[:9]), one.anomaly_score(with_codes[:9]))
