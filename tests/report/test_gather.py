"""What a report is made of: names of items."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from soel.report.facts import _name_items


def test_items_are_called_by_their_names_and_told_apart_where_two_are_called_alike() -> None:
    known = {"a1": "part.png", "b2": "part.png", "c3": "other.png"}
    media: Any = SimpleNamespace(items=[SimpleNamespace(id=item, name=name) for item, name in known.items()])
    called = {"a1": "part.png (a1)", "b2": "part.png (b2)", "c3": "other.png", "row 4": "row 4"}
    assert _name_items(["a1", "b2", "c3", "row 4"], media) == called
