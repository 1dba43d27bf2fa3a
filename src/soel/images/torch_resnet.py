"""A residual network from an ONNX file in torch: the fast way for many pictures on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.deep import F, Tensor, nn, torch
from soel.errors import DataError, ModelFileError
from soel.images.decode import IMAGENET_DEVIATION, IMAGENET_MEAN, fit_shorter_side
from soel.images.onnx_extractor import Node, feature_output, normalises, read_graph
from soel.types import Floats

Inputs = Sequence[Any]
Attributes = Mapping[str, Any]
Images = NDArray[np.uint8]


class OnnxModule(nn.Module):
    """Computes the nodes of a graph in order. Knows the operations of residual networks, no others."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = read_graph(path)
        _check_operations(path, graph.nodes)
        self.input, self.output = next(iter(graph.inputs)), feature_output(graph)
        self.normalises = normalises(graph)
        constants: dict[str, Any] = {name: torch.from_numpy(a.copy()) for name, a in graph.constants.items()}
        self.nodes = _fold_constants(graph.nodes, constants)
        used = {name for node in self.nodes for name in node.inputs}
        self._slots: dict[str, str] = {}
        for number, name in enumerate(name for name in constants if name in used):
            self._slots[name] = f"constant_{number}"  # names in a file may hold dots, buffers may not
            self.register_buffer(self._slots[name], constants[name])
        self._plain = {name: value.tolist() for name, value in constants.items() if not value.is_floating_point()}

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W) as the graph wants them -> the features."""
        return self.look(x, ())[0]

    def look(self, x: Tensor, middle: Sequence[str]) -> list[Tensor]:
        """The features, and these middle layers on the way to them."""
        values: dict[str, Any] = {name: getattr(self, slot) for name, slot in self._slots.items()} | self._plain
        values[self.input] = x
        for node in self.nodes:
            given = [values[name] if name else None for name in node.inputs]
            values[node.outputs[0]] = _OPERATIONS[node.op](given, node.attributes)
            if node.outputs[0] == self.output:
                break
        return [values[name] for name in (self.output, *middle)]


def _check_operations(path: Path, nodes: Sequence[Node]) -> None:
    unknown = sorted({node.op for node in nodes} - set(_OPERATIONS))
    if unknown:
        raise ModelFileError(
            f"{path.name} uses {', '.join(map(repr, unknown))}, which the torch loader does not know. "
            "Run it with onnxruntime."
        )


def _fold_constants(nodes: Sequence[Node], constants: dict[str, Any]) -> list[Node]:
    """The nodes that depend on the image; what depends on constants alone becomes a constant."""
    kept = []
    for node in nodes:
        if all(name in constants for name in node.inputs if name):
            given = [constants[name] if name else None for name in node.inputs]
            constants[node.outputs[0]] = _OPERATIONS[node.op](given, node.attributes)
        else:
            kept.append(node)
    return kept


def _symmetric(attributes: Attributes) -> tuple[int, int]:
    before_y, before_x, after_y, after_x = attributes.get("pads", [0, 0, 0, 0])
    if (before_y, before_x) != (after_y, after_x) or attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b""):
        raise ModelFileError("A layer pads unevenly, which the torch loader does not know. Run it with onnxruntime.")
    return before_y, before_x


def _conv(given: Inputs, attributes: Attributes) -> Tensor:
    bias = given[2] if len(given) > 2 else None
    strides, dilations = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    groups = attributes.get("group", 1)
    return F.conv2d(given[0], given[1], bias, strides, _symmetric(attributes), dilations, groups)


def _max_pool(given: Inputs, attributes: Attributes) -> Tensor:
    return F.max_pool2d(
        given[0],
        attributes["kernel_shape"],
        attributes.get("strides", [1, 1]),
        _symmetric(attributes),
        ceil_mode=bool(attributes.get("ceil_mode", 0)),
    )


def _batch_norm(given: Inputs, attributes: Attributes) -> Tensor:
    x, scale, shift, mean, variance = given
    return F.batch_norm(x, mean, variance, scale, shift, training=False, eps=attributes.get("epsilon", 1e-5))


def _gemm(given: Inputs, attributes: Attributes) -> Tensor:
    first = given[0].T if attributes.get("transA", 0) else given[0]
    second = given[1].T if attributes.get("transB", 0) else given[1]
    product: Tensor = attributes.get("alpha", 1.0) * (first @ second)
    return product if len(given) < 3 else product + attributes.get("beta", 1.0) * given[2]


def _pad(given: Inputs, attributes: Attributes) -> Tensor:
    pads = given[1].tolist() if isinstance(given[1], Tensor) else given[1]
    half = len(pads) // 2
    pairs = [side for axis in reversed(range(half)) for side in (pads[axis], pads[half + axis])]
    return F.pad(given[0], pairs)


def _cast(given: Inputs, attributes: Attributes) -> Tensor:
    kinds = {1: torch.float32, 6: torch.int32, 7: torch.int64, 10: torch.float16, 11: torch.float64}
    return given[0].to(kinds[attributes["to"]])  # type: ignore[no-any-return]


def _gather(given: Inputs, attributes: Attributes) -> Tensor:
    indices = torch.as_tensor(given[1], device=given[0].device)
    return given[0].index_select(attributes.get("axis", 0), indices)  # type: ignore[no-any-return]


def _flatten(given: Inputs, attributes: Attributes) -> Tensor:
    return given[0].flatten(attributes.get("axis", 1))  # type: ignore[no-any-return]


def _mean_of_image(given: Inputs, attributes: Attributes) -> Tensor:
    return given[0].mean(dim=(2, 3), keepdim=True)  # type: ignore[no-any-return]


_OPERATIONS: dict[str, Callable[[Inputs, Attributes], Any]] = {
    "Add": lambda given, _: given[0] + given[1],
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Constant": lambda _, attributes: torch.from_numpy(attributes["value"].copy()),
    "Conv": _conv,
    "Div": lambda given, _: given[0] / given[1],
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _mean_of_image,
    "Identity": lambda given, _: given[0],
    "MaxPool": _max_pool,
    "Mul": lambda given, _: given[0] * given[1],
    "Pad": _pad,
    "Relu": lambda given, _: F.relu(given[0]),
    "Sub": lambda given, _: given[0] - given[1],
}


class TorchResNet:
    """A frozen network from an ONNX file. One that does not normalise by itself gets ImageNet's normalisation."""

    def __init__(self, module: OnnxModule, device: torch.device, size: int = 224) -> None:
        self.module, self.device, self.size = module, device, size

    def features(self, images: Images, batch_size: int = 512) -> Floats:
        """Features (N, d) in float32 of the middle square of images (N, H, W) or (N, H, W, C), C of 1 or 3."""
        return self._run(images, (), batch_size, self.size)[0]

    def look(self, images: Images, middle: Sequence[str], batch_size: int = 64) -> list[Floats]:
        """The features and these middle layers, (N, C, H, W) each, of images as they are."""
        return self._run(images, middle, batch_size, None)

    def _run(self, images: Images, middle: Sequence[str], batch_size: int, size: int | None) -> list[Floats]:
        images = _check(images)
        parts: list[list[Tensor]] = []
        with torch.inference_mode(), _exact():
            for start in range(0, len(images), batch_size):
                block = torch.from_numpy(
                    images[start : start + batch_size].copy()
                )  # a mapped file cannot be written to
                prepared = self._scale(prepare(block.to(self.device), size))
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


def prepare(images: Tensor, size: int | None) -> Tensor:
    """Bytes (B, H, W, C) -> (B, 3, size, size) from 0 to 255: shorter side to `size`, centre crop; None: as they are.

    Columns first, then rows, each rounded to whole numbers as the image library does it, so that both ways
    give the same features.
    """
    x = images.permute(0, 3, 1, 2).float()
    if size is None:
        return x.expand(-1, 3, -1, -1)
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
