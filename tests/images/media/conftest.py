"""What tests of pictures share."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.session import create, pictures
from tests.images.makers import ColourExtractor
from tests.session.fake_engine import FakeEngine


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Colours as features, the fake engine, and a cache of one's own."""
    monkeypatch.setattr(pictures, "open_extractor", lambda which: ColourExtractor())
    monkeypatch.setattr(create, "engine_maker", lambda place: lambda: FakeEngine(place.config))
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
