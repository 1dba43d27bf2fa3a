"""The items that messy files are made of, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

N_ROWS, N_ODD = 600, 36
Write = Callable[[float], str]


@dataclass(frozen=True)
class Messy:
    """A file and its truth. clean: numbers (N, d) as a person would make them. truth: which rows are anomalies.

    kinds: how its special columns have to be read.
    """

    path: Path
    clean: np.ndarray
    truth: np.ndarray
    kinds: Mapping[str, str]


@dataclass(frozen=True)
class Items:
    """What is to be written. numbers (N, 4): amount, share, weight, count. night: hours of the day."""

    numbers: np.ndarray
    truth: np.ndarray
    hours: np.ndarray
    lengths: np.ndarray
    rng: np.random.Generator


def make_items(seed: int = 0, by: str = "numbers") -> Items:
    """Items whose anomalies show in the numbers, and half of them in the hour or the length of a note as well."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(N_ROWS, bool)
    truth[rng.choice(N_ROWS, N_ODD, replace=False)] = True
    hidden = rng.normal(size=(N_ROWS, 2))
    mixed = hidden @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(N_ROWS, 4))
    strength = 1.3 if by == "numbers" else 0.7
    mixed[truth] += strength * rng.choice([-1.0, 1.0], (N_ODD, 4))
    amount = np.exp(5 + 0.8 * mixed[:, 0]).round(2)
    share = (100 / (1 + np.exp(-mixed[:, 1]))).round(1)
    weight = (70 + 9 * mixed[:, 2]).round(2)
    count = np.round(9000 * np.exp(0.5 * mixed[:, 3]))
    hours = np.where(truth, rng.normal(3, 1, N_ROWS) % 24, rng.normal(14, 2, N_ROWS) % 24)
    lengths = np.where(truth, rng.integers(12, 20, N_ROWS), rng.integers(4, 9, N_ROWS))
    return Items(np.column_stack([amount, share, weight, count]), truth, hours, lengths, rng)


def core(items: Items, writers: Mapping[str, Write] | None = None) -> dict[str, list[str]]:
    """The four numbers as text; every one in its style."""
    usual: dict[str, Write] = {"amount": plain(2), "share": plain(1), "weight": plain(2), "count": plain(0)}
    chosen = usual | dict(writers or {})
    return {name: [chosen[name](x) for x in items.numbers[:, at]] for at, name in enumerate(usual)}


def plain(digits: int) -> Write:
    """Numbers as computers write them."""
    return lambda x: f"{x:.{digits}f}"


def grouped(digits: int, thousands: str, decimal: str) -> Write:
    """Numbers with thousands parted and a decimal sign."""
    table = str.maketrans({",": thousands, ".": decimal})
    return lambda x: f"{x:,.{digits}f}".translate(table)


def around(before: str, write: Write, after: str) -> Write:
    return lambda x: f"{before}{write(x)}{after}"


COMMAS = {name: grouped(digits, "", ",") for name, digits in (("amount", 2), ("share", 1), ("weight", 2), ("count", 0))}


def moments(items: Items) -> list[pd.Timestamp]:
    """The times of items, within ten days."""
    days = items.rng.integers(0, 10, N_ROWS)
    start = pd.Timestamp("2024-05-01")
    return [start + pd.Timedelta(days=int(d), seconds=int(3600 * h)) for d, h in zip(days, items.hours, strict=True)]


def circle(items: Items) -> np.ndarray:
    """Their hours as places on a circle (N, 2)."""
    turn = 2 * np.pi * np.floor(3600 * items.hours) / 86400
    return np.column_stack([np.sin(turn), np.cos(turn)])
