"""How kits are tested: each law has a part that breaks it, and must say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from soel.testing.laws import Law


def cases(laws: Sequence[Law[Any]], broken: Mapping[Law[Any], Any]) -> list[Any]:
    """A case for each law, with the part that breaks it; a law without one is a mistake in the test."""
    assert set(broken) == set(laws), "each law needs a part that breaks it, and only laws do"
    return [pytest.param(law, broken[law], id=law.__name__) for law in laws]
