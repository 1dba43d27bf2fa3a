"""Every estimator in the registry keeps the kit's laws. A new one joins by its registry entry."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.assess import ESTIMATORS
from soel.testing import CONTAMINATION_LAWS
from soel.testing.laws import Law
from soel.testing.learning_laws import example_evidence

NAMES = [name for name in ESTIMATORS if name != "fixed"]  # which listens to no answer


@pytest.mark.parametrize("law", CONTAMINATION_LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str, law: Law[Any]) -> None:
    law(partial(ESTIMATORS.create, name))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(n_labels=st.integers(1, 60), kind=st.sampled_from([None, 0, 1]), seed=st.integers(0, 3))
def test_any_number_of_labels_gives_a_share(name: str, n_labels: int, kind: int | None, seed: int) -> None:
    found = ESTIMATORS.create(name).estimate([example_evidence(60, n_labels, seed, kind)])
    assert 0 <= found.low <= found.high <= 1
    assert found.low - 1e-9 <= min(found.value, 1) <= found.high + 1e-9
    if kind == 0:
        assert found.value <= 0.25  # nothing was found


@pytest.mark.parametrize(("name", "most"), [("cover", 0.06), ("kriging", 0.06)])
def test_those_that_look_at_distances_count_separated_clusters_closely(name: str, most: float) -> None:
    # kde counts low even here: each queried score lies under its own kernel, so q is too large in the tails
    values = [ESTIMATORS.create(name).estimate([example_evidence(500, 40, seed)]).value for seed in range(5)]
    assert abs(np.mean(values) - 0.2) < most
