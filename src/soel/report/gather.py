"""Everything that the report of a session shows, gathered from the session and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from soel.report.facts import MediaFacts, Picture, ReportFacts
from soel.report.page import write_report as write_page
from soel.report.reasons import explain_session
from soel.report.session_report import gather
from soel.scoring.clips import name_intervals
from soel.scoring.table import name_pictures
from soel.session import Session
from soel.session.items import read_items
from soel.session.media import SessionMaps, open_media
from soel.types import Floats, Interval

SMALL = 256  # pixels: the longest side of a picture in a report


def write_report(session: Session, out: Path) -> Path:
    """Write the session's report as one HTML page."""
    return write_page(gather_report(session), Path(out))


def gather_report(session: Session) -> ReportFacts:
    """Everything that the session's report shows."""
    return gather(session, read_items(session.folder).frame, explain_session(session), gather_media(session))


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
