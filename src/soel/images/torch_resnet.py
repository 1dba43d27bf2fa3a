"""A residual network from an ONNX file in torch, for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto
from onnx.helper import get_attribute_value
from onnx.numpy_helper import to_array

from soel.deep import F, Tensor, nn, torch
from soel.errors import ModelFileError
from soel.images.onnx_extractor import find_inputs, read_model, unreadable
from soel.types import Floats

Inputs = Sequence[Any]
Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class Node:
    """One operation: names of what goes in and out, and its attributes (int, float, bytes, array or list)."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes


class OnnxModule(nn.Module):
    """Computes the nodes of a graph in order. Knows the operations of residual networks, no others."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = read_model(path).graph
        try:
            nodes = [Node(n.op_type, tuple(n.input), tuple(n.output), _attributes(n)) for n in graph.node]
            constants = {tensor.name: torch.from_numpy(to_array(tensor).copy()) for tensor in graph.initializer}
            self.input = find_inputs(graph)[0].name
            _check_operations(path, nodes)
            self.nodes = _fold_constants(nodes, constants)
        except (LookupError, TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise unreadable(path, error) from error
        used = {name for node in self.nodes for name in node.inputs}
        self._slots: dict[str, str] = {}
        for number, name in enumerate(name for name in constants if name in used):
            self._slots[name] = f"constant_{number}"  # names in a file may hold dots, buffers may not
            self.register_buffer(self._slots[name], constants[name])
        self._plain = {name: value.tolist() for name, value in constants.items() if not value.is_floating_point()}

    def forward(self, x: Tensor, outputs: Sequence[str]) -> list[Tensor]:
        """Images (B, 3, H, W) as the graph wants them -> these layers."""
        values: dict[str, Any] = {name: getattr(self, slot) for name, slot in self._slots.items()} | self._plain
        values[self.input], missing = x, set(outputs)
        for node in self.nodes:
            given = [values[name] if name else None for name in node.inputs]
            values[node.outputs[0]] = _OPERATIONS[node.op](given, node.attributes)
            missing.discard(node.outputs[0])
            if not missing:
                break
        return [values[name] for name in outputs]


def _attributes(node: NodeProto) -> dict[str, Any]:
    found = {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}
    return {name: to_array(value) if isinstance(value, TensorProto) else value for name, value in found.items()}


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


class TorchSession:
    """Runs an ONNX file as a session of onnxruntime does. device: None for a GPU where there is one."""

    def __init__(self, path: Path, device: str | None = None) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.module = OnnxModule(path).eval().to(self.device)
        if self.device.type == "cuda":
            self.module = self.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def run(self, outputs: Sequence[str], inputs: Mapping[str, NDArray[np.float32]]) -> list[Floats]:
        """These layers of the one input, images (B, 3, H, W)."""
        (values,) = inputs.values()
        with torch.inference_mode(), _exact():
            found = self.module(torch.from_numpy(values).to(self.device), outputs)
            return [layer.cpu().numpy() for layer in found]


@contextmanager
def _exact() -> Iterator[None]:
    """Full float32 products while inside: features must not depend on a machine's shortcuts."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before
