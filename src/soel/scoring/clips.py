"""Alarms of clips as events: from when to when, and where the peak is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from soel.tables.rows import write_rows
from soel.types import Floats, Interval

LONGEST_GAP = 1.0  # seconds without an alarm within one event; or two frames, where these are farther apart


def find_intervals(
    clips: Sequence[str], seconds: Sequence[float], scores: Floats, alarms: np.ndarray
) -> tuple[Interval, ...]:
    """Alarms (n,) of frames that follow one another closely, as one event each; the highest peak first."""
    order = sorted(range(len(clips)), key=lambda row: (clips[row], seconds[row]))
    gap = max(LONGEST_GAP, 2 * _usual_step(clips, seconds, order)) + 1e-9
    groups: list[list[int]] = []
    for row in (row for row in order if alarms[row]):
        last = groups[-1][-1] if groups else None
        if last is not None and clips[last] == clips[row] and seconds[row] - seconds[last] <= gap:
            groups[-1].append(row)
        else:
            groups.append([row])
    found = [_interval(clips, seconds, scores, group) for group in groups]
    return tuple(sorted(found, key=lambda each: -each.score))


def name_intervals(names: Mapping[str, Sequence[Any]], scores: Floats, alarms: np.ndarray) -> tuple[Interval, ...]:
    """The events of scored items by the columns that name them; none where these are no frames of clips."""
    if "clip" not in names or "second" not in names or any(second is None for second in names["second"]):
        return ()
    return find_intervals([clip or "" for clip in names["clip"]], names["second"], scores, alarms)


def write_intervals(out: Path, intervals: Sequence[Interval]) -> Path:
    """Write events beside a file of scores, as NAME.intervals.csv."""
    return write_interval_file(out.with_name(f"{out.stem}.intervals.csv"), intervals)


def write_interval_file(path: Path, intervals: Sequence[Interval]) -> Path:
    """Write events into a file of their own."""
    columns = ["clip", "start", "end", "peak", "score", "n_alarms"]
    write_rows(path, columns, [[asdict(each)[name] for name in columns] for each in intervals])
    return path


def _usual_step(clips: Sequence[str], seconds: Sequence[float], order: Sequence[int]) -> float:
    """The median time between two frames of a clip that follow one another."""
    steps = [seconds[after] - seconds[before] for before, after in pairwise(order) if clips[before] == clips[after]]
    return float(np.median(steps)) if steps else 0.0


def _interval(clips: Sequence[str], seconds: Sequence[float], scores: Floats, group: Sequence[int]) -> Interval:
    peak = max(group, key=lambda row: float(scores[row]))
    start, end = float(seconds[group[0]]), float(seconds[group[-1]])
    return Interval(clips[peak], start, end, float(seconds[peak]), float(scores[peak]), len(group))
