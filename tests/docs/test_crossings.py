"""The script that counts the files that a call walks through, and its ceilings."""

from __future__ import annotations

import threading

import pytest
from scripts import crossings

from soel.assess.threshold import parse_threshold
from soel.types import Kind


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    return crossings.measure()[0]


@pytest.mark.parametrize("name", crossings.CEILINGS)
def test_every_figure_is_at_most_its_ceiling(measured: dict[str, int], name: str) -> None:
    assert 0 < measured[name] <= crossings.CEILINGS[name]


def test_files_of_calls_are_counted_in_every_thread() -> None:
    with crossings.record() as calls:
        parse_threshold("share=0.1")
        thread = threading.Thread(target=Kind.read, args=("table",))
        thread.start()
        thread.join()
    assert crossings.files_of(calls) == ["assess/threshold.py", "types.py"]
    assert calls["types.py:Kind.read"] == 1
    parse_threshold("share=0.1")
    with crossings.record() as later:
        pass
    assert not later
