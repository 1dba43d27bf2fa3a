"""A session repeated from its data: first the features from the table, then everything that was computed."""

from __future__ import annotations

from soel.session import Session, SessionFolder
from soel.session.items import compare_items
from soel.session.replay import Step, replay
from soel.types import Progress


def replay_session(session: Session, progress: Progress | None = None) -> tuple[Step, ...]:
    """Every step that was repeated, with what came out differently.

    Pictures may lie elsewhere by now: of them the list is compared, and their stored features are taken as they are.
    """
    place = session.folder
    pools = [place.part(number) for number in range(1, len(place.pools) + 1)]
    data = [Step(pool.pools[-1].since, _name_data(pool), compare_items(pool)) for pool in pools]
    return (*data, *replay(session, progress))


def _name_data(place: SessionFolder) -> str:
    name = "list of pictures" if place.has_pictures else "data"
    return name if len(place.pools) == 1 else f"{name} of pool {len(place.pools)}"
