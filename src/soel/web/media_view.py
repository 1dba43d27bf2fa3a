"""Pictures and frames of clips: the picture, the seconds around it, and what looks like it among the labelled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from soel.session.media import SessionMaps, SessionMedia
from soel.tables.columns import Values
from soel.text import ENGLISH, Texts
from soel.web.ports import Card, Frame, Kind, Picture

SIZES = (256, 512, 1024, 2048)  # few, so that the kept thumbnails stay few
N_NEIGHBOURS, SECONDS, MOST_FRAMES = 6, 2.0, 7


class MediaView:
    """Cards from a session's pictures. maps: where in them something is unusual, for a session that looks at places."""

    def __init__(self, media: SessionMedia, maps: SessionMaps | None = None) -> None:
        self._media, self._maps = media, maps

    def kind(self, item: str) -> Kind:
        """Image or video, the same for all items."""
        return self._kind

    def title(self, item: str) -> str:
        """The name of its file, or its clip and time."""
        return self._names[item]

    def card(
        self, item: str, labels: Mapping[str, int], search: str = "", most: int = 30, texts: Texts = ENGLISH
    ) -> Card:
        """The picture's name, and the labelled pictures that look most like it."""
        others = [other for other in labels if other != item]
        near = tuple(self._media.nearest(item, others, N_NEIGHBOURS)) if others else ()
        return Card(item, self._kind, self.title(item), neighbours=near, has_map=self.has_map(item))

    def columns(self) -> Mapping[str, Values]:
        """Pictures have no columns."""
        return {}

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
        """Width and height in pixels."""
        height, width = self._media.picture(item).shape[:2]
        return int(width), int(height)

    def frames(self, item: str) -> tuple[Frame, ...]:
        """The frames around this one that are items, thinned to a few but never without the frame itself."""
        around = self._media.items_around(item, SECONDS)
        step = max(1, -(-len(around) // MOST_FRAMES))
        middle = next((at for at, (_, other) in enumerate(around) if other == item), 0)
        return tuple(Frame(other, round(seconds, 3)) for seconds, other in around[middle % step :: step])

    @cached_property
    def _kind(self) -> Literal["image", "video"]:
        return "video" if self._media.kind == "video" else "image"

    @cached_property
    def _names(self) -> dict[str, str]:
        return {item.id: item.name for item in self._media.items}
