"""A session repeated from its data: first the features from the table, then everything that was computed."""

from __future__ import annotations

import numpy as np

from soel.data.session_tables import read_encoder, read_items
from soel.data.tables import Table
from soel.errors import SoelError
from soel.session import Session, SessionFolder
from soel.session.folder import MEDIA
from soel.session.replay import Step, replay
from soel.types import Progress


def replay_session(session: Session, progress: Progress | None = None) -> tuple[Step, ...]:
    """Every step that was repeated, with what came out differently.

    Pictures may lie elsewhere by now: of them the list is compared, and their stored features are taken as they are.
    """
    place = session.folder
    pools = [place.part(number) for number in range(1, len(place.pools) + 1)]
    return (
        *(Step(pool.pools[-1].since, _what(pool), _compare_data(pool)) for pool in pools),
        *replay(session, progress),
    )


def _what(place: SessionFolder) -> str:
    what = "list of pictures" if (place.path / MEDIA).exists() else "data"
    return what if len(place.pools) == 1 else f"{what} of pool {len(place.pools)}"


def _compare_data(place: SessionFolder) -> str:
    try:
        table = read_items(place)
        if table.ids.tolist() != list(place.ids):
            return "the table gives other item ids"
        return "" if (place.path / MEDIA).exists() else _compare_features(place, table)
    except SoelError as error:
        return str(error)


def _compare_features(place: SessionFolder, table: Table) -> str:
    again, pool = read_encoder(place).encode(table.frame), place.pool
    if again.shape != pool.shape:
        return f"the features had shape {pool.shape} and have {again.shape}"
    gap = float(np.abs(np.asarray(again, np.float32) - pool).max(initial=0))
    return f"features differ by up to {gap:.3g}" if gap else ""
