"""Networks of other packages written as ONNX, and the default one in torch."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from soel.errors import ConfigError, ModelFileError
from soel.images import export
from soel.images.export import export_extractor
from soel.images.extractors import DEFAULT, open_extractor
from soel.images.onnx_extractor import OnnxExtractor
from tests.images.makers import noise


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
