"""What is asked of a process that makes a session, as one line that a command can carry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from soel.features.source import Reading
from soel.media.picture_pool import MediaOptions
from soel.types import Progress


@dataclass(frozen=True)
class Order:
    """A session to be made. options: as for `workspace.create`, all of them plain values."""

    folder: Path
    data: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    media: MediaOptions = field(default_factory=MediaOptions)

    def to_text(self) -> str:
        """As JSON; who hears of the progress is no part of it."""
        media = asdict(replace(self.media, progress=None, scanned=None))
        content = {"folder": self.folder, "data": self.data, "options": dict(self.options), "media": media}
        return json.dumps(content, default=str)  # paths

    @classmethod
    def from_text(cls, text: str) -> Order:
        """The order again."""
        content = json.loads(text)
        media = content["media"]
        labels = None if media["labels"] is None else Path(media["labels"])
        chosen = MediaOptions(**media | {"reading": Reading(**media["reading"]), "labels": labels})
        return cls(Path(content["folder"]), Path(content["data"]), content["options"], chosen)

    def heard(self, progress: Progress, scanned: Progress) -> MediaOptions:
        """How pictures are read, with who hears of it."""
        return replace(self.media, progress=progress, scanned=scanned)
