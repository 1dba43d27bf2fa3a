"""The graph of an ONNX file as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from soel.errors import ModelFileError

Array = NDArray[Any]
FINEST, COARSEST = 6, 20  # pixels of the picture that a place of a middle layer stands for
LOOPS = ("Loop", "Scan")
FINE = 3, 12  # and of a finer one; a layer may be both


@dataclass(frozen=True)
class Node:
    """One operation: names of what goes in and out, and its attributes (int, float, bytes, array or list)."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Graph:
    """A network. inputs: name and shape, None for a free axis."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    inputs: Mapping[str, tuple[int | None, ...]]
    outputs: tuple[str, ...]


def read_graph(path: Path) -> Graph:
    """Read an ONNX file whose weights are inside it."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto, helper, numpy_helper

    try:
        model = ModelProto.FromString(path.read_bytes())
        _refuse_unsafe(model)
        graph = model.graph
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        inputs = {v.name: _shape(v) for v in graph.input if v.name not in constants}
        nodes = tuple(Node(n.op_type, tuple(n.input), tuple(n.output), _attributes(n, helper)) for n in graph.node)
        if not graph.output:
            raise ValueError("there is no output in it")
    except (DecodeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{path.name} cannot be read as an ONNX file ({error}). Export the model again, with its weights inside."
        ) from error
    return Graph(nodes, constants, inputs, tuple(value.name for value in graph.output))


def _refuse_unsafe(message: Any) -> None:
    """Refuse tensors that name another file, and loops, which may never end; anywhere in the model."""
    from onnx import NodeProto, TensorProto

    if isinstance(message, TensorProto):
        if message.data_location == TensorProto.EXTERNAL or message.external_data:
            raise ValueError(f"the weights {message.name!r} lie in another file")
        return
    if isinstance(message, NodeProto) and message.op_type in LOOPS:
        raise ValueError(f"it contains {message.op_type!r}, and loops are not run")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in [value] if hasattr(value, "ListFields") else value:
                _refuse_unsafe(each)


def _shape(value: Any) -> tuple[int | None, ...]:
    """Sizes of the axes; None for a free one."""
    axes = value.type.tensor_type.shape.dim
    return tuple(axis.dim_value if axis.HasField("dim_value") else None for axis in axes)


def _attributes(node: Any, helper: Any) -> dict[str, Any]:
    from onnx import TensorProto, numpy_helper

    found = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {k: numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for k, v in found.items()}


def normalises(graph: Graph) -> bool:
    """Whether a network normalises by itself: it does arithmetic on its input before the first layer."""
    names = set(graph.inputs)
    first = next((node.op for node in graph.nodes if names & set(node.inputs)), "")
    return first not in ("Conv", "MatMul", "Gemm")


def feature_output(graph: Graph) -> str:
    """The input of a last linear layer, or the output of a network that has none at its end."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    at = graph.outputs[0]
    while at in makers:
        node = makers[at]
        if node.op in ("Gemm", "MatMul"):
            return node.inputs[0]
        if node.op not in ("Softmax", "LogSoftmax", "Add", "Identity"):
            break
        at = next((name for name in node.inputs if name in makers), "")
    return graph.outputs[0]


def middle_outputs(model: bytes, size: int) -> tuple[str, ...]:
    """The last residual sum of each width where a place stands for 6 to 20 pixels; empty where there are none.

    size: of the square pictures that go in.
    """
    return _residual_sums(model, size, FINEST, COARSEST)


def fine_outputs(model: bytes, size: int) -> tuple[str, ...]:
    """The same where a place stands for 3 to 12 pixels; empty where none is finer than the middle layers are."""
    found, middle = _residual_sums(model, size, *FINE), middle_outputs(model, size)
    return found if set(found) - set(middle) else ()


def _residual_sums(model: bytes, size: int, finest: float, coarsest: float) -> tuple[str, ...]:
    from onnx import ModelProto, shape_inference

    proto = ModelProto.FromString(model)
    weights = {tensor.name for tensor in proto.graph.initializer}
    for given in (value for value in proto.graph.input if value.name not in weights):
        axes = given.type.tensor_type.shape.dim
        for axis in [axes[at] for at in range(2, len(axes)) if not axes[at].dim_value]:
            axis.dim_value = size
    graph = shape_inference.infer_shapes(proto).graph
    shapes = {value.name: _shape(value) for value in graph.value_info}
    last: dict[tuple[int | None, ...], str] = {}
    for node in graph.node:
        shape = shapes.get(node.output[0], ()) if node.op_type == "Add" else ()
        if len(shape) == 4 and shape[2] and shape[2] == shape[3] and finest <= size / shape[2] <= coarsest:
            last[shape[1:]] = node.output[0]
    return tuple(last.values())


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """The file with more outputs."""
    from onnx import ModelProto, ValueInfoProto

    proto = ModelProto.FromString(model)
    known = {value.name for value in proto.graph.output}
    proto.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in known)
    content: bytes = proto.SerializeToString()
    return content
