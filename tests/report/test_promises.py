"""What is said without a check."""

from __future__ import annotations

from soel.assess.conformal import FitFigures
from soel.report.quality_words import rough_lines


def test_without_a_check_no_number_of_real_alarms_is_said() -> None:
    (line,) = rough_lines(FitFigures(n_alarms=100, n_unsure=3))
    assert line.startswith("Not sure: 3 items")
    assert "real" not in line
