"""Additive contributions of a few parts: Shapley values over all their coalitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import factorial

Coalition = frozenset[int]


def coalitions(parts: Sequence[int]) -> Iterator[Coalition]:
    """All 2^k subsets of k parts, the smaller ones first."""
    return (frozenset(some) for size in range(len(parts) + 1) for some in combinations(parts, size))


def shapley_values(parts: Sequence[int], value: Callable[[Coalition], float]) -> tuple[float, ...]:
    """phi_i = sum over S without i of |S|! (k - |S| - 1)! / k! (v(S + i) - v(S)), of each of k parts.

    They sum to v(all) - v(none). value: of each of the 2^k coalitions.
    """
    k = len(parts)
    return tuple(
        sum(
            factorial(len(some)) * factorial(k - len(some) - 1) / factorial(k) * (value(some | {part}) - value(some))
            for some in coalitions([other for other in parts if other != part])
        )
        for part in parts
    )
