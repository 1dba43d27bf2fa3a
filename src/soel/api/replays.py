"""A session repeated from its data: first the features from the table, then everything that was computed."""

from __future__ import annotations

import numpy as np

from soel.api import sessions
from soel.data.tables import Table
from soel.errors import SoelError
from soel.media.picture_pool import MEDIA
from soel.session import Session
from soel.session.replay import Step, replay
from soel.types import Progress


def replay_session(session: Session, progress: Progress | None = None) -> tuple[Step, ...]:
    """Every step that was repeated, with what came out differently.

    Pictures may lie elsewhere by now: of them the list is compared, and their stored features are taken as they are.
    """
    of_pictures = (session.folder.path / MEDIA).exists()
    what = "list of pictures" if of_pictures else "data"
    return (Step(0, what, _compare_data(session, of_pictures)), *replay(session, progress))


def _compare_data(session: Session, of_pictures: bool) -> str:
    try:
        table = sessions.read_source(session)
        if table.ids.tolist() != list(session.ids):
            return "the table gives other item ids"
        return "" if of_pictures else _compare_features(session, table)
    except SoelError as error:
        return str(error)


def _compare_features(session: Session, table: Table) -> str:
    again, pool = sessions.read_encoder(session.folder).encode(table.frame), session.folder.pool
    if again.shape != pool.shape:
        return f"the features had shape {pool.shape} and have {again.shape}"
    gap = float(np.abs(np.asarray(again, np.float32) - pool).max(initial=0))
    return f"features differ by up to {gap:.3g}" if gap else ""
