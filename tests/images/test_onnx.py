"""Networks as ONNX files: read, run, and written."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from onnx import TensorProto, helper
from torch import nn

from soel.errors import ConfigError, ModelFileError
from soel.images import export, onnx_extractor, torch_resnet
from soel.images.export import export_extractor
from soel.images.extractors import DEFAULT, open_extractor
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.torch_resnet import OnnxModule, TorchSession
from tests.images.makers import noise, residual_network


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return residual_network(tmp_path / "net.onnx")


def squares(n: int, size: int = 16) -> np.ndarray:
    return np.stack([noise(seed, size, size) for seed in range(n)])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 0.999), flip=st.integers(0, 10_000))
def test_a_damaged_file_is_refused_or_read_and_nothing_else(tmp_path: Path, cut: float, flip: int) -> None:
    content = bytearray(residual_network(tmp_path / "net.onnx").read_bytes())
    content = content[: int(cut * len(content))]
    if content:
        content[flip % len(content)] ^= 0xFF
    path = tmp_path / "damaged.onnx"
    path.write_bytes(bytes(content))
    with contextlib.suppress(ModelFileError):  # any other error fails
        OnnxModule(path)


def test_a_classifier_gives_what_goes_into_its_last_layer(network: Path) -> None:
    extractor = OnnxExtractor(network)
    pictures = squares(3)
    features = extractor.features(pictures)
    assert features.shape == (3, 8)
    theirs = onnx.load(network).graph
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in theirs.initializer}
    import onnxruntime

    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    logits = session.run(None, {"images": extractor.prepare(pictures)})[0]
    np.testing.assert_allclose(features @ weights["w3"].T + weights["c3"], logits, rtol=1e-4, atol=1e-5)


def test_how_pixels_are_given_follows_the_file(tmp_path: Path) -> None:
    plain = OnnxExtractor(residual_network(tmp_path / "plain.onnx"))
    inside = OnnxExtractor(residual_network(tmp_path / "inside.onnx", normalises=True))
    assert (plain.pixels, inside.pixels) == ("imagenet", "bytes")
    pictures = squares(2)
    np.testing.assert_array_equal(inside.prepare(pictures), pictures.transpose(0, 3, 1, 2))
    red = (pictures[..., 0] / 255 - 0.485) / 0.229
    np.testing.assert_allclose(plain.prepare(pictures)[:, 0], red, rtol=1e-4, atol=1e-5)
    lite = OnnxExtractor(tmp_path / "plain.onnx", pixels="lite")
    np.testing.assert_allclose(lite.prepare(pictures)[:, 0], (pictures[..., 0] - 127.0) / 128, rtol=1e-6)
    assert lite.fingerprint != plain.fingerprint


def test_the_name_of_a_file_may_say_how_it_wants_pixels(network: Path) -> None:
    def found(which: str) -> OnnxExtractor:
        extractor = open_extractor(which)
        assert isinstance(extractor, OnnxExtractor)
        return extractor

    assert found(str(network)).pixels == "imagenet"
    assert found(f"{network}?pixels=unit").pixels == "unit"
    assert found(f"{network}?pixels=unit").name == network.name
    for wrong in ("", "dots"):
        with pytest.raises(ConfigError, match=f"bytes, unit.*got '{wrong}'"):
            found(f"{network}?pixels={wrong}")


def test_a_network_of_a_fixed_batch_gives_the_same(tmp_path: Path) -> None:
    free = OnnxExtractor(residual_network(tmp_path / "free.onnx"))
    fixed = OnnxExtractor(residual_network(tmp_path / "fixed.onnx", shape=(4, 3, 16, 16)))
    pictures = squares(6)
    np.testing.assert_allclose(fixed.features(pictures), free.features(pictures), rtol=1e-4, atol=1e-5)


def test_a_free_size_is_the_usual_one(tmp_path: Path) -> None:
    assert OnnxExtractor(residual_network(tmp_path / "a.onnx", shape=("n", 3, "h", "w"))).size == 224


def test_wrong_files_and_settings(tmp_path: Path, network: Path) -> None:
    with pytest.raises(ModelFileError, match="no input for colour pictures"):
        OnnxExtractor(residual_network(tmp_path / "a.onnx", shape=("n", 5, 16, 16)))
    with pytest.raises(ModelFileError, match="no model file"):
        OnnxExtractor(tmp_path / "none.onnx")
    with pytest.raises(ConfigError, match="bytes, unit"):
        OnnxExtractor(network, pixels="dots")


def test_torch_says_what_it_does_not_know(tmp_path: Path) -> None:
    model = onnx.load(residual_network(tmp_path / "net.onnx"))
    model.graph.node[2].op_type = "Gelu"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ModelFileError, match="Gelu"):
        TorchSession(tmp_path / "other.onnx", "cpu")


@pytest.mark.parametrize("normalises", [False, True])
def test_a_gpu_gives_what_onnxruntime_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, normalises: bool) -> None:
    path, pictures = residual_network(tmp_path / "net.onnx", normalises), squares(5)
    without = OnnxExtractor(path)
    monkeypatch.setattr(onnx_extractor, "has_gpu", lambda: True)  # torch then computes on what there is
    monkeypatch.setattr(onnx_extractor, "_session", None)  # onnxruntime is not called
    on_gpu = OnnxExtractor(path, pixels="bytes" if normalises else "imagenet")
    assert on_gpu.fingerprint == without.fingerprint
    pictures.setflags(write=False)
    np.testing.assert_allclose(on_gpu.features(pictures), without.features(pictures), rtol=1e-4, atol=1e-4)


def test_a_network_that_torch_does_not_know_runs_without_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: Path
) -> None:
    expected = OnnxExtractor(network).features(squares(2))
    monkeypatch.setattr(onnx_extractor, "has_gpu", lambda: True)
    monkeypatch.setitem(torch_resnet._OPERATIONS, "Relu", None)
    del torch_resnet._OPERATIONS["Relu"]
    np.testing.assert_array_equal(OnnxExtractor(network).features(squares(2)), expected)


def save_graph(path: Path, *nodes: onnx.NodeProto) -> Path:
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, 16, 16])
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 3, 16, 16])
    model = helper.make_model(helper.make_graph(nodes, "net", [image], [features]), ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def external(neighbour: str) -> TensorProto:
    tensor = TensorProto(name="secret", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=neighbour)
    return tensor


def test_a_constant_in_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "neighbour").write_bytes(np.float32(7).tobytes())
    constant = helper.make_node("Constant", [], ["secret"], value=external("neighbour"))
    add = helper.make_node("Add", ["images", "secret"], ["features"])
    with pytest.raises(ModelFileError, match="'secret' lie in another file"):
        OnnxExtractor(save_graph(tmp_path / "net.onnx", constant, add))


@pytest.mark.parametrize("nested", [False, True])
def test_an_endless_loop_is_refused(tmp_path: Path, nested: bool) -> None:
    state = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    count = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    more = helper.make_tensor_value_info("more", TensorProto.BOOL, [])
    body = helper.make_graph([], "body", [count, more, state], [more, state])
    node = helper.make_node("Loop", ["", "", "images"], ["features"], body=body)
    if nested:
        branch = helper.make_graph([node], "branch", [], [state])
        node = helper.make_node("If", ["images"], ["features"], then_branch=branch, else_branch=branch)
    with pytest.raises(ModelFileError, match="'Loop', and loops are not run"):
        OnnxExtractor(save_graph(tmp_path / "net.onnx", node))


class Small(nn.Module):
    """Looks like a network of the package: features, then a layer called fc."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3, stride=8), nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> Any:
        return self.fc(self.conv(x).relu().mean(dim=(2, 3)))


