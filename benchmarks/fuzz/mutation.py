"""How files are spoilt: bytes by a seed, and what hypothesis makes of bytes, text and JSON."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

HURTS = (
    b"\0", b"\xff\xfe", b'"', b"\n", b",,,,", b"1e999", b"NaN", b"\x1b[2J", b"9" * 400, b"\xe2\x80\xae", b"=1+1",
)  # fmt: skip
ODD_TEXT = ("", " ", "nan", "NULL", "1e999", "-0", "=1+1", "\x1b[2J", "\u202e", "ß" * 300, "9" * 400, "../../x", "\x00")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32")


def mutate(content: bytes, seed: int) -> bytes:
    """Bytes flipped, cut out, doubled, cut off, or replaced by what is known to hurt."""
    rng = np.random.default_rng(seed)
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, max(len(changed), 1)))
        size = int(rng.integers(1, 30))
        way = int(rng.integers(0, 5))
        if way == 0 and changed:
            changed[at] = int(rng.integers(0, 256))
        elif way == 1:
            del changed[at : at + size]
        elif way == 2:
            changed[at:at] = changed[at : at + size] * int(rng.integers(1, 20))
        elif way == 3:
            changed = changed[:at] if rng.random() < 0.3 else changed
        else:
            changed[at : at + int(rng.integers(0, 4))] = HURTS[int(rng.integers(0, len(HURTS)))]
    return bytes(changed)


def edited(content: bytes) -> st.SearchStrategy[bytes]:
    """The content with a few stretches replaced, most often by numbers of other sizes."""
    sizes = st.sampled_from([0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1])
    number = st.builds(
        lambda value, width, order: (value % 256**width).to_bytes(width, order),
        sizes,
        st.sampled_from([1, 2, 4, 8]),
        st.sampled_from(["big", "little"]),
    )
    place = st.one_of(st.integers(0, len(content)), st.integers(0, min(len(content), 200)))
    edit = st.tuples(place, st.integers(0, 12), number | st.binary(max_size=20))

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        changed = bytearray(content)
        for at, cut, new in edits:
            changed[at : at + (cut or len(new))] = new
        return bytes(changed)

    return st.lists(edit, min_size=1, max_size=4).map(apply)


def odd_text() -> st.SearchStrategy[str]:
    """Text as nobody expects it."""
    return st.one_of(
        st.sampled_from(ODD_TEXT),
        st.text(max_size=20),
        st.integers().map(str),
        st.floats().map(repr),
        st.datetimes().map(str),
    )


def odd_json() -> st.SearchStrategy[Any]:
    """Any JSON value, with numbers that JSON should not have."""
    plain = st.none() | st.booleans() | st.integers() | st.floats() | odd_text() | st.just(10**30)
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(odd_text(), inner, max_size=4), max_leaves=6
    )


def edited_json(document: Any) -> st.SearchStrategy[Any]:
    """A JSON document with one to three values, at any depth, replaced, removed or named otherwise."""
    edit = st.tuples(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.sampled_from(["set", "drop", "name"]))

    def apply(given: tuple[list[tuple[list[int], str]], list[Any]]) -> Any:
        changed = copy.deepcopy(document)
        for (way, how), value in zip(*given, strict=False):
            changed = _edit(changed, way, how, value)
        return changed

    values = st.lists(odd_json(), min_size=3, max_size=3)
    return st.tuples(st.lists(edit, min_size=1, max_size=3), values).map(apply)


def _edit(document: Any, way: list[int], how: str, value: Any) -> Any:
    """Go down by the numbers of `way`, then change what is there."""
    if not isinstance(document, dict | list) or not document:
        return value
    keys: list[Any] = list(document) if isinstance(document, dict) else list(range(len(document)))
    key = keys[way[0] % len(keys)]
    if len(way) > 1 and isinstance(document[key], dict | list) and document[key]:
        document[key] = _edit(document[key], way[1:], how, value)
    elif how == "set":
        document[key] = value
    elif how == "drop":
        del document[key]
    elif isinstance(document, dict):
        document[str(value)[:40]] = document.pop(key)
    return document
