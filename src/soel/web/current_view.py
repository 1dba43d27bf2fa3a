"""Items as they are shown, of the pool that holds: when data are added, what was known of the old one is let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from soel.session import Session
from soel.tables.columns import Values
from soel.text import ENGLISH, Texts
from soel.web.ports import Card, Frame, ItemView, Kind, Picture


class CurrentView:
    """The view of the present pool. make: a view of the pool that the session has when it is called."""

    def __init__(self, session: Session, make: Callable[[Session], ItemView]) -> None:
        self._session, self._make = session, make
        self._held: tuple[int, ItemView] | None = None

    @property
    def _now(self) -> ItemView:
        number = self._session.state.pool.number
        if self._held is None or self._held[0] != number:
            self._held = (number, self._make(self._session))
        return self._held[1]

    def kind(self, item: str) -> Kind:
        """What the item is."""
        return self._now.kind(item)

    def title(self, item: str) -> str:
        """What people call it."""
        return self._now.title(item)

    def card(
        self, item: str, labels: Mapping[str, int], search: str = "", most: int = 30, texts: Texts = ENGLISH
    ) -> Card:
        """The item as a card."""
        return self._now.card(item, labels, search, most, texts)

    def columns(self) -> Mapping[str, Values]:
        """The values of all items by column."""
        return self._now.columns()

    def image(self, item: str, size: int, with_map: bool = False) -> Picture | None:
        """Its picture."""
        return self._now.image(item, size, with_map)

    def has_map(self, item: str) -> bool:
        """Whether unusual places of its picture are known."""
        return self._now.has_map(item)

    def picture_size(self, item: str) -> tuple[int, int] | None:
        """Width and height of its picture in pixels."""
        return self._now.picture_size(item)

    def frames(self, item: str) -> tuple[Frame, ...]:
        """The pictures around it in time."""
        return self._now.frames(item)
