"""Pictures as files: which are items, and what is read of each."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import ConfigError, DataError
from soel.images.decode import check_header, load_picture
from soel.images.image_items import fingerprint
from soel.images.source import Reading, is_media, open_source
from tests.images.makers import make_folder, noise, png_that_claims


def test_a_moved_and_renamed_folder_keeps_its_ids(tmp_path: Path) -> None:
    before = open_source(make_folder(tmp_path / "one"))
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "two" / "odd").rename(tmp_path / "two" / "zzz")
    after = open_source(tmp_path / "two")
    assert {item.id for item in before.items} == {item.id for item in after.items}
    assert len({item.id for item in after.items}) == 6


def test_equal_files_have_ids_of_their_own(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        Image.fromarray(noise(0)).save(tmp_path / name)
    first, second = (item.id for item in open_source(tmp_path).items)
    assert first != second
    assert first.split("-")[0] == second.split("-")[0]


def test_another_picture_is_another_fingerprint(tmp_path: Path) -> None:
    def now() -> str:
        return fingerprint(open_source(tmp_path).items)

    make_folder(tmp_path)
    before = now()
    paths = sorted(tmp_path.rglob("*.png"))
    contents = [path.read_bytes() for path in paths]
    found = {before}
    for path, content in zip(paths, contents, strict=True):  # each of them counts
        Image.fromarray(noise(99)).save(path)
        found.add(now())
        path.write_bytes(content)
    paths[0].write_bytes(contents[1])  # and so does their order
    paths[1].write_bytes(contents[0])
    found.add(now())
    assert len(found) == 1 + 6 + 1
    make_folder(tmp_path)
    assert now() == before  # the same pictures, written anew
    names = [hashlib.sha256(content).hexdigest()[:16] + "-0" for content in contents]
    assert before == hashlib.sha256("\n".join(names).encode()).hexdigest()


def test_pictures_come_in_the_order_of_the_items(tmp_path: Path) -> None:
    source = open_source(make_folder(tmp_path))
    for row, picture in zip([4, 1], source.read([4, 1]), strict=True):
        number = int(source.items[row].name.removesuffix(".png")[-1])
        np.testing.assert_array_equal(picture, noise(number))


def test_files_that_cannot_be_read_are_named_and_left_out(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "broken.tif").write_bytes(b"no picture")
    (tmp_path / "bomb.png").write_bytes(png_that_claims(50_000, 50_000))
    (tmp_path / "notes.txt").write_text("not looked at")
    source = open_source(tmp_path)
    assert [file.name for file in source.skipped] == ["bomb.png", "broken.tif", "empty.jpg"]
    assert len(source.items) == 6
    with pytest.raises(DataError, match=r"3 of the files .*bomb\.png"):
        open_source(tmp_path, Reading(strict=True))


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes there only")
def test_one_name_that_is_no_text_does_not_stop_a_folder(tmp_path: Path) -> None:
    make_folder(tmp_path)
    next(tmp_path.rglob("*.png")).rename(tmp_path / os.fsdecode(b"na\xefve.png"))
    source = open_source(tmp_path)
    assert len(source.items) == 5
    assert [(file.name, file.reason) for file in source.skipped] == [
        ("na\\udcefve.png", "its name is no UTF-8 text; rename it")
    ]
    assert all(item.name.encode() for item in source.items)


def test_a_folder_without_pictures_says_what_it_wants(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no pictures"):
        open_source(tmp_path)


def test_numbered_frames_have_clip_and_time(tmp_path: Path) -> None:
    for clip in ("c1", "c2"):
        (tmp_path / clip).mkdir()
        for number in range(12):
            Image.fromarray(noise(number + 50 * (clip == "c2"))).save(tmp_path / clip / f"{number}.png")
    source = open_source(tmp_path, Reading(every=3, frame_rate=10))
    assert [(item.clip, item.frame, item.time) for item in source.items[:5]] == [
        ("c1", 0, 0.0),
        ("c1", 3, 0.3),
        ("c1", 6, 0.6),
        ("c1", 9, 0.9),
        ("c2", 0, 0.0),
    ]
    np.testing.assert_array_equal(next(iter(source.read([3]))), noise(9))  # 9 stands before 10


def test_a_broken_frame_does_not_shift_the_others(tmp_path: Path) -> None:
    for number in range(4):
        Image.fromarray(noise(number)).save(tmp_path / f"{number}.png")
    (tmp_path / "1.png").write_bytes(b"")
    source = open_source(tmp_path, Reading(frame_rate=1))
    assert [item.time for item in source.items] == [0.0, 2.0, 3.0]


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError):
        Reading(every=0)
    with pytest.raises(ConfigError):
        Reading(frame_rate=-1)


def test_what_is_a_source_of_pictures(tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", X=np.zeros((3, 2)))
    np.savez(tmp_path / "pictures.npz", train_images=np.zeros((3, 4, 4), np.uint8))
    (tmp_path / "a.csv").write_text("x\n1\n")
    found = {path.name: is_media(path) for path in (*tmp_path.iterdir(), tmp_path, Path("clip.mp4"))}
    assert found == {
        "table.npz": False,
        "pictures.npz": True,
        "a.csv": False,
        tmp_path.name: True,
        "clip.mp4": True,
    }


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "webp", "jpg"])
def test_common_formats_give_the_same_picture(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    flat = np.full((10, 14, 3), (200, 100, 50), np.uint8)
    Image.fromarray(flat).save(path)
    picture = load_picture(path)
    assert picture.shape == (10, 14, 3)
    np.testing.assert_allclose(picture, flat, atol=4)


def palette() -> Image.Image:
    image = Image.new("P", (6, 6), 1)
    image.putpalette([0, 0, 0, 250, 0, 0])
    image.info["transparency"] = 0
    return image


@pytest.mark.parametrize(
    ("name", "image", "colour"),
    [
        ("a.png", Image.new("L", (6, 6), 90), [90, 90, 90]),
        ("a.png", Image.new("RGBA", (6, 6), (10, 20, 30, 255)), [10, 20, 30]),
        ("a.png", Image.new("RGBA", (6, 6), (0, 0, 0, 0)), [255, 255, 255]),  # what is transparent is white
        ("a.png", palette(), [250, 0, 0]),
        ("a.jpg", Image.new("CMYK", (6, 6), (0, 255, 255, 0)), [250, 20, 20]),  # for printing; roughly so
    ],
)
def test_other_colours_than_three_of_a_byte(tmp_path: Path, name: str, image: Image.Image, colour: list[int]) -> None:
    image.save(tmp_path / name)
    picture = load_picture(tmp_path / name)
    np.testing.assert_allclose(picture[3, 3].astype(int), colour, atol=40 if name == "a.jpg" else 0)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_keep_the_upper_eight(tmp_path: Path, suffix: str) -> None:
    values = (np.arange(64, dtype=np.uint16) * 1000).reshape(8, 8)
    Image.fromarray(values).save(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(load_picture(tmp_path / f"a.{suffix}")[..., 1], values >> 8)


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


def test_a_deep_picture_is_turned_upright_too(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    deep = np.repeat(np.arange(12, dtype=np.uint16)[None] * 5000, 8, axis=0)
    Image.fromarray(deep).save(tmp_path / "a.png", exif=exif)
    upright = load_picture(tmp_path / "a.png")
    assert upright.shape == (12, 8, 3)
    assert upright[:, 0, 0].tolist() == [value >> 8 for value in range(0, 60_000, 5000)]


def test_grey_with_alpha_lies_on_white_and_inks_become_colours(tmp_path: Path) -> None:
    grey, alpha = Image.new("L", (6, 4), 90), Image.new("L", (6, 4), 255)
    alpha.paste(0, (0, 0, 3, 4))
    Image.merge("LA", [grey, alpha]).save(tmp_path / "a.png")
    assert load_picture(tmp_path / "a.png")[0, :, 0].tolist() == [255] * 3 + [90] * 3
    colours = Image.new("RGB", (16, 8), (200, 30, 60))
    colours.convert("CMYK").save(tmp_path / "b.tif")
    assert load_picture(tmp_path / "b.tif")[0, 0].tolist() == [200, 30, 60]


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
