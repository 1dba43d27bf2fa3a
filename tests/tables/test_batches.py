from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from soel.tables.batches import ahead


def test_items_come_in_order() -> None:
    assert list(ahead(range(50))) == list(range(50))


def test_it_runs_ahead_but_not_away() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    coming = ahead(items(), depth=2)
    assert next(coming) == 0
    while len(made) < 4:  # one in hand, two ready, one waiting to be put
        threading.Event().wait(0.01)
    threading.Event().wait(0.15)
    assert len(made) == 4
    coming.close()  # type: ignore[attr-defined]
    assert threading.active_count() == 1 or not any(t.name.endswith("(_fill)") for t in threading.enumerate())


def test_what_goes_wrong_is_raised_after_what_went_well() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("the second one")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="the second one"):
        next(coming)
