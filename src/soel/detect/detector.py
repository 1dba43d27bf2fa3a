"""What a detector without gradient steps is: fitted in one go from the pool and its labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from soel.errors import ConfigError
from soel.types import Booleans, Chances, Floats, Labels, Progress, Rows

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Options:
    """What a detector can be told beside the data: nothing, unless it has a subclass of its own."""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """The options by name, each a number."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            takes = f"It takes: {', '.join(known)}" if known else "It takes none"
            raise ConfigError(f"The detector has no option {', '.join(map(repr, unknown))}. {takes}.")
        return cls(**values)


class Detector(ABC):
    """Scores rows, and names the space in which they are compared. It stands alone or beside a network.

    A fitted detector is frozen. Its scores have mean 0 over the pool and a spread near 1, so that they add up with
    others. Subclasses are frozen dataclasses of arrays and floats; one with another state overrides `arrays` and
    `from_arrays`. `name`: as in the registry, written to model files. `version`: raised whenever scores change.
    `leaves_out`: whether a row of the pool is scored as if the detector had been fitted without it.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    leaves_out: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        """From encoded rows (N, d) and labels (N,) of 1, 0, -1. All chance comes from the seed.

        share: of anomalies in the pool, where it was estimated. options: the detector's own, by name.
        """

    @abstractmethod
    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d); higher is more anomalous."""

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n,) of rows (n, d) put together from others (n, s, d): as if these were not there, where it can."""
        return self.score(x)

    def score_both(self, x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        """`score` of some rows, and `score_changed` of others with their sources: at once, where that is quicker."""
        return self.score(x), self.score_changed(changed, sources)

    def score_unlabelled(self, x: Floats) -> Floats:
        """Scores (n,) of rows of its pool (n, d) as if each one's own label were not known, where it can tell."""
        return self.score(x)

    def chances(self) -> Chances | None:
        """How likely rows of its pool are anomalies, where it can tell by more than their scores."""
        return None

    def without_names(self) -> tuple[Detector, Rows]:
        """The same without what experts named beside labels, and the columns (p,) of the matrix that they named."""
        return self, np.zeros(0, np.int64)

    def query_score(self, x: Floats) -> Floats:
        """Scores (n,) by which questions are chosen; labels may count more here than in `score`."""
        return self.score(x)

    def rough_score(self, x: Floats) -> Floats:
        """Scores (n,) that are quick to have: which rows of a large pool are worth a closer look."""
        return self.score(x)

    def find_known(self, x: Floats) -> Rows:
        """Which rows (n, d) of its pool are scored already, so that `query_score` is quick for them."""
        return np.zeros(0, np.int64)

    @abstractmethod
    def space(self, x: Floats) -> Floats:
        """Rows (n, d) as the points (n, p) between which distances mean something."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as saved: without what the package carries or can compute again."""
        return type(self).from_arrays, (self.arrays(),)

    def arrays(self) -> dict[str, np.ndarray]:
        """All it has learnt, by name."""
        return {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The detector back from its arrays; those without an axis are numbers."""
        values = {field.name: np.asarray(arrays[field.name], np.float32) for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value if value.ndim else float(value) for name, value in values.items()})


class PlaceDetector(Detector):
    """A detector of patches: its rows are pictures (N, P, D), D values at each of P places, and it points at them.

    limit: (1,) how unusual no place of most unsuspected pictures is.
    """

    limit: Floats

    @abstractmethod
    def gain(self, labels: Labels) -> tuple[Rows, Floats]:
        """Rows (R,) of its pool and how far answers (N,) that came since the fit raise the score of each."""

    @classmethod
    @abstractmethod
    def fit(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        marked: Booleans | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """As any detector. marked: (N, P), the places that somebody pointed at, where there are any."""

    @abstractmethod
    def maps(self, x: Floats) -> Floats:
        """How unusual each place is: (n, P) of patches (n, P, D). A picture of its pool is measured by the others."""
