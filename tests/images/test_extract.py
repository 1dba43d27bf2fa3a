"""Features of a source: in order, once, resumed after a kill, faults named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from threadpoolctl import threadpool_info, threadpool_limits

from soel.errors import ConfigError, DataError
from soel.images import extract as pipeline
from soel.images.decode import square
from soel.images.extract import GrowingMatrix, extract
from soel.images.extractors import OwnExtractor, open_extractor
from soel.images.image_items import Picture, PictureSource
from soel.images.source import image_array, open_source
from tests.images.makers import ColourExtractor, make_clip, make_folder, noise

KILLED = """
import sys, time
from pathlib import Path
from soel.images import extract as pipeline
from soel.images.extract import extract
from soel.images.source import open_source
from tests.images.makers import ColourExtractor
pipeline.SYNC_SECONDS = 0.0
class Slow(ColourExtractor):
    def features(self, pictures):
        if len(self.seen) == 2:
            print("two batches are done", flush=True)
            time.sleep(60)
        return super().features(pictures)
extract(open_source(Path(sys.argv[1])), Slow(), Path(sys.argv[2]))
"""


def expected(source: PictureSource, rows: list[int]) -> np.ndarray:
    pictures = [picture for picture in source.read(rows) if isinstance(picture, np.ndarray)]
    return ColourExtractor().features(np.stack([square(picture, 16) for picture in pictures]))


def test_rows_are_in_the_order_of_the_items_of_folders_clips_and_arrays(tmp_path: Path) -> None:
    folder, clip = open_source(make_folder(tmp_path / "data", 50)), open_source(make_clip(tmp_path / "a.mp4"))
    for source in (folder, clip, image_array("X", np.stack([noise(seed) for seed in range(5)]))):
        features, rows = extract(source, ColourExtractor(), tmp_path / "cache"), list(range(len(source.items)))
        np.testing.assert_array_equal(features.matrix, expected(source, rows))
        assert (features.rows.tolist(), features.faulty) == (rows, ())


def test_nothing_is_computed_twice(tmp_path: Path) -> None:
    source, cache = open_source(make_folder(tmp_path / "data", 20)), tmp_path / "cache"
    first = extract(source, ColourExtractor(), cache)
    again = ColourExtractor()
    second = extract(source, again, cache)
    assert again.seen == []
    assert isinstance(second.matrix, np.memmap)
    np.testing.assert_array_equal(first.matrix, second.matrix)
    other = ColourExtractor(fingerprint="colours-2")
    extract(source, other, cache)
    assert sum(other.seen) == 20


def test_other_data_have_their_own_place(tmp_path: Path) -> None:
    folder, cache = make_folder(tmp_path / "data", 6), tmp_path / "cache"
    extract(open_source(folder), ColourExtractor(), cache)
    Image.fromarray(noise(77)).save(folder / "odd" / "picture0.png")
    extractor = ColourExtractor()
    extract(open_source(folder), extractor, cache)
    assert sum(extractor.seen) == 6


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    folder, cache = make_folder(tmp_path / "data", 60), tmp_path / "cache"
    place = {"PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), str(cache)],
        env={**os.environ, **place},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert b"two batches" in process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    source, extractor = open_source(folder), ColourExtractor()
    started = time.monotonic()
    features = extract(source, extractor, cache)
    assert time.monotonic() - started < 30
    assert sum(extractor.seen) == 60 - 2 * pipeline.BATCH
    np.testing.assert_array_equal(features.matrix, expected(source, list(range(60))))


@pytest.mark.parametrize(
    "record", ["{", "[]", "3", '{"done": 1, "width": 2, "n_rows": 3, "faults": []}', '{"done": null}']
)
def test_a_record_that_does_not_fit_starts_afresh(tmp_path: Path, record: str) -> None:
    source, cache = open_source(make_folder(tmp_path / "data", 20)), tmp_path / "cache"
    right = extract(source, ColourExtractor(), cache).matrix.copy()
    (state,) = cache.rglob("progress.json")
    state.write_text(record)
    extractor = ColourExtractor()
    np.testing.assert_array_equal(extract(source, extractor, cache).matrix, right)
    assert sum(extractor.seen) == 20


def test_what_cannot_be_decoded_is_named_and_left_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "data", 9)
    bad = folder / "plain" / "picture4.png"
    bad.write_bytes(bad.read_bytes()[:400])
    source = open_source(folder)
    for cache in (tmp_path / "cache", tmp_path / "cache"):  # computed, then read
        features = extract(source, ColourExtractor(), cache)
        assert [file.name for file in features.faulty] == ["plain/picture4.png"]
        assert len(features.matrix) == len(features.rows) == 8
        np.testing.assert_array_equal(features.matrix, expected(source, features.rows.tolist()))


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "data", 2)
    for path in folder.rglob("*.png"):
        path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(DataError, match=r"can be decoded: .*picture0\.png \(.*truncated.*\)"):
        extract(open_source(folder), ColourExtractor(), tmp_path / "cache")


def test_progress_ends_with_everything_done(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    extract(open_source(make_folder(tmp_path, 20)), ColourExtractor(), None, lambda *at: told.append(at))
    assert told == [(16, 20), (20, 20)]


def test_an_own_callable_is_an_extractor(tmp_path: Path) -> None:
    def brightness(picture: np.ndarray) -> list[float]:
        return [float(picture.mean()), float(picture.shape[0])]

    extractor = open_extractor(brightness)
    assert (extractor.name, extractor.fingerprint) == ("brightness", None)
    features = extract(open_source(make_folder(tmp_path / "data", 3)), extractor, tmp_path / "cache")
    assert features.matrix.shape == (3, 2)
    assert (features.matrix[:, 1] == 224).all()
    assert not (tmp_path / "cache").exists()


def test_an_unknown_name_and_a_callable_that_gives_no_vector() -> None:
    with pytest.raises(ConfigError, match="efficientnet-lite2"):
        open_extractor("resnet")
    with pytest.raises(DataError, match="one vector"):
        OwnExtractor(lambda picture: np.zeros((2, 2))).features(np.zeros((1, 4, 4, 3), np.uint8))


def test_a_fault_of_our_own_is_not_taken_for_a_record_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "progress.json").write_text('{"done": 1, "width": 2, "n_rows": 3, "faults": {}}')

    def fail(*_: object) -> int:
        raise AttributeError("no such thing")

    monkeypatch.setattr(GrowingMatrix, "_end", fail)
    (tmp_path / "features.partial").write_bytes(b"")
    with pytest.raises(AttributeError):
        GrowingMatrix(tmp_path, 3)


def test_the_matrix_library_uses_one_thread_beside_the_network(tmp_path: Path) -> None:
    seen: set[int] = set()

    def look(picture: Picture) -> list[float]:
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return [float(picture.mean())]

    with threadpool_limits(3, user_api="blas"):
        extract(open_source(make_folder(tmp_path, 3)), OwnExtractor(look), tmp_path)
    assert seen == {1}
