"""Laws that every kind of column keeps, and the kind for IPv4 addresses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import soel
from soel.errors import SchemaError
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, read_frame
from soel.tables.kinds import KINDS
from soel.tables.kinds.kind import ColumnKind
from soel.tables.schema import Schema, describe_features, describe_kind

SOURCE = Path(soel.__file__).parent
LANGUAGES = sorted((SOURCE / "languages").glob("*.json"))
TABLE = {
    "address": [f"10.{row % 3}.0.{row % 40}" for row in range(120)],
    "flag": ["yes", "no", "no"] * 40,
    "time": pd.date_range("2024-01-01", periods=120, freq="7h").astype(str).tolist(),
    "duration": [f"{row % 9}:{row % 7:02d}:00" for row in range(120)],
    "number": [f"{row * 7 % 11},5 €" for row in range(120)],
    "id": [f"u-{row}" for row in range(120)],
    "text": [f"a note of some words about {row}" for row in range(120)],
    "category": ["red", "green", "blue"] * 40,
    "constant": ["x"] * 120,
    "ignored": [None] * 120,
}


def pool() -> Frame:
    return read_frame(pd.DataFrame(TABLE))


def by_name(kind: ColumnKind) -> str:
    return kind.name


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_every_kind_is_recognised_parsed_described_and_stored(kind: ColumnKind) -> None:
    frame = pool()
    assert frame.schema is not None
    column = frame.schema[kind.name]
    assert (column.kind, column.doubt) == (kind.name, "")
    assert describe_kind(column).startswith(kind.name)
    assert describe_features(column)
    stored = Schema.from_json(json.loads(json.dumps(frame.schema.to_json())))
    assert stored == frame.schema
    again = read_frame(pd.DataFrame(TABLE), schema=stored)
    if kind.is_kept:
        np.testing.assert_array_equal(again.columns[kind.name], frame.columns[kind.name])


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_every_kind_has_its_words(path: Path) -> None:
    words = json.loads(path.read_text(encoding="utf-8"))
    missing = [
        key for kind in KINDS for key in (f"columns.kind_{kind.name}", f"reading.n_{kind.name}") if key not in words
    ]
    assert not missing


def test_codes_of_all_kinds_come_back_from_files_and_count_new_rows() -> None:
    frame = pool()
    encoder = Encoder.fit(frame, "standard").with_baseline(frame)
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(frame), encoder.encode(frame))
    tally = again.tally(frame)
    assert tally is not None
    assert {name: counts.n_rows for name, counts in tally.items()} == dict.fromkeys(encoder.column_names, 120)


def test_nothing_but_the_kinds_branches_on_the_name_of_one() -> None:
    names = "|".join(kind.name for kind in KINDS if kind.name != "id")
    branch = re.compile(rf"\.kind (?:==|!=|in|not in) [(\[{{]?\"(?:{names})\"")
    found = [path for path in SOURCE.rglob("*.py") if branch.search(path.read_text(encoding="utf-8"))]
    assert [path.relative_to(SOURCE).as_posix() for path in found if "kinds" not in path.parts] == []


def test_networks_of_addresses_are_categories() -> None:
    encoder = Encoder.fit(read_frame(pd.DataFrame({"a": TABLE["address"], "z": range(120)})), "standard")
    assert encoder.feature_names[:3] == ("a /16 = 10.0", "a /16 = 10.1", "a /16 = 10.2")
    new = read_frame(pd.DataFrame({"a": ["10.1.0.7", "192.168.100.101", None], "z": [1, 2, 3]}), schema=encoder.how)
    assert encoder.encode(new)[:, :3].tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_new_rows_that_hold_no_addresses_are_refused() -> None:
    schema = read_frame(pd.DataFrame({"a": TABLE["address"], "z": range(120)})).schema
    with pytest.raises(SchemaError, match=r"'a' held IPv4 addresses in the pool and holds values such as '10\.1' now"):
        read_frame(pd.DataFrame({"a": ["10.1"], "z": [1]}), schema=schema)


def test_addresses_that_each_have_a_network_of_their_own_are_ids() -> None:
    addresses = [f"{1 + row}.{row * 7 % 250}.{row * 13 % 250}.9" for row in range(100)]
    schema = read_frame(pd.DataFrame({"a": addresses, "z": range(100)})).schema
    assert schema is not None
    assert schema["a"].kind == "id"
