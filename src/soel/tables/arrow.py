"""Arrow, imported when something of it is first used: commands that read no table start without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Lazy:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa, pc, pq, pa_csv = map(_Lazy, ("pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.csv"))
