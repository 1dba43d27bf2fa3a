"""The script that counts the files that a call walks through, and its ceilings."""

from __future__ import annotations

import pytest
from scripts import crossings


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    return crossings.measure()[0]


@pytest.mark.parametrize("name", crossings.CEILINGS)
def test_every_figure_is_at_most_its_ceiling(measured: dict[str, int], name: str) -> None:
    assert 0 < measured[name] <= crossings.CEILINGS[name]
