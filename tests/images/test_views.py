"""Views: pictures at one shape about their own, a region of them, and windows that overlap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import ConfigError
from soel.images.extract import extract
from soel.images.source import image_array
from soel.images.views import GREY, MOST_PIXELS, SeenRegion, View, choose_shape, open_view, stretch
from tests.images.test_patches import PlaceExtractor


class OneSize(PlaceExtractor):
    """A network of 16 x 16 pixels, no more and no less."""

    takes_any_shape = False


@pytest.mark.parametrize(
    ("sizes", "resolution", "shape"),
    [
        ([(640, 640)], None, (640, 640)),
        ([(300, 200), (320, 240), (1000, 260)], None, (320, 240)),
        ([(600, 300)], 100, (200, 100)),
        ([(600, 300)], 900, (600, 300)),  # never enlarged
        ([(3000, 4000)], 3000, (3000, 4000)),
    ],
)
def test_the_shape_is_the_usual_one_of_the_pictures(
    sizes: list[tuple[int, int]], resolution: int | None, shape: tuple[int, int]
) -> None:
    assert choose_shape(sizes, resolution) == shape


def test_without_a_word_so_many_pixels_are_looked_at() -> None:
    height, width = choose_shape([(3000, 4000)])
    assert height * width == pytest.approx(MOST_PIXELS, rel=2e-3)
    assert width / height == pytest.approx(4 / 3, rel=2e-3)


@pytest.mark.parametrize(("resolution", "why"), [(10, "shorter side"), (9000, "million pixels")])
def test_a_resolution_that_makes_no_sense_is_refused(resolution: int, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        choose_shape([(9000, 9000)], resolution)


def test_pictures_are_brought_to_the_shape() -> None:
    assert stretch(np.zeros((30, 70, 3), np.uint8), (64, 128)).shape == (64, 128, 3)
    view = View(PlaceExtractor(), (20, 40))
    found = extract(image_array("X", np.full((3, 40, 80, 3), 7, np.uint8)), view)
    assert found.patches is not None
    assert found.patches.shape[:2] == (3, 4)
    assert (found.patches[..., 0] == 7).all()
    assert (view.grid.down, view.grid.across) == (2, 2)
    assert view.fingerprint != View(PlaceExtractor(), (40, 20)).fingerprint


def test_a_network_of_one_size_sees_windows_and_each_place_from_the_one_in_whose_middle_it_lies() -> None:
    view = open_view(OneSize(), (16, 40))
    pictures = np.zeros((1, 16, 40, 3), np.uint8)
    pictures[:, :8, -8:] = 250  # at the rim
    patches = view.look(pictures)[1]
    assert (view.grid.down, view.grid.across) == (2, 5)
    assert patches[0, :, 0].astype(int).tolist() == [0, 0, 0, 0, 250, 0, 0, 0, 0, 0]
    assert open_view(OneSize(), (10, 10)).shape == (16, 16), "it sees no smaller picture"


def test_a_defect_on_a_seam_is_whole_in_one_window() -> None:
    view, defect, seen = open_view(OneSize(), (32, 48)), 2, list[int]()

    class Watches(OneSize):
        def look(self, pictures):  # type: ignore[no-untyped-def]
            seen.append(int((pictures[..., 0] > 0).sum()))
            return super().look(pictures)

    view = open_view(Watches(), (32, 48))
    for top in range(0, 32 - defect + 1, 3):
        for left in range(48 - defect + 1):
            picture = np.zeros((1, 32, 48, 3), np.uint8)
            picture[:, top : top + defect, left : left + defect] = 255
            seen.clear()
            view.look(picture)
            assert max(seen) == defect**2


@pytest.mark.parametrize("text", ["10,20,40,30", "0.1,0.4,0.4,0.6"])
def test_a_box_is_judged_alone_and_maps_lie_in_it(text: str) -> None:
    region = SeenRegion.read(text, (50.0, 100.0))
    np.testing.assert_allclose(region.frame, (0.4, 0.1, 1.0, 0.5))
    picture = np.arange(50 * 100, dtype=np.int64).reshape(50, 100)[..., None].repeat(3, axis=2)
    assert region.crop(picture).shape == (30, 40, 3)  # type: ignore[arg-type]
    view = View(PlaceExtractor(), (30, 40), region)
    assert view.grid.seen(50, 100) == (20, 10, 30, 40)
    assert view.fingerprint != View(PlaceExtractor(), (30, 40)).fingerprint


def test_what_a_mask_leaves_out_is_the_same_grey_in_every_picture(tmp_path: Path) -> None:
    mask = np.zeros((40, 80), np.uint8)
    mask[10:30, 20:60] = 255
    mask[10:20, 20:40] = 0
    Image.fromarray(mask).save(tmp_path / "mask.png")
    view = View(PlaceExtractor(), (20, 40), SeenRegion.read(str(tmp_path / "mask.png"), (40.0, 80.0)))
    seen = view.prepare(np.full((40, 80, 3), 200, np.uint8))
    assert seen.shape == (20, 40, 3)
    assert (seen[:9, :19] == GREY).all()
    assert (seen[11:, :] == 200).all()


@pytest.mark.parametrize(("text", "why"), [("1,2,3", "mask's file"), ("0,0,200,10", "does not lie within")])
def test_a_region_that_makes_no_sense_is_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        SeenRegion.read(text, (50.0, 100.0))


def test_a_mask_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "black.png")
    with pytest.raises(ConfigError, match="black everywhere"):
        SeenRegion.read(str(tmp_path / "black.png"), (8.0, 8.0))
