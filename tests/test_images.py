"""The estimator on arrays of pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soel import SOEL
from soel.errors import SchemaError
from soel.images import image_rows
from soel.images.extract import extract
from soel.images.source import image_array
from soel.settings import DEFAULT, PAPER, Schedule
from tests.images.makers import ColourExtractor
from tests.images.test_patches import PlaceExtractor

SMALL = replace(
    PAPER,
    backbone_options={"depth": 10, "widen": 1, "penalty": 0.0},
    pictures=Schedule(epochs=1, learning_rate=1e-3, batch_size=10),
)


def pictures(n: int = 20, side: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = np.linspace(0, 200, side)[:, None] + rng.normal(0, 15, (n, side, side))
    made[:2] = rng.uniform(0, 255, (2, side, side))
    return made.clip(0, 255).astype(np.uint8)


def test_mhrot_learns_on_an_array_and_is_saved(tmp_path: Path) -> None:
    x = pictures()
    detector = SOEL(replace(SMALL, backbone="mhrot"), random_state=0)
    rows = detector.query(x, 3)
    y = np.full(len(x), -1)
    y[rows] = rows < 2
    scores = detector.fit(x, y).anomaly_score(x)
    assert detector.backbone_ == "mhrot"
    assert scores.shape == (20,)
    assert np.ptp(scores) > 0
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(SOEL.load(tmp_path / "model").anomaly_score(x), scores)
    with pytest.raises(SchemaError, match="shape"):
        detector.anomaly_score(pictures(side=7))


def test_auto_takes_features_where_they_can_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path))
    monkeypatch.setattr(image_rows, "open_extractor", lambda which: ColourExtractor())
    x = np.repeat(pictures()[..., None], 3, axis=-1)
    quick = replace(PAPER, vectors=Schedule(epochs=3, learning_rate=1e-3, backbone="ntl-features"))
    detector = SOEL(quick, random_state=0).fit(x)
    assert (detector.kind_, detector.backbone_) == ("vectors", "ntl-features")  # however few they are
    features = extract(image_array("X", x), ColourExtractor()).matrix
    by_hand = SOEL(quick, kind="vectors", random_state=0).fit(features)
    np.testing.assert_array_equal(detector.anomaly_score(x), by_hand.anomaly_score(features))


def test_auto_takes_the_pixels_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_rows, "_NEEDED", ("no_such_package",))
    task = SOEL(PAPER)._read(pictures())
    assert task.learner.profile.backbone == "mhrot"
    assert task.images is not None
    assert task.images.extractor is None


def test_features_want_bytes() -> None:
    with pytest.raises(SchemaError, match="uint8"):
        SOEL(PAPER, backbone="ntl").fit(pictures().astype(np.float32))


def test_an_array_of_other_axes_is_no_array_of_pictures() -> None:
    with pytest.raises(ValueError, match="Expected 2D array"):
        SOEL(PAPER).fit(np.zeros((4, 3, 3, 7)))


def test_wide_rows_without_a_gpu_get_the_narrow_form_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    x = np.random.default_rng(0).normal(size=(40, 301)).astype(np.float32)
    quick = replace(DEFAULT, vectors=replace(DEFAULT.vectors, epochs=1))
    detector = SOEL(quick, random_state=0).fit(x, np.r_[1, 0, np.full(38, -1)])
    assert detector.backbone_ == "ntl-narrow"
    beside = detector.detector_.fitted.detector
    assert beside is not None
    assert beside.name == "angular"
    assert SOEL(quick, backbone="ntl", random_state=0).fit(x).backbone_ == "ntl"


def test_places_are_looked_at_in_pictures_that_are_large_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path))
    monkeypatch.setattr(image_rows, "open_extractor", lambda which: PlaceExtractor())
    quick = replace(DEFAULT, vectors=replace(DEFAULT.vectors, epochs=1))
    x = np.repeat(pictures(40, side=64)[..., None], 3, axis=-1)
    detector = SOEL(quick, random_state=0).fit(x)
    part = detector.detector_.fitted.patches
    assert part is not None
    assert part.weight > 0
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(SOEL.load(tmp_path / "model").anomaly_score(x), detector.anomaly_score(x))
    small = SOEL(quick, random_state=0).fit(x[:, ::2, ::2])
    assert small.detector_.fitted.patches is None
