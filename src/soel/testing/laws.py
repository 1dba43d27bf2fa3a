"""What all kits share: a law is a function that raises AssertionError, with a message, where a part breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from soel.types import UNLABELLED, Floats, PoolView

Part = TypeVar("Part")
Law = Callable[[Part], None]
RELATIVE, ABSOLUTE = 1e-3, 1e-4  # libraries add up in another order for other numbers of rows


def require(holds: object, message: str) -> None:
    """Raise an AssertionError with this message unless it holds; unlike `assert`, also under `python -O`."""
    if not holds:
        raise AssertionError(message)


class Kit(list[Law[Part]]):
    """The laws of one kind of part, in order."""

    def law(self, law: Law[Part]) -> Law[Part]:
        """Add a law, as a decorator."""
        self.append(law)
        return law

    def check(self, part: Part) -> None:
        """Hold a part against every law; one AssertionError names all those that it breaks."""
        broken = []
        for law in self:
            try:
                law(part)
            except Exception as error:
                broken.append(f"{law.__name__}: {type(error).__name__}: {error}")
        require(not broken, f"{len(broken)} of {len(self)} laws are broken:\n" + "\n".join(broken))


def require_repeats(
    make: Callable[[], Any],
    compute: Callable[[Any], Any],
    given: Mapping[str, np.ndarray],
    tolerance: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Require that a part gives the same again, and a new one likewise, whatever numpy's global seed.

    given: the arrays that it is handed, which stay as they are. tolerance: relative and absolute.
    """
    part, state = make(), np.random.get_state()
    before = {name: array.copy() for name, array in given.items()}
    try:
        first = compute(part)
        for seed, again in enumerate((part, make())):
            np.random.seed(seed)
            require(equal(first, compute(again), *tolerance), "The same input gave another result the second time.")
    finally:
        np.random.set_state(state)
    for name, array in given.items():
        require(equal(array, before[name]), f"The {name} that were given are changed.")


@contextmanager
def expecting(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Require that the block raises one of these kinds of error. what: what was asked for, for the message."""
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{what} must raise {wanted}, raised {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what} must raise {wanted}; nothing was raised.")


def equal(first: Any, second: Any, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Whether two results are the same: arrays, dataclasses, tuples or plain values; to the bit without a tolerance."""
    if first is None or second is None:
        return first is second
    if hasattr(first, "__dataclass_fields__"):
        first, second = ([type(x).__name__, *vars(x).values()] for x in (first, second))
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(
            equal(*pair, relative, absolute) for pair in zip(first, second, strict=True)
        )
    if not relative or not isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second, equal_nan=isinstance(first, np.ndarray) and first.dtype.kind == "f"))
    return first.shape == second.shape and np.allclose(first, second, relative, absolute)


def require_apart(what: str, compute: Callable[[Any], Any], rows: Any) -> None:
    """Require that what is computed of a row is its own, whatever stands beside it."""
    together: Floats = np.asarray(compute(rows))
    alone = np.concatenate([np.asarray(compute(rows[:3])), np.asarray(compute(rows[3:4]))])
    gap = float(np.abs(alone - together[:4]).max())
    require(
        equal(alone, together[:4], RELATIVE, ABSOLUTE), f"The {what} of a row depends on those beside it: {gap:.3g}."
    )


def example_view(n_rows: int = 60, seed: int = 0, n_labelled: int = 0, contamination: float | None = 0.1) -> PoolView:
    """A pool of normally distributed rows whose score is their length; the first rows are labelled 1, 0, 1, 0, ..."""
    x = np.random.default_rng(seed).normal(size=(n_rows, 4)).astype(np.float32)
    labels = np.full(n_rows, UNLABELLED, np.int8)
    labels[:n_labelled] = 1 - np.arange(n_labelled) % 2
    return PoolView(np.linalg.norm(x, axis=1), x, labels, contamination)
