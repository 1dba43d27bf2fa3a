"""Places in a picture that people point at: what they drew, its form in the store, and which patches it covers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from soel.errors import LabelError
from soel.images.grids import Grid
from soel.records import BESIDE, read_body
from soel.types import Booleans, Floats

Shape = Literal["point", "box", "brush", "polygon"]
MOST_REGIONS, MOST_POINTS = 200, 5000  # of a mark, and of all its regions together
LARGEST_SIDE = 1_000_000  # pixels
_N_CORNERS: Mapping[str, tuple[int, float]] = {"point": (1, 1), "box": (2, 2), "brush": (1, math.inf)}


@dataclass(frozen=True)
class Region:
    """One thing that was drawn. points: x and y as shares of the picture's width and height, each in [0, 1].

    A point has one, a box two opposite corners, a brush the path it took, a polygon its corners. radius: of a brush, as
    a share of the picture's shorter side.
    """

    shape: Shape
    points: tuple[tuple[float, float], ...]
    radius: float = 0.0

    def __post_init__(self) -> None:
        fewest, most = _N_CORNERS.get(self.shape, (3, math.inf))
        if not fewest <= len(self.points) <= most:
            raise LabelError(f"A {self.shape} of {len(self.points)} points cannot be read; nothing was stored.")
        if not all(0 <= value <= 1 for point in (*self.points, (self.radius,)) for value in point):
            raise LabelError("What is drawn lies within the picture, in shares from 0 to 1; nothing was stored.")

    def outline(self, width: int, height: int) -> Floats:
        """The corners (n, 2) of what it covers, x and y in pixels: of a brush, around its path."""
        corners = np.array(self.points) * [width, height]
        if self.shape == "box":
            (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
            return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
        return _around(corners, self.radius * min(width, height)) if self.shape == "brush" else corners

    def covers(self, grid: Grid, width: int, height: int) -> Booleans:
        """Which places (P,) of a picture of this size it touches."""
        middles, (wide, tall) = grid.middles(height, width), grid.size(height, width)
        corners = np.array(self.points) * [width, height]
        if self.shape in ("point", "box"):
            low = np.minimum(corners.min(axis=0), np.nextafter([width, height], 0))  # the very rim is in the last place
            high = corners.max(axis=0)
            half = np.array([wide, tall]) / 2
            return np.asarray(((middles + half > low) & (middles - half <= high)).all(axis=1))
        reach = self.radius * min(width, height) + min(wide, tall) / 2
        path = corners if self.shape == "brush" else np.vstack([corners, corners[:1]])
        near = _distances(middles, path) <= reach
        return near if self.shape == "brush" else near | _inside(middles, corners)


@dataclass(frozen=True)
class Mark:
    """All that an annotator drew on an item. width, height: of the picture in pixels. number, at: of its event."""

    who: str = field(metadata=BESIDE)
    regions: tuple[Region, ...]
    width: int
    height: int
    number: int = field(default=0, metadata=BESIDE)
    at: str = field(default="", metadata=BESIDE)

    def __post_init__(self) -> None:
        if not (0 < self.width <= LARGEST_SIDE and 0 < self.height <= LARGEST_SIDE):
            raise LabelError(
                f"A mark is on a picture of some pixels, got {self.width} x {self.height}; nothing was stored."
            )
        n_regions, n_points = len(self.regions), sum(len(region.points) for region in self.regions)
        if n_regions > MOST_REGIONS or n_points > MOST_POINTS:
            raise LabelError(
                f"A mark has {n_regions} regions of {n_points} points; at most {MOST_REGIONS} and {MOST_POINTS} are "
                "kept. Draw fewer, or a box around them."
            )

    def covers(self, grid: Grid) -> Booleans:
        """Which places (P,) it touches."""
        found = np.zeros(grid.down * grid.across, bool)
        for region in self.regions:
            found |= region.covers(grid, self.width, self.height)
        return found


def read_mark(who: str, body: object, number: int = 0, at: str = "") -> Mark:
    """A mark from plain JSON; refused where it is none."""
    try:
        return read_body(Mark, body, who=who, number=number, at=at)
    except LabelError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise LabelError(f"A mark cannot be read ({error}); nothing was stored.") from error


def marked_places(marks: Mapping[int, Sequence[Mark]], n_items: int, grid: Grid) -> Booleans | None:
    """Which places (N, P) people point at. marks: by row. None where there are none."""
    if not marks:
        return None
    found = np.zeros((n_items, grid.down * grid.across), bool)
    for row, own in marks.items():
        for mark in own:
            found[row] |= mark.covers(grid)
    return found


def _distances(points: Floats, path: Floats) -> Floats:
    """The distance (n,) of points (n, 2) from the nearest segment of a path (m, 2)."""
    starts, ends = (path[:-1], path[1:]) if len(path) > 1 else (path, path)
    nearest = np.full(len(points), np.inf)
    for start, end in zip(starts, ends, strict=True):
        arm = end - start
        along = np.clip((points - start) @ arm / max(float(arm @ arm), 1e-12), 0, 1)
        nearest = np.minimum(nearest, np.linalg.norm(points - start - along[:, None] * arm, axis=1))
    return nearest


def _inside(points: Floats, corners: Floats) -> Booleans:
    """Which points (n, 2) lie within a polygon: a ray to the right crosses its sides an odd number of times."""
    found = np.zeros(len(points), bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (y1 > points[:, 1]) != (y2 > points[:, 1])
        found ^= crosses & (points[:, 0] < x1 + (points[:, 1] - y1) * (x2 - x1) / (y2 - y1 if y2 != y1 else 1.0))
    return found


def _around(path: Floats, radius: float) -> Floats:
    """Corners (n, 2) around a path: along one side, round its end, and back along the other."""
    if len(path) == 1 or np.allclose(path, path[0]):
        turns = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        return np.asarray(path[0] + radius * np.stack([np.cos(turns), np.sin(turns)], axis=1))
    arms = np.gradient(path, axis=0)
    lengths = np.linalg.norm(arms, axis=1, keepdims=True)
    arms = arms / np.where(lengths > 0, lengths, 1)
    aside = radius * np.stack([-arms[:, 1], arms[:, 0]], axis=1)
    ends = path[-1] + radius * arms[-1], path[0] - radius * arms[0]
    return np.vstack([path + aside, ends[0], (path - aside)[::-1], ends[1]])
