"""Patches of pictures: which layers, how they are brought together, and their store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soel.images import onnx_extractor
from soel.images.extract import extract
from soel.images.extractors import OwnExtractor, Pictures
from soel.images.onnx_extractor import OnnxExtractor, middle_outputs
from soel.images.patches import DEPTH, FINE_DEPTH, Patches, has_patches, look_as_before, make_patches
from soel.images.source import open_source
from soel.types import Floats
from tests.images.makers import ColourExtractor, make_folder, residual_network


@dataclass
class PlaceExtractor(ColourExtractor):
    """The colours of four quarters; the first is the mean red of each."""

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        quarters = pictures.reshape(-1, 2, 8, 2, 8, 3).mean(axis=(2, 4)).reshape(-1, 4, 3)
        padded = np.zeros((len(pictures), 4, DEPTH), np.float16)
        padded[..., :3] = quarters
        return self.features(pictures), padded


class DeepExtractor(PlaceExtractor):
    """One that looks at finer layers too."""

    patch_depth = DEPTH + FINE_DEPTH

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        vectors, patches = super().look(pictures)
        return vectors, np.concatenate([patches, patches[..., :FINE_DEPTH]], axis=2)[..., : self.patch_depth]


@pytest.fixture
def fine_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small networks have no layer where a place stands for many pixels."""
    monkeypatch.setattr(onnx_extractor, "FINEST", 1)


@pytest.mark.usefixtures("fine_layers")
def test_the_last_sum_of_each_width_is_looked_at(tmp_path: Path) -> None:
    path = residual_network(tmp_path / "net.onnx")
    (name,) = middle_outputs(path.read_bytes(), 16)
    graph = onnx_extractor.read_graph(path)
    assert next(node.op for node in graph.nodes if name in node.outputs) == "Add"
    free = residual_network(tmp_path / "free.onnx", shape=("n", 3, "h", "w"))
    assert middle_outputs(free.read_bytes(), 32) == (name,)


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
    assert patches.shape == (5, 64, DEPTH)
    assert patches.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(patches.astype(np.float32), axis=2), 1, atol=2e-3)
    fixed = OnnxExtractor(residual_network(tmp_path / "fixed.onnx", shape=(4, 3, 16, 16)))
    np.testing.assert_allclose(fixed.look(pictures)[1], patches, atol=2e-3)
    monkeypatch.setattr(onnx_extractor, "has_gpu", lambda: True)  # torch then computes on what there is
    np.testing.assert_allclose(OnnxExtractor(path, pixels="imagenet").look(pictures)[1], patches, atol=2e-3)


