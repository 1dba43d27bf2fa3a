"""What the pictures of a session add to its report: how its items look, and the events of its clips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.images.session_maps import SessionMaps
from soel.images.session_media import open_media
from soel.report.facts import MediaFacts, Picture
from soel.scoring.intervals import name_intervals
from soel.scoring.score_table import name_pictures
from soel.session import Session
from soel.types import Floats, Interval

SMALL = 256  # pixels: the longest side of a picture in a report


def gather_media(session: Session) -> MediaFacts | None:
    """What a report shows of a session's pictures; None for rows."""
    media = open_media(session.folder)
    if media is None:
        return None
    maps, names = SessionMaps(session), name_pictures(media.items)

    def show(item: str) -> Picture:
        values = maps.of(item)
        content = media.thumbnail(item) if values is None else media.mapped(item, SMALL, values)
        return Picture(content, values is not None)

    def find_events(scores: Floats, alarms: np.ndarray) -> Sequence[Interval]:
        return name_intervals(names, scores, alarms)

    noun = "frames" if any(item.clip for item in media.items) else "pictures"
    return MediaFacts(noun, {item.id: item.name for item in media.items}, show, find_events)
