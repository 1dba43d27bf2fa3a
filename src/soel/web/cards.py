"""What the page shows of an item: a card of a row of a table, or of a picture, in the pool that holds now."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from soel.numeric import spread_rows
from soel.report.view import ItemKind, Picture, Strip
from soel.session.pictures import SessionMaps, SessionMedia
from soel.tables.column import Column, Values
from soel.tables.frame import Frame
from soel.tables.kinds import kind_of
from soel.text import ENGLISH, Texts
from soel.types import ANOMALY, Rows
from soel.web.measure import Measure, measure

N_SHOWN = 30  # values that a card holds when nothing else is asked for


@dataclass(frozen=True)
class Field:
    """One value of a row. stands_out: whether to look here first. words: how it compares, in plain words.

    changed: whether it is among what would have to change. others: what the items beside it have.
    """

    name: str
    value: str
    words: str
    stands_out: bool
    strip: Strip | None = None
    changed: bool = False
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """Which values of a row are shown. search: only those whose names hold this text. most: no more than this.

    changed: columns that come first. beside: other items, whose values are shown too.
    """

    search: str = ""
    most: int = N_SHOWN
    changed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


USUAL = Look()


@dataclass(frozen=True)
class ClipFrame:
    """A picture near this one in time. seconds: before (negative) or after it."""

    item: str
    seconds: float


@dataclass(frozen=True)
class Card:
    """One item, ready to be shown. neighbours: items already labelled that look most like it.

    n_fields: how many values there are in all, where the card holds only the first of them.
    """

    item: str
    kind: ItemKind
    title: str
    fields: tuple[Field, ...] = ()
    n_standing_out: int = 0
    neighbours: tuple[str, ...] = ()
    n_fields: int = 0
    has_map: bool = False


class ItemView:
    """Shows items by id. An id that the session does not know never reaches it.

    What follows `card` is of items without columns and without pictures.
    """

    def kind(self, item: str) -> ItemKind:
        raise NotImplementedError

    def title(self, item: str) -> str:
        raise NotImplementedError

    def card(self, item: str, labels: Mapping[str, int], look: Look = USUAL, texts: Texts = ENGLISH) -> Card:
        """The item as a card, seen beside what is labelled so far (1 anomaly, 0 normal)."""
        raise NotImplementedError

    def columns(self) -> Mapping[str, Values]:
        """The values of all items by column, in the order of the items; empty for pictures."""
        return {}

    def image(self, item: str, size: int, with_map: bool = False) -> Picture | None:
        """Its picture with no side longer than `size`; None where it has none.

        with_map: unusual places are drawn over it; None where they are not known.
        """
        return None

    def has_map(self, item: str) -> bool:
        """Whether unusual places of its picture are known."""
        return False

    def picture_size(self, item: str) -> tuple[int, int] | None:
        """The width and height of its picture in pixels; None where it has none."""
        return None

    def frames(self, item: str) -> tuple[ClipFrame, ...]:
        """The pictures around it in time, in order; empty where there are none."""
        return ()


N_REFERENCE = 4000  # rows that say what is usual; more would only be slower
STANDS_OUT = 2.5  # in units of the usual spread, at the least
FALSE_ALARMS = 0.125  # values of a usual row that may stand out by chance, over all its columns together
MOST_KEPT = 4  # views of what is usual: users may know of different anomalies


@dataclass(frozen=True)
class _Usual:
    """What is usual in a column. cut: the distance from which a value stands out."""

    measure: Measure
    cut: float


class TableView(ItemView):
    """Cards from a frame that is read when the first card is asked for.

    named: whether the ids are names that people gave; else a row is called by its number, as in files of scores.
    """

    def __init__(self, ids: Sequence[str], read: Callable[[], Frame], named: bool = True) -> None:
        self._ids, self._read, self._reading, self._named = ids, read, threading.Lock(), named
        self._kept: OrderedDict[frozenset[str], Mapping[str, _Usual]] = OrderedDict()

    def kind(self, item: str) -> ItemKind:
        return "table"

    def title(self, item: str) -> str:
        """A row is called by its id, by the name that a column gives it, or by its number."""
        row = None if self._named else self._row_of.get(item)  # one that was removed has no number any more
        if row is None:
            return item
        return f"#{row + 1}" if self._names is None else self._names[row]

    def card(self, item: str, labels: Mapping[str, int], look: Look = USUAL, texts: Texts = ENGLISH) -> Card:
        """The row's values, the most unusual first; among the usual ones the table's own order holds.

        A value stands out when it is farther from usual than chance makes one in eight rows show in any of its columns.

        Known anomalies are no measure of what is usual.
        """
        row, columns = self._row_of[item], self._shown
        usual = self._usual(frozenset(other for other, label in labels.items() if label == ANOMALY))
        far = {name: d for name, c in columns.items() if (d := usual[name].measure.distance(c[row])) >= usual[name].cut}
        ordered = (*(name for name in look.changed if name in columns), *sorted(far, key=lambda name: -far[name]))
        wanted = look.search.strip().casefold()
        names = [name for name in dict.fromkeys((*ordered, *columns)) if wanted in name.casefold()]
        shown = names[: look.most]
        rows = [row, *(self._row_of[other] for other in look.beside)]
        fields = tuple(
            _field(usual[name].measure, name, columns[name][rows], name in far, name in look.changed, texts)
            for name in shown
        )
        return Card(item, "table", self.title(item), fields, sum(name in far for name in shown), n_fields=len(names))

    def columns(self) -> Mapping[str, Values]:
        return self._frame.columns

    @cached_property
    def _names(self) -> list[str] | None:
        called = self._frame.row_names
        return None if called is None else called[1]

    @property
    def _frame(self) -> Frame:
        with self._reading:  # one thread reads, the others wait for it
            return self._held

    @cached_property
    def _held(self) -> Frame:
        return self._read()

    @cached_property
    def _shown(self) -> Mapping[str, Values]:
        """The columns as a card shows them: yes and no in the words of the file."""
        known = self._columns
        return {
            name: kind_of(known[name]).show(known[name], values) if name in known else values
            for name, values in self._frame.columns.items()
        }

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        schema = self._frame.schema
        return {} if schema is None else schema.by_name

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self._ids)}

    @cached_property
    def _reference(self) -> Rows:
        return spread_rows(self._frame.n_rows, N_REFERENCE)

    def _usual(self, anomalies: frozenset[str]) -> Mapping[str, _Usual]:
        """What is usual beside these anomalies; a few are kept, because users may know of different ones."""
        held = self._kept.get(anomalies)
        if held is None:
            known = [self._row_of[item] for item in anomalies if item in self._row_of]
            rows = np.setdiff1d(self._reference, known)
            columns, rows = self._shown, rows if len(rows) else self._reference
            units = {name: each.form.unit for name, each in self._columns.items()}
            held = {name: _usual_of(each[rows], len(columns), units.get(name, "")) for name, each in columns.items()}
            self._kept[anomalies] = held
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return held


def _usual_of(column: Values, n_columns: int, unit: str) -> _Usual:
    usual = measure(column, unit)
    return _Usual(usual, max(STANDS_OUT, usual.reach(FALSE_ALARMS / n_columns)))


def _field(usual: Measure, name: str, values: Values, stands_out: bool, changed: bool, t: Texts) -> Field:
    """values: the row's own, and those of the items beside it."""
    value, *others = values
    strip = usual.strip(value, t, *others[:1])
    said = tuple(usual.text(other, t) for other in others)
    return Field(name, usual.text(value, t), usual.words(value, stands_out, t), stands_out, strip, changed, said)