def test_a_network_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    network = Small()
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    models.get_model = lambda name, weights: {"small": network}[name]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    export_extractor("torchvision:small", tmp_path / "small.onnx")
    monkeypatch.undo()
    extractor = OnnxExtractor(tmp_path / "small.onnx")
    assert (extractor.pixels, extractor.size) == ("imagenet", 224)
    pictures = np.stack([noise(seed, 224, 224) for seed in range(3)])
    with torch.no_grad():
        known = network(torch.from_numpy(extractor.prepare(pictures))).numpy()
    np.testing.assert_allclose(extractor.features(pictures), known, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("which", ["torchvision:resnet152", "transformers:some/model"])
def test_a_package_that_is_not_installed_is_named(tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, which.split(":")[0], None)
    with pytest.raises(ConfigError, match=which.split(":")[0]):
        export_extractor(which, tmp_path / "a.onnx")


def test_wrong_names(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no network"):
        export_extractor("resnet", tmp_path / "a.onnx")
    with pytest.raises(ConfigError, match=r"\.onnx"):
        export_extractor("efficientnet-lite2", tmp_path / "a.pt")


def test_the_default_network_as_onnx_computes_what_it_does_in_torch() -> None:
    extractor = open_extractor(DEFAULT)
    grey = np.full((1, extractor.size, extractor.size, 3), 127, np.uint8)  # what the network sees as 0
    with torch.no_grad():
        known = export.load_module()(torch.zeros(1, 3, extractor.size, extractor.size)).numpy()
    features = extractor.features(np.concatenate([grey, noise(0, extractor.size, extractor.size)[None]]))
    np.testing.assert_allclose(features[:1], known, rtol=1e-3, atol=1e-4)
    assert np.abs(features[1] - known[0]).max() > 0.1


def test_changed_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "DEFAULT_WEIGHTS", "0" * 64)
    with pytest.raises(ModelFileError, match="not the published ones"):
        export.load_module()
