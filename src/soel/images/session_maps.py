"""Maps of the pictures that raise an alarm, the session's own or new ones, written as files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.threshold import ThresholdRule, parse_threshold
from soel.detect.base import PlaceDetector
from soel.errors import SessionError
from soel.images.maps import MappedPicture, write_heat_maps
from soel.images.patches import map_grid
from soel.images.picture_pool import read_new_pictures
from soel.images.session_media import open_media
from soel.session import Session
from soel.tables.frame import as_frame
from soel.tables.session_tables import read_encoder
from soel.types import Floats, Rows


def write_maps(session: Session, data: str | Path | None, out: Path, threshold: str | None = None) -> dict[str, int]:
    """Maps of all alarms into the folder `out`, the most anomalous first; returns how many maps and boxes there are."""
    if not session.folder.has_pictures or session.folder.patches is None:
        raise SessionError(
            "Maps are drawn of pictures whose places are looked at: start a session with <<patches=yes>>."
        )
    rule = parse_threshold(threshold or session.config.threshold)
    _, model = session.fitted(threshold if rule.count(0) is None else None)
    detector = find_patches(model)
    pictures = _map_own(session, model, detector, rule) if data is None else _new(session, model, detector, rule, data)
    return write_heat_maps(Path(out), pictures)


@dataclass
class SessionMaps:
    """Maps of a session's own pictures, by the newest model: of the last fit, or before the first label."""

    session: Session
    _known: tuple[str, PlaceDetector | None] = ("", None)

    @property
    def has_any(self) -> bool:
        """Whether the session looks at places, and has a model that does."""
        return self.session.folder.patches is not None and self._folder() is not None

    def of(self, item: str) -> Floats | None:
        """The map (P,) of a picture in units of the limit; None where there is none."""
        patches, detector = self.session.folder.patches, self._detector()
        if patches is None or detector is None:
            return None
        row = self.session.folder.ids.index(item)
        return np.asarray(detector.maps(patches[[row]])[0] / detector.limit)

    def _folder(self) -> str | None:
        state = self.session.state
        ref = state.warm_up if state.fit is None else state.fit.model
        return None if ref is None else ref.folder

    def _detector(self) -> PlaceDetector | None:
        folder = self._folder()
        if folder is None:
            return None
        if self._known[0] != folder:
            part = self.session.engine.load(self.session.folder.path / folder).blend.patches
            found = None if part is None else part.detector
            self._known = folder, found if isinstance(found, PlaceDetector) else None
        return self._known[1]


def find_patches(model: Any) -> PlaceDetector:
    """The part of a fitted model that looks at places."""
    part = model.blend.patches
    if part is None or not isinstance(part.detector, PlaceDetector):
        raise SessionError("The last fit did not look at places; fit again.")
    return part.detector


def _map_own(session: Session, model: Any, detector: PlaceDetector, rule: ThresholdRule) -> Iterator[MappedPicture]:
    media, patches = open_media(session.folder), session.folder.patches
    assert media is not None
    assert patches is not None
    scores = session.pool_scores(model)
    for row in _find_alarms(scores, model, rule):
        item, values = media.items[row], detector.maps(patches[[row]])[0] / detector.limit
        yield MappedPicture(item.name, item.id, float(scores[row]), media.picture(item.id), values, media.grid)


def _new(
    session: Session, model: Any, detector: PlaceDetector, rule: ThresholdRule, data: str | Path
) -> Iterator[MappedPicture]:
    new = read_new_pictures(session.folder.path, Path(data))
    assert new.patches is not None  # as the session's own
    grid = map_grid(session.folder.grid, session.folder.media_note["extractor"])
    scores = model.score(read_encoder(session.folder).encode(as_frame(new.features)), new.patches)
    for row in _find_alarms(scores, model, rule):
        item, values = new.items[row], detector.maps(new.patches[[row]])[0] / detector.limit
        yield MappedPicture(item.name, item.id, float(scores[row]), new.picture(row), values, grid)


def _find_alarms(scores: Floats, model: Any, rule: ThresholdRule) -> Rows:
    """The rows that raise an alarm, the most anomalous first."""
    order = np.argsort(-scores, kind="stable")
    n_alarms = rule.count(len(scores))
    return order[model.alarms(scores)[order]] if n_alarms is None else order[:n_alarms]
