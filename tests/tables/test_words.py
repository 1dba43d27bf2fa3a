"""Words of a column, counted."""

from __future__ import annotations

import pyarrow as pa

from soel.tables.kinds.kind import count_words


def test_a_column_without_a_word_has_none() -> None:
    assert count_words(pa.array(["", None])).n_cells == 0
    assert count_words(pa.array([None], pa.string())).top == ()
    assert count_words(pa.array(["a", "", "a"])).top == ("a",)
