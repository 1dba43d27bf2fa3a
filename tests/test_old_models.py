"""A model of every released format loads for ever, with the scores it had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from soel import SOEL

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("name", sorted(p.name for p in FIXTURES.iterdir() if p.is_dir()))
def test_an_old_model_still_scores(name: str) -> None:
    expected = json.loads((FIXTURES / f"{name}-scores.json").read_text(encoding="utf-8"))
    detector, rows = SOEL.load(FIXTURES / name), np.array(expected["rows"])
    np.testing.assert_allclose(detector.anomaly_score(rows), expected["scores"], atol=1e-4)
    assert (detector.predict(rows) == -1).tolist() == expected["alarms"]
