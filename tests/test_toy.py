"""The toy data is itself tested: a rule that knows its structure separates it, one that does not fails."""

import numpy as np

from soel.assess.metrics import auroc
from tests.conftest import make_toy


def test_the_structure_separates_the_toy() -> None:
    toy = make_toy()
    off_plane = np.abs(toy.x[:, 3:]).sum(axis=1)
    assert auroc(toy.is_anomaly, off_plane) > 0.99


def test_real_tables_are_contaminated_by_a_tenth(cancer: object, wine: object) -> None:
    for sample in (cancer, wine):
        assert abs(sample.is_anomaly.mean() - 0.1) < 0.01  # type: ignore[attr-defined]
