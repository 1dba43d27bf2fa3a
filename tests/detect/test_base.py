"""What every detector has without writing it: defaults, options and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soel.detect.detector import NOTHING, Detector, Options
from soel.errors import ConfigError
from soel.types import Floats, Labels


@dataclass(frozen=True)
class Height(Detector):
    """Scores a row by its first value above the pool's mean."""

    name = "height"

    mean: Floats

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Height:
        return cls(pool.mean(axis=0))

    def score(self, x: Floats) -> Floats:
        return np.asarray(x[:, 0] - self.mean[0])

    def space(self, x: Floats) -> Floats:
        return x


@dataclass(frozen=True)
class Sizes(Options):
    rows: int = 5
    share: float = 0.5


X = np.array([[1.0, 9.0], [2.0, 9.0], [6.0, 9.0]])


@pytest.fixture
def fitted() -> Height:
    return Height.fit(X, np.full(3, -1, np.int8), 0)


def test_what_a_detector_does_not_tell_apart_is_its_score(fitted: Height) -> None:
    wanted = [-2.0, -1.0, 3.0]
    for scores in (fitted.query_score(X), fitted.rough_score(X), fitted.score_changed(X, X + 1)):
        assert scores.tolist() == wanted


def test_it_does_not_leave_rows_out(fitted: Height) -> None:
    assert not fitted.leaves_out
    assert fitted.version == 1


def test_arrays_are_its_fields_in_single_precision_and_bring_it_back(fitted: Height) -> None:
    arrays = fitted.arrays()
    assert {name: (array.dtype, array.tolist()) for name, array in arrays.items()} == {
        "mean": (np.dtype(np.float32), [3.0, 9.0])
    }
    assert Height.from_arrays(arrays).score(X).tolist() == fitted.score(X).tolist()
    with pytest.raises(KeyError, match="mean"):
        Height.from_arrays({})


def test_options_are_read_by_name_over_their_defaults() -> None:
    assert Sizes.read({}) == Sizes(5, 0.5)
    assert Sizes.read({"share": 0.1}) == Sizes(5, 0.1)
    assert Options.read(NOTHING) == Options()


def test_unknown_options_are_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no option 'a', 'b'\. It takes: rows, share\."):
        Sizes.read({"b": 1, "rows": 2, "a": 3})
    with pytest.raises(ConfigError, match=r"no option 'rows'\. It takes none\."):
        Options.read({"rows": 2})


def test_nothing_cannot_be_given_something() -> None:
    with pytest.raises(TypeError):
        NOTHING["rows"] = 1  # type: ignore[index]
