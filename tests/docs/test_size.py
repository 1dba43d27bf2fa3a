"""The size and the coupling of the package stay below their ceilings."""

from __future__ import annotations

import pytest
from scripts import size


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    return size.measure()


@pytest.mark.parametrize("name", size.CEILINGS)
def test_every_figure_is_below_its_ceiling(measured: dict[str, int], name: str) -> None:
    assert measured[name] <= size.CEILINGS[name]
