"""Events in clips: what belongs together, where the peak is, and what is no event."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from soel.scoring.score_table import find_intervals, name_intervals, write_intervals
from soel.tables.rows import read_rows
from soel.types import Interval

CLIPS = ["a"] * 20 + ["b"] * 20
SECONDS = [0.5 * number for number in range(20)] * 2


def found(*alarmed: int, peak: int = -1) -> tuple[Interval, ...]:
    alarms, scores = np.zeros(40, bool), np.linspace(0, 1, 40)
    alarms[list(alarmed)] = True
    if peak >= 0:
        scores[peak] = 5
    return find_intervals(CLIPS, SECONDS, scores, alarms)


def test_alarms_that_follow_one_another_are_one_event() -> None:
    (event,) = found(4, 5, 6, 8, peak=5)
    assert event == Interval("a", 2.0, 4.0, 2.5, 5.0, 4)


def test_a_longer_gap_or_another_clip_begins_a_new_event() -> None:
    assert [(each.clip, each.start, each.end) for each in found(4, 5, 8, 19, 20)] == [
        ("b", 0.0, 0.0),
        ("a", 9.5, 9.5),
        ("a", 4.0, 4.0),
        ("a", 2.0, 2.5),
    ]


def test_frames_that_are_far_apart_may_still_follow_one_another() -> None:
    events = find_intervals(["a"] * 4, [0, 10, 20, 90], np.arange(4.0), np.ones(4, bool))
    assert [(each.start, each.end) for each in events] == [(90, 90), (0, 20)]


def test_the_order_of_the_frames_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(40)
    alarms, scores = np.arange(40) % 7 < 3, np.linspace(0, 1, 40)
    mixed = find_intervals([CLIPS[at] for at in order], [SECONDS[at] for at in order], scores[order], alarms[order])
    assert mixed == find_intervals(CLIPS, SECONDS, scores, alarms)


def test_no_alarm_is_no_event_and_pictures_have_none() -> None:
    assert found() == ()
    assert name_intervals({"file": ["a.png"], "id": ["1"]}, np.ones(1), np.ones(1, bool)) == ()
    assert len(name_intervals({"clip": CLIPS, "second": SECONDS}, np.ones(40), np.ones(40, bool))) == 2


def test_events_are_written_beside_the_scores(tmp_path: Path) -> None:
    path = write_intervals(tmp_path / "scores.csv", found(4, 5, 6, peak=5))
    assert path.name == "scores.intervals.csv"
    assert read_rows(path) == [
        {"clip": "a", "start": "2.0", "end": "3.0", "peak": "2.5", "score": "5.0", "n_alarms": "3"}
    ]