SIZES = (256, 512, 1024, 2048)  # few, so that the kept thumbnails stay few
N_NEIGHBOURS, SECONDS, MOST_FRAMES = 6, 2.0, 7


class MediaView(ItemView):
    """Cards from a session's pictures. maps: where in them something is unusual, for a session that looks at places."""

    def __init__(self, media: SessionMedia, maps: SessionMaps | None = None) -> None:
        self._media, self._maps = media, maps

    def kind(self, item: str) -> ItemKind:
        """Image or video, the same for all items."""
        return self._kind

    def title(self, item: str) -> str:
        """The name of its file, or its clip and time."""
        return self._names[item]

    def card(self, item: str, labels: Mapping[str, int], look: Look = USUAL, texts: Texts = ENGLISH) -> Card:
        """The picture's name, and the labelled pictures that look most like it."""
        others = [other for other in labels if other != item]
        near = tuple(self._media.nearest(item, others, N_NEIGHBOURS)) if others else ()
        return Card(item, self._kind, self.title(item), neighbours=near, has_map=self.has_map(item))

    def image(self, item: str, size: int, with_map: bool = False) -> Picture | None:
        """The picture as JPEG, in the next of a few sizes; with its map as PNG, made anew each time."""
        wanted = next(side for side in SIZES if side >= size or side == SIZES[-1])
        if with_map:
            values = None if self._maps is None else self._maps.of(item)
            return None if values is None else Picture(self._media.mapped(item, wanted, values), "image/png")
        return Picture(self._media.thumbnail(item, wanted), "image/jpeg")

    def has_map(self, item: str) -> bool:
        """Whether the session looks at places, and has a model that does."""
        return self._maps is not None and self._maps.has_any

    def picture_size(self, item: str) -> tuple[int, int] | None:
        height, width = self._media.picture(item).shape[:2]
        return int(width), int(height)

    def frames(self, item: str) -> tuple[ClipFrame, ...]:
        """The frames around this one that are items, thinned to a few but never without the frame itself."""
        around = self._media.items_around(item, SECONDS)
        step = max(1, -(-len(around) // MOST_FRAMES))
        middle = next((at for at, (_, other) in enumerate(around) if other == item), 0)
        return tuple(ClipFrame(other, round(seconds, 3)) for seconds, other in around[middle % step :: step])

    @cached_property
    def _kind(self) -> Literal["image", "video"]:
        return "video" if self._media.kind == "video" else "image"

    @cached_property
    def _names(self) -> dict[str, str]:
        return {item.id: item.name for item in self._media.items}
