"""What tests of pictures share."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.images import picture_pool
from tests.images.makers import ColourExtractor
from tests.session.fake_learner import use_fake_learner


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Colours as features, the fake learner, and a cache of one's own."""
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: ColourExtractor())
    use_fake_learner(monkeypatch)
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
