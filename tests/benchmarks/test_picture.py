"""The picture of the benchmarks."""

from __future__ import annotations

from benchmarks.default_speed import FLOORS
from benchmarks.picture import WORDS, draw


def test_the_speed_of_the_default_is_in_the_picture() -> None:
    assert set(FLOORS) <= set(WORDS)
    figures = {"default_speed": dict.fromkeys(FLOORS, 1.5)}
    drawn = draw(figures, {"default_speed": FLOORS}).decode()
    assert "<svg" in drawn
    assert drawn.count("1.50 (") == len(FLOORS)
