"""What the page needs to know of an item: a port, with one implementation per kind of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from soel.tables.columns import Values
from soel.text import ENGLISH, Texts

Kind = Literal["table", "image", "video"]


@dataclass(frozen=True)
class Strip:
    """Where a value sits among the normal rows. bars: heights in [0, 1]. mark: the value's place in [0, 1]."""

    bars: tuple[float, ...]
    mark: float | None
    low: str
    high: str


@dataclass(frozen=True)
class Field:
    """One value of a row. stands_out: whether to look here first. words: how it compares, in plain words."""

    name: str
    value: str
    words: str
    stands_out: bool
    strip: Strip | None = None


@dataclass(frozen=True)
class Frame:
    """A picture near this one in time. seconds: before (negative) or after it."""

    item: str
    seconds: float


@dataclass(frozen=True)
class Card:
    """One item, ready to be shown. neighbours: items already labelled that look most like it.

    n_fields: how many values there are in all, where the card holds only the first of them.
    """

    item: str
    kind: Kind
    title: str
    fields: tuple[Field, ...] = ()
    n_standing_out: int = 0
    neighbours: tuple[str, ...] = ()
    n_fields: int = 0
    has_map: bool = False


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture and their media type, always a raster format."""

    content: bytes
    media_type: str


class ItemView(Protocol):
    """Shows items by id. An id that the session does not know never reaches it."""

    def kind(self, item: str) -> Kind:
        """What the item is."""

    def title(self, item: str) -> str:
        """What people call it."""

    def card(
        self, item: str, labels: Mapping[str, int], search: str = "", most: int = 30, texts: Texts = ENGLISH
    ) -> Card:
        """The item as a card, seen beside what is labelled so far (1 anomaly, 0 normal).

        search: only values whose names hold this text. most: no more values than this.
        """

    def columns(self) -> Mapping[str, Values]:
        """The values of all items by column, in the order of the items; empty for pictures."""

    def image(self, item: str, size: int, with_map: bool = False) -> Picture | None:
        """Its picture with no side longer than `size`; None where it has none.

        with_map: unusual places are drawn over it; None where they are not known.
        """

    def has_map(self, item: str) -> bool:
        """Whether unusual places of its picture are known."""

    def picture_size(self, item: str) -> tuple[int, int] | None:
        """The width and height of its picture in pixels; None where it has none."""

    def frames(self, item: str) -> tuple[Frame, ...]:
        """The pictures around it in time, in order; empty where there are none."""
