"""The graph of an ONNX file, read without the onnx package: protocol buffers in, plain values out."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import ModelFileError

Array = NDArray[Any]
Message = Mapping[int, list[Any]]

_DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}
_FLOATS, _INTS32, _INTS64 = 4, 5, 7
_EXTERNAL = 1


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
    try:
        graph = _fields(_fields(path.read_bytes())[7][0])
        constants = dict(_tensor(_fields(part)) for part in graph[5])
        inputs = dict(_value(_fields(part)) for part in graph[11])
        nodes = tuple(_node(_fields(part)) for part in graph[1])
        outputs = tuple(_text(_fields(part)[1]) for part in graph[12])
    except (LookupError, ValueError, OverflowError, struct.error) as error:
        raise ModelFileError(
            f"{path.name} cannot be read as an ONNX file ({error}). Export the model again."
        ) from error
    return Graph(nodes, constants, {k: v for k, v in inputs.items() if k not in constants}, outputs)


def _fields(data: bytes) -> Message:
    """The fields of a message by number, in order; a field that is not there is an empty list."""
    fields: defaultdict[int, list[Any]] = defaultdict(list)
    for number, value in _walk(memoryview(data)):
        fields[number].append(value)
    return fields


def _walk(data: memoryview) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value: Any
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = bytes(_slice(data, at, size)), at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = bytes(_slice(data, at, size)), at + size
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        yield key >> 3, value


def _slice(data: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(data):
        raise ValueError(f"{size} bytes are announced at byte {at}, the file ends at {len(data)}")
    return data[at : at + size]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"a number is cut off at byte {at}")
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _text(values: list[Any]) -> str:
    return values[0].decode() if values else ""


def _ints(values: list[Any]) -> list[int]:
    """Repeated integers, packed or one by one."""
    numbers: list[int] = []
    for value in values:
        if isinstance(value, int):
            numbers.append(_signed(value))
            continue
        data, at = memoryview(value), 0
        while at < len(data):
            number, at = _varint(data, at)
            numbers.append(_signed(number))
    return numbers


def _tensor(fields: Message) -> tuple[str, Array]:
    name, kind, shape = _text(fields[8]), fields[2][0], _ints(fields[1])
    if _EXTERNAL in fields[14]:
        raise ValueError(f"the weights {name!r} lie in another file")
    if kind not in _DTYPES:
        raise ValueError(f"the weights {name!r} have the unknown type {kind}")
    dtype = np.dtype(_DTYPES[kind])
    if fields[9]:
        flat = np.frombuffer(fields[9][0], dtype)
    elif kind == 1:
        flat = np.frombuffer(b"".join(fields[_FLOATS]), dtype)
    elif kind == 10:
        flat = np.array(_ints(fields[_INTS32]), np.uint16).view(dtype)
    else:
        flat = np.array(_ints(fields[_INTS64] or fields[_INTS32]), dtype)
    return name, flat.reshape(shape)


def _node(fields: Message) -> Node:
    attributes = dict(_attribute(_fields(part)) for part in fields[5])
    inputs, outputs = (tuple(name.decode() for name in fields[number]) for number in (1, 2))
    return Node(_text(fields[4]), inputs, outputs, attributes)


def _attribute(fields: Message) -> tuple[str, Any]:
    kind = fields[20][0] if fields[20] else 0
    return _text(fields[1]), _READERS[kind](fields) if kind in _READERS else None


_READERS: Mapping[int, Callable[[Message], Any]] = {
    1: lambda fields: struct.unpack("<f", fields[2][0])[0] if fields[2] else 0.0,
    2: lambda fields: _signed(fields[3][0]) if fields[3] else 0,
    3: lambda fields: fields[4][0] if fields[4] else b"",
    4: lambda fields: _tensor(_fields(fields[5][0]))[1],
    6: lambda fields: np.frombuffer(b"".join(fields[7]), "<f4").tolist(),
    7: lambda fields: _ints(fields[8]),
}


def _value(fields: Message) -> tuple[str, tuple[int | None, ...]]:
    tensor = _fields(_fields(fields[2][0])[1][0])
    axes = _fields(tensor[2][0])[1] if tensor[2] else []
    return _text(fields[1]), tuple(_axis(_fields(axis)) for axis in axes)


def _axis(fields: Message) -> int | None:
    return _signed(fields[1][0]) if fields[1] else None


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


def with_output(model: bytes, name: str) -> bytes:
    """The file with one more output. Two graphs in one message are read as one, so it is enough to append."""
    value = _sized(1, name.encode())
    return model + _sized(7, _sized(12, value))


def _sized(number: int, content: bytes) -> bytes:
    return _as_varint(number << 3 | 2) + _as_varint(len(content)) + content


def _as_varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
