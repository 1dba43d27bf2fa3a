"""Pictures of every kind come out as upright 8-bit RGB; what lies about itself is never decoded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import DataError
from soel.images.decode import check_header, load_picture
from tests.images.makers import noise, png_that_claims


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "webp", "jpg"])
def test_common_formats_give_the_same_picture(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    flat = np.full((10, 14, 3), (200, 100, 50), np.uint8)
    Image.fromarray(flat).save(path)
    picture = load_picture(path)
    assert picture.shape == (10, 14, 3)
    np.testing.assert_allclose(picture, flat, atol=4)


def test_grey_is_repeated(tmp_path: Path) -> None:
    Image.fromarray(noise(0)[..., 0]).save(tmp_path / "a.png")
    picture = load_picture(tmp_path / "a.png")
    np.testing.assert_array_equal(picture, np.repeat(noise(0)[..., :1], 3, axis=2))


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_keep_the_upper_eight(tmp_path: Path, suffix: str) -> None:
    values = (np.arange(64, dtype=np.uint16) * 1000).reshape(8, 8)
    Image.fromarray(values).save(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(load_picture(tmp_path / f"a.{suffix}")[..., 1], values >> 8)


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    pixels = np.zeros((4, 4, 4), np.uint8)
    pixels[:2] = (10, 20, 30, 255)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    picture = load_picture(tmp_path / "a.png")
    assert picture[0, 0].tolist() == [10, 20, 30]
    assert picture[3, 3].tolist() == [255, 255, 255]


def test_a_palette_with_transparency(tmp_path: Path) -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 250, 0, 0])
    image.save(tmp_path / "a.png", transparency=0)
    assert load_picture(tmp_path / "a.png")[0, 0].tolist() == [250, 0, 0]


def test_printing_colours(tmp_path: Path) -> None:
    Image.new("CMYK", (6, 6), (0, 255, 255, 0)).save(tmp_path / "a.jpg")
    red, green, blue = load_picture(tmp_path / "a.jpg")[3, 3].tolist()
    assert red > 200
    assert max(green, blue) < 60


def test_a_picture_is_turned_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (16, 8), "black")
    image.paste("white", (0, 0, 8, 8))  # the left half, which is the upper one once the picture stands
    exif = image.getexif()
    exif[0x0112] = 6  # taken with the camera on its side
    image.save(tmp_path / "a.jpg", exif=exif)
    upright = load_picture(tmp_path / "a.jpg")
    assert upright.shape == (16, 8, 3)
    assert upright[:6].min() > 200
    assert upright[10:].max() < 50


@pytest.mark.parametrize("size", [(60_000, 60_000), (12_000, 8_000), (7_000, 7_000)])
def test_a_header_that_lies_costs_no_decoding(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_that_claims(*size))
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda image: pytest.fail("pixels were decoded"))
    with pytest.raises(DataError, match="pixels"):
        check_header(path)


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"hello", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(DataError):
        check_header(path)


def test_a_cut_off_file_fails_when_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(noise(1)).save(path)
    path.write_bytes(path.read_bytes()[:300])
    check_header(path)
    with pytest.raises(DataError, match="decoded"):
        load_picture(path)
