"""Patches of pictures: which layers, how they are brought together, and their store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from soel.images import onnx_extractor
from soel.images.extract import extract
from soel.images.extractors import DEPTH, OwnExtractor, Pictures, has_patches, make_patches
from soel.images.onnx_extractor import OnnxExtractor, middle_outputs, read_model
from soel.images.source import open_source
from soel.images.views import View
from soel.types import Floats
from tests.images.makers import ColourExtractor, make_folder, residual_network


@dataclass
class PlaceExtractor(ColourExtractor):
    """The colours of four quarters, of pictures of any shape; the first is the mean red of each."""

    takes_any_shape = True

    def look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
        tall, wide = (side // 2 for side in pictures.shape[1:3])
        folded = pictures[:, : 2 * tall, : 2 * wide].reshape(-1, 2, tall, 2, wide, 3)
        padded = np.zeros((len(pictures), 2, 2, DEPTH), np.float16)
        padded[..., :3] = folded.mean(axis=(2, 4))
        return self.features(pictures), padded


def view_of(extractor: PlaceExtractor, side: int = 16) -> View:
    return View(extractor, (side, side))


@pytest.fixture
def fine_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small networks have no layer where a place stands for many pixels."""
    monkeypatch.setattr(onnx_extractor, "FINEST", 1)


@pytest.mark.usefixtures("fine_layers")
def test_the_last_sum_of_each_width_is_looked_at(tmp_path: Path) -> None:
    path = residual_network(tmp_path / "net.onnx")
    (name,) = middle_outputs(read_model(path), 16)
    assert next(node.op_type for node in read_model(path).graph.node if name in node.output) == "Add"
    free = residual_network(tmp_path / "free.onnx", shape=("n", 3, "h", "w"))
    assert middle_outputs(read_model(free), 32) == (name,)


def test_a_network_without_such_layers_has_no_patches(tmp_path: Path) -> None:
    assert not has_patches(OnnxExtractor(residual_network(tmp_path / "net.onnx")))
    assert not has_patches(OwnExtractor(lambda picture: picture.mean(axis=(0, 1))))
    assert not has_patches(ColourExtractor())
    assert has_patches(PlaceExtractor())


@pytest.mark.usefixtures("fine_layers")
def test_one_pass_gives_features_and_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = residual_network(tmp_path / "net.onnx")
    pictures = np.random.default_rng(0).integers(0, 256, (5, 16, 16, 3), dtype=np.uint8)
    extractor = OnnxExtractor(path)
    vectors, patches = extractor.look(pictures)
    np.testing.assert_allclose(vectors, extractor.features(pictures), rtol=1e-5, atol=1e-6)
    assert patches.shape == (5, 8, 8, DEPTH)
    assert patches.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(patches.astype(np.float32), axis=3), 1, atol=2e-3)
    fixed = OnnxExtractor(residual_network(tmp_path / "fixed.onnx", shape=(4, 3, 16, 16)))
    np.testing.assert_allclose(fixed.look(pictures)[1], patches, atol=2e-3)
    monkeypatch.setattr(onnx_extractor, "has_gpu", lambda: True)  # torch then computes on what there is
    np.testing.assert_allclose(OnnxExtractor(path, pixels="imagenet").look(pictures)[1], patches, atol=2e-3)


@pytest.mark.usefixtures("fine_layers")
def test_pictures_of_any_shape_are_looked_at_where_the_network_can(tmp_path: Path) -> None:
    extractor = OnnxExtractor(residual_network(tmp_path / "net.onnx"))
    pictures = np.random.default_rng(0).integers(0, 256, (2, 24, 40, 3), dtype=np.uint8)
    assert extractor.takes_any_shape
    vectors, patches = extractor.look(pictures)
    assert patches.shape == (2, 12, 20, DEPTH)
    assert vectors.shape == (2, extractor.features(pictures[:, :16, :16]).shape[1])


def test_layers_of_several_sizes_come_to_the_coarsest_grid() -> None:
    fine, coarse = np.zeros((1, 1, 4, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    fine[0, 0, 1, 1] = 9
    patches = make_patches([fine, coarse]).astype(np.float32)
    assert patches.shape == (1, 2, 2, DEPTH)
    # of the finer grid every second place is kept, with the mean of 3 x 3 around it: each layer has length 1
    np.testing.assert_allclose(patches[0, ..., :2], np.ones((2, 2, 2)), atol=2e-3)
    fine[0, 0, 1, 1], fine[0, 0, 0, 0] = 0, 9
    np.testing.assert_allclose(make_patches([fine, coarse])[0, ..., 0], [[1, 0], [0, 0]], atol=2e-3)
    assert not patches[..., 2:].any()


def test_wide_layers_are_projected_and_keep_their_distances() -> None:
    layer = np.random.default_rng(0).normal(size=(1, 600, 5, 5)).astype(np.float32)
    patches = make_patches([layer])[0].reshape(25, -1).astype(np.float64)
    whole = make_patches.__globals__["_on_grid"](layer, 5, 5)[0].reshape(25, -1)
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    apart, kept = (np.linalg.norm(x[:, None] - x, axis=2)[np.triu_indices(25, 1)] for x in (whole, patches))
    assert 0.9 < np.mean(kept / apart) < 1.1
    assert np.std(kept / apart) < 0.15


def test_patches_are_stored_beside_the_features_and_read_again(tmp_path: Path) -> None:
    source, cache = open_source(make_folder(tmp_path / "data", 40)), tmp_path / "cache"
    plain = extract(source, PlaceExtractor(), cache)
    assert plain.patches is None
    extractor = PlaceExtractor()
    both = extract(source, view_of(extractor), cache)
    assert sum(extractor.seen) == 40
    assert both.patches is not None
    assert both.patches.shape == (40, 4, DEPTH)
    assert both.patches.dtype == np.float16
    np.testing.assert_allclose(both.patches[..., 0].mean(axis=1), both.matrix[:, 0], rtol=2e-2)
    again = PlaceExtractor()
    read = extract(source, view_of(again), cache)
    assert again.seen == []
    assert read.patches is not None
    np.testing.assert_array_equal(read.patches, both.patches)


def test_patches_of_a_broken_off_run_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks(PlaceExtractor):
        def look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
            if len(self.seen) == 2:
                raise KeyboardInterrupt
            return super().look(pictures)

    source, cache = open_source(make_folder(tmp_path / "data", 60)), tmp_path / "cache"
    with pytest.raises(KeyboardInterrupt):
        extract(source, view_of(Breaks()), cache)
    extractor = PlaceExtractor()
    found = extract(source, view_of(extractor), cache)
    assert sum(extractor.seen) == 60 - 32
    right = extract(source, view_of(PlaceExtractor()), tmp_path / "other")
    assert found.patches is not None
    assert right.patches is not None
    np.testing.assert_array_equal(found.patches, right.patches)


def test_a_picture_that_cannot_be_read_has_no_patches(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "data", 9)
    bad = folder / "plain" / "picture4.png"
    bad.write_bytes(bad.read_bytes()[:400])
    found = extract(open_source(folder), view_of(PlaceExtractor()), tmp_path / "cache")
    bad.unlink()
    right = extract(open_source(folder), view_of(PlaceExtractor()), tmp_path / "other")
    assert found.patches is not None
    assert right.patches is not None
    assert len(found.patches) == len(found.matrix) == 8
    np.testing.assert_array_equal(found.patches, right.patches, "the others have their own")
