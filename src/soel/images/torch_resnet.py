"""Features of image arrays in torch, on a GPU where there is one: the fast way for tens of thousands of images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from soel.errors import DataError
from soel.images.preprocess import IMAGENET_DEVIATION, IMAGENET_MEAN, fit_shorter_side
from soel.images.torch_onnx import OnnxModule
from soel.types import Floats

Images = NDArray[np.uint8]


class TorchResNet:
    """A frozen network from an ONNX file. One that does not normalise by itself gets ImageNet's normalisation."""

    def __init__(self, module: OnnxModule, device: torch.device, size: int = 224) -> None:
        self.module, self.device, self.size = module, device, size

    def features(self, images: Images, batch_size: int = 512) -> Floats:
        """Features (N, d) in float32 of images (N, H, W) or (N, H, W, C), C of 1 or 3."""
        return self.look(images, (), batch_size)[0]

    def look(self, images: Images, middle: Sequence[str], batch_size: int = 512) -> list[Floats]:
        """The features and these middle layers, (N, C, H, W) each."""
        images = _check(images)
        parts: list[list[Tensor]] = []
        with torch.inference_mode(), _exact():
            for start in range(0, len(images), batch_size):
                block = torch.from_numpy(
                    images[start : start + batch_size].copy()
                )  # a mapped file cannot be written to
                prepared = self._scale(prepare(block.to(self.device), self.size))
                parts.append(self.module.look(prepared, middle))
            return [torch.cat(layer).cpu().numpy() for layer in zip(*parts, strict=True)]

    def _scale(self, x: Tensor) -> Tensor:
        if self.module.normalises:
            return x
        centre, width = (torch.from_numpy(v).to(x.device).view(1, 3, 1, 1) for v in (IMAGENET_MEAN, IMAGENET_DEVIATION))
        return (x - centre) / width


def load_onnx_resnet(path: str | Path, device: str | None = None, size: int = 224) -> TorchResNet:
    """Load the network; device: 'cuda', 'cpu', or None for a GPU where there is one."""
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    module = OnnxModule(Path(path)).eval().to(chosen)
    if chosen.type == "cuda":
        module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return TorchResNet(module, chosen, size)


def prepare(images: Tensor, size: int) -> Tensor:
    """Bytes (B, H, W, C) -> (B, 3, size, size) from 0 to 255: shorter side to `size`, centre crop.

    Columns first, then rows, each rounded to whole numbers as the image library does it, so that both ways
    give the same features.
    """
    x = images.permute(0, 3, 1, 2).float()
    height, width = x.shape[2:]
    target = fit_shorter_side(height, width, size)
    for shape in ((height, target[1]), target):
        if shape != x.shape[2:]:
            shrinks = shape[0] < x.shape[2] or shape[1] < x.shape[3]
            x = F.interpolate(x, shape, mode="bilinear", align_corners=False, antialias=shrinks)
            x = (x + 0.5).floor().clamp(0, 255)
    top, left = (target[0] - size) // 2, (target[1] - size) // 2
    return x[:, :, top : top + size, left : left + size].expand(-1, 3, -1, -1)


class _exact:  # noqa: N801 - reads as a word in a `with` line
    """Full float32 products while inside: features must not depend on a machine's shortcuts."""

    def __enter__(self) -> None:
        self._before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

    def __exit__(self, *_: object) -> None:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = self._before


def _check(images: Images) -> Images:
    images = np.asarray(images)
    if images.ndim == 3:
        images = images[..., None]
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] not in (1, 3):
        raise DataError(
            f"Images must be bytes of shape (N, H, W) or (N, H, W, 1 or 3), got {images.dtype} {images.shape}."
        )
    return images