def test_layers_of_several_sizes_come_to_the_coarsest_grid() -> None:
    fine, coarse = np.zeros((1, 1, 4, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    fine[0, 0, 0, 0] = 9
    patches = make_patches([fine, coarse]).astype(np.float32)
    assert patches.shape == (1, 4, DEPTH)
    # Averaged over three with its neighbours, a corner of 9 spreads as 9/2 and 9/3 along each axis; a place of the
    # grid covers two by two of that.
    share = (9 / 2 + 9 / 3) / 2 / 9
    first = 9 * share * share
    np.testing.assert_allclose(patches[0, 0, :2], np.array([first, 1]) / np.hypot(first, 1), atol=2e-3)
    np.testing.assert_allclose(patches[0, 3, :2], [0, 1], atol=2e-3)
    assert not patches[..., 2:].any()


def test_finer_layers_follow_each_as_a_unit_vector_on_the_same_grid() -> None:
    coarse, middle = np.ones((1, 3, 2, 2), np.float32), np.ones((1, 2, 4, 4), np.float32)
    fine = np.ones((1, 4, 8, 8), np.float32)
    fine[0, :, 4:, 4:] *= 100  # how strong a layer is plays no part: each is of length 1
    patches = make_patches([middle, coarse], [fine, middle]).astype(np.float32)
    assert patches.shape == (1, 4, DEPTH + FINE_DEPTH)
    np.testing.assert_array_equal(patches[..., :DEPTH], make_patches([middle, coarse]).astype(np.float32))
    np.testing.assert_allclose(patches[0, :, DEPTH : DEPTH + 4], 0.5, atol=2e-3)
    np.testing.assert_allclose(patches[0, :, DEPTH + 4 : DEPTH + 6], np.sqrt(0.5), atol=2e-3)
    assert not patches[..., DEPTH + 6 :].any()


@pytest.mark.usefixtures("fine_layers")
def test_a_network_with_finer_layers_has_deeper_patches_and_can_look_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = residual_network(tmp_path / "net.onnx")
    middle = middle_outputs(path.read_bytes(), 16)
    assert onnx_extractor.fine_outputs(path.read_bytes(), 16) == (), "none of them is finer than the middle ones"
    shallow = OnnxExtractor(path)
    assert (shallow.patch_depth, look_as_before(shallow, None)) == (DEPTH, shallow)
    monkeypatch.setattr(onnx_extractor, "fine_outputs", lambda model, size: middle)
    deep = OnnxExtractor(path)
    pictures = np.random.default_rng(0).integers(0, 256, (5, 16, 16, 3), dtype=np.uint8)
    patches = deep.look(pictures)[1]
    assert patches.shape == (5, 64, DEPTH + FINE_DEPTH)
    before = look_as_before(deep, DEPTH)
    np.testing.assert_array_equal(before.look(pictures)[1], patches[..., :DEPTH])  # type: ignore[attr-defined]
    assert deep.patch_depth == DEPTH + FINE_DEPTH, "the extractor itself is as it was"


def test_finer_layers_are_those_beside_the_middle_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = residual_network(tmp_path / "net.onnx").read_bytes()  # its sum is at two pixels a place
    monkeypatch.setattr(onnx_extractor, "FINE", (1, 3))
    (fine,) = onnx_extractor.fine_outputs(model, 16)
    monkeypatch.setattr(onnx_extractor, "FINEST", 1)
    assert middle_outputs(model, 16) == (fine,)


def test_patches_of_two_depths_are_stored_apart(tmp_path: Path) -> None:
    source, cache = open_source(make_folder(tmp_path / "data", 20)), tmp_path / "cache"
    deep = extract(source, DeepExtractor(), cache, with_patches=True).patches
    before = extract(source, look_as_before(DeepExtractor(), DEPTH), cache, with_patches=True).patches
    again = extract(source, DeepExtractor(), cache, with_patches=True).patches
    assert deep is not None
    assert before is not None
    assert deep.shape == (20, 4, DEPTH + FINE_DEPTH)
    np.testing.assert_array_equal(before, deep[..., :DEPTH])
    np.testing.assert_array_equal(again, deep)


def test_wide_layers_are_projected_and_keep_their_distances() -> None:
    layer = np.random.default_rng(0).normal(size=(1, 600, 5, 5)).astype(np.float32)
    patches = make_patches([layer])[0].astype(np.float64)
    whole = make_patches.__globals__["_on_grid"](layer, 5)[0]
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    apart, kept = (np.linalg.norm(x[:, None] - x, axis=2)[np.triu_indices(25, 1)] for x in (whole, patches))
    assert 0.9 < np.mean(kept / apart) < 1.1
    assert np.std(kept / apart) < 0.15


def test_patches_are_stored_beside_the_features_and_read_again(tmp_path: Path) -> None:
    source, cache = open_source(make_folder(tmp_path / "data", 40)), tmp_path / "cache"
    plain = extract(source, PlaceExtractor(), cache)
    assert plain.patches is None
    extractor = PlaceExtractor()
    both = extract(source, extractor, cache, with_patches=True)
    assert sum(extractor.seen) == 40  # the features were there, the patches were not
    assert both.patches is not None
    assert both.patches.shape == (40, 4, DEPTH)
    assert both.patches.dtype == np.float16
    np.testing.assert_array_equal(both.matrix, plain.matrix)
    np.testing.assert_allclose(both.patches[..., 0].mean(axis=1), both.matrix[:, 0], rtol=2e-2)
    again = PlaceExtractor()
    read = extract(source, again, cache, with_patches=True)
    assert again.seen == []
    assert read.patches is not None
    np.testing.assert_array_equal(read.patches, both.patches)


def test_patches_of_a_broken_off_run_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks(PlaceExtractor):
        def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
            if len(self.seen) == 2:
                raise KeyboardInterrupt
            return super().look(pictures)

    source, cache = open_source(make_folder(tmp_path / "data", 60)), tmp_path / "cache"
    with pytest.raises(KeyboardInterrupt):
        extract(source, Breaks(), cache, with_patches=True)
    extractor = PlaceExtractor()
    found = extract(source, extractor, cache, with_patches=True)
    assert sum(extractor.seen) == 60 - 32
    right = extract(source, PlaceExtractor(), tmp_path / "other", with_patches=True)
    assert found.patches is not None
    assert right.patches is not None
    np.testing.assert_array_equal(found.patches, right.patches)


def test_a_picture_that_cannot_be_read_has_no_patches(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "data", 9)
    bad = folder / "plain" / "picture4.png"
    bad.write_bytes(bad.read_bytes()[:400])
    found = extract(open_source(folder), PlaceExtractor(), tmp_path / "cache", with_patches=True)
    bad.unlink()
    right = extract(open_source(folder), PlaceExtractor(), tmp_path / "other", with_patches=True)
    assert found.patches is not None
    assert right.patches is not None
    assert len(found.patches) == len(found.matrix) == 8
    np.testing.assert_array_equal(found.patches, right.patches, "the others have their own")
