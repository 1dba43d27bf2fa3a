"""What all kits share: a law is a function that raises AssertionError, with a message, where a part breaks it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from soel.types import UNLABELLED, PoolView

Part = TypeVar("Part")
Law = Callable[[Part], None]


def require(holds: object, message: str) -> None:
    """Raise an AssertionError with this message unless it holds; unlike `assert`, also under `python -O`."""
    if not holds:
        raise AssertionError(message)


def laws_of(module: str, but: Callable[[Any], None]) -> tuple[Law[Any], ...]:
    """The laws of a kit in the order of its module: its functions `check_...`. but: the one that checks them all."""
    parts = vars(sys.modules[module]).items()
    return tuple(
        part for name, part in parts if name.startswith("check_") and part.__module__ == module and part is not but
    )


def check_all(laws: Sequence[Law[Part]], part: Part) -> None:
    """Hold a part against every law; one AssertionError names all those that it breaks."""
    broken = []
    for law in laws:
        try:
            law(part)
        except Exception as error:
            broken.append(f"{law.__name__}: {type(error).__name__}: {error}")
    require(not broken, f"{len(broken)} of {len(laws)} laws are broken:\n" + "\n".join(broken))


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


@contextmanager
def leaving_alone(what: str, **arrays: np.ndarray) -> Iterator[None]:
    """Require that the block changes none of these arrays."""
    before = {name: array.copy() for name, array in arrays.items()}
    yield
    for name, array in arrays.items():
        require(np.array_equal(array, before[name], equal_nan=True), f"{what} changed the {name} it was given.")


def equal(first: Any, second: Any) -> bool:
    """Whether two results are the same to the bit: arrays, dataclasses of arrays, or plain values."""
    if first is None or second is None:
        return first is second
    if hasattr(first, "__dataclass_fields__"):
        return type(first) is type(second) and all(
            equal(getattr(first, name), getattr(second, name)) for name in first.__dataclass_fields__
        )
    return bool(np.array_equal(first, second))


def example_view(n_rows: int = 60, seed: int = 0, n_labelled: int = 0, contamination: float | None = 0.1) -> PoolView:
    """A pool of normally distributed rows whose score is their length; the first rows are labelled 1, 0, 1, 0, ..."""
    x = np.random.default_rng(seed).normal(size=(n_rows, 4)).astype(np.float32)
    labels = np.full(n_rows, UNLABELLED, np.int8)
    labels[:n_labelled] = 1 - np.arange(n_labelled) % 2
    return PoolView(np.linalg.norm(x, axis=1), x, labels, contamination)
