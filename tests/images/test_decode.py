"""Squares of pictures and frames of clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from soel.errors import DataError
from soel.images.decode import square
from soel.images.source import Reading, open_source
from tests.images.makers import make_clip, noise

SIDE = st.integers(1, 300)


@settings(max_examples=40, deadline=None)
@given(height=SIDE, width=SIDE, size=st.integers(8, 64))
def test_any_picture_becomes_a_square(height: int, width: int, size: int) -> None:
    assert square(np.zeros((height, width, 3), np.uint8), size).shape == (size, size, 3)


def test_what_is_kept_is_the_centre_of_the_whole_resized() -> None:
    picture = noise(0, 60, 100)
    whole = np.asarray(Image.fromarray(picture).resize((50, 30), Image.Resampling.BILINEAR))
    difference = np.abs(square(picture, 30).astype(int) - whole[:, 10:40])
    assert difference.max() <= 1
    assert difference.mean() < 0.05


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    make_clip(folder / "a.mp4")
    make_clip(folder / "deeper" / "b.mp4", n_frames=12)
    return folder


def grey(picture: np.ndarray | DataError) -> int:
    assert isinstance(picture, np.ndarray)
    return round(float(picture.mean()) / 8)


def test_every_frame_is_an_item_with_clip_and_time(clips: Path) -> None:
    items = open_source(clips).items
    assert len(items) == 42
    assert [(item.clip, item.frame, item.time) for item in (items[0], items[13], items[31])] == [
        ("a.mp4", 0, 0.0),
        ("a.mp4", 13, 1.3),
        ("deeper/b.mp4", 1, 0.1),
    ]


def test_any_rows_in_any_order_give_their_own_frames(clips: Path) -> None:
    source = open_source(clips)
    rows = [29, 3, 4, 17, 35, 30, 8]
    assert [grey(picture) for picture in source.read(rows)] == [29, 3, 4, 17, 5, 0, 8]


def test_sampling_keeps_ids_and_times(clips: Path) -> None:
    everything = {item.id: item.time for item in open_source(clips).items}
    thinned = open_source(clips, Reading(every=5))
    assert [item.frame for item in thinned.items] == [0, 5, 10, 15, 20, 25, 0, 5, 10]
    assert all(everything[item.id] == item.time for item in thinned.items)
    assert [grey(picture) for picture in thinned.read([1, 7])] == [5, 5]


def test_one_file_is_a_source_too(clips: Path) -> None:
    source = open_source(clips / "a.mp4")
    assert len(source.items) == 30
    (picture,) = source.read([7])
    assert isinstance(picture, np.ndarray)
    assert grey(picture) == 7


def test_broken_clips_are_named(clips: Path, tmp_path: Path) -> None:
    make_clip(tmp_path / "good.mp4", 5)
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "junk.avi").write_bytes(b"no clip at all" * 20)
    source = open_source(tmp_path)
    assert [file.name for file in source.skipped] == ["empty.mp4", "junk.avi"]
    assert len(source.items) == 5


def test_a_clip_that_vanishes_gives_errors_in_its_place(tmp_path: Path) -> None:
    source = open_source(make_clip(tmp_path / "a.mp4", 5))
    (tmp_path / "a.mp4").write_bytes(b"changed")
    assert all(isinstance(picture, DataError) for picture in source.read([0, 1]))


def test_a_playlist_does_not_open_the_files_it_names(tmp_path: Path) -> None:
    make_clip(tmp_path / "a.mp4", 5)
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile a.mp4\n")
    with pytest.raises(DataError, match=r"list\.mp4 \(it is not a video that can be read"):
        open_source(tmp_path / "list.mp4")
