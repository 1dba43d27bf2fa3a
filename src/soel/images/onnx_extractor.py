"""Any ONNX file with a picture as input, run by onnxruntime, or by torch where there is a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.deep import has_gpu
from soel.errors import DataError, ModelFileError
from soel.images.decode import IMAGENET_DEVIATION, IMAGENET_MEAN
from soel.images.extractors import DEFAULT, Pictures, check_pixels, file_digest
from soel.images.image_items import reason
from soel.images.patches import make_patches
from soel.numeric import n_cores
from soel.plugins import missing_package
from soel.types import Floats

MOST_TOGETHER = 8  # batches at once
SIZE = 224  # where the file leaves it open
_ONE = np.ones(3, np.float32)
_SCALES = {  # pixels p become (p - centre) / width
    "bytes": (0 * _ONE, _ONE),
    "unit": (0 * _ONE, 255 * _ONE),
    "imagenet": (IMAGENET_MEAN, IMAGENET_DEVIATION),
    "lite": (127 * _ONE, 128 * _ONE),
}
Array = NDArray[Any]
FINEST, COARSEST = 6, 20  # pixels of the picture that a place of a middle layer stands for
LOOPS = ("Loop", "Scan")
MOST_PIXELS = 1_100_000  # of pictures that are run as one batch: their layers take 100 times as many bytes
FIRST_PLACES = {DEFAULT: 0.0}
OTHER_SHAPE = (96, 64)  # pixels added to the sides, to try whether the network takes any


class OnnxExtractor:
    """Runs a file's network. A classifier gives what goes into its last layer.

    pixels: how the network wants pixels: 'bytes' (0 to 255), 'unit' (0 to 1), 'imagenet' (normalised), 'lite'.
    None decides by the file: a network that starts with anything but a layer normalises by itself.
    weights: a fingerprint of the weights; None takes that of the file.
    """

    def __init__(
        self, path: Path, name: str | None = None, pixels: str | None = None, weights: str | None = None
    ) -> None:
        if not path.is_file():
            raise ModelFileError(f"There is no model file {path}. Check the path.")
        graph = read_graph(path)
        self.name = name or path.name
        usual = "bytes" if normalises(graph) else "imagenet"
        self.pixels = usual if pixels is None else check_pixels(pixels)
        self._name, shape = _picture_input(path, graph)
        self._channels_first = shape[1] in (1, 3)
        side = shape[2]
        self.size = SIZE if side is None else side
        self._batch = shape[0]
        self._output = feature_output(graph)
        self.fingerprint = f"{(weights or file_digest(path))[:16]}-{self.pixels}-{self.size}-{self._output}"
        self._on_gpu = _in_torch(path) if has_gpu() else None
        self._session: Any = self._on_gpu or _session(path, (self._output,), graph.outputs)
        self.n_together = 1 if self._on_gpu else min(n_cores(), MOST_TOGETHER)
        self._bytes = self._on_gpu is None and self._session.get_inputs()[0].type == "tensor(uint8)"
        self._path, self._known = path, graph.outputs

    @cached_property
    def middle(self) -> tuple[str, ...]:
        """The middle layers that patches are made of; none for a file that has no residual sums."""
        return middle_outputs(self._path.read_bytes(), self.size) if self._channels_first else ()

    @property
    def first_place(self) -> float:
        """Where the middle of the first place lies, in steps from one to the next: a dot that moves shows it."""
        return FIRST_PLACES.get(self.name, 0.5)

    @cached_property
    def takes_any_shape(self) -> bool:
        """Whether pictures of another shape than the file's can be run; tried once."""
        tall, wide = (self.size + more for more in OTHER_SHAPE)
        try:
            self._run(self._looking, [self._output], self.prepare(np.zeros((1, tall, wide, 3), np.uint8)))
        except ModelFileError:
            return False
        return True

    @cached_property
    def _looking(self) -> Any:
        """The network with its middle layers as outputs, for pictures of any shape where it can."""
        return self._on_gpu or _session(self._path, (self._output, *self.middle), self._known, self._name)

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, d); what has more axes is averaged over the picture."""
        (found,) = self._run(self._session, [self._output], self.prepare(pictures))
        return self._vectors(found)

    def look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
        """Features (B, d) and patches (B, down, across, D), from one pass."""
        found, *layers = self._run(self._looking, [self._output, *self.middle], self.prepare(pictures))
        return self._vectors(found), make_patches(layers)

    def prepare(self, pictures: Pictures) -> Any:
        """Pictures as the network wants them."""
        if self._bytes:
            return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)) if self._channels_first else pictures
        axes = (1, 3, 1, 1) if self._channels_first else (1, 1, 1, 3)
        centre, width = (scale.reshape(axes) for scale in _SCALES[self.pixels])
        values = pictures.transpose(0, 3, 1, 2) if self._channels_first else pictures
        out = np.empty(values.shape, np.float32)  # written once, in the layout that the network reads
        np.subtract(values, centre, out=out, dtype=np.float32)
        return out if self.pixels == "bytes" else np.divide(out, width, out=out)

    def _run(self, session: Any, outputs: Sequence[str], values: Any) -> list[Floats]:
        """The outputs, each (B, ...); a network of a fixed batch gets its last picture again until it is full."""
        n_pixels = values.shape[2] * values.shape[3 if self._channels_first else 1]
        step, parts = self._batch or max(1, MOST_PIXELS // n_pixels), []
        for start in range(0, len(values), step):
            part = values[start : start + step]
            short = step - len(part) if self._batch else 0
            given = np.concatenate([part, np.repeat(part[-1:], short, axis=0)]) if short else part
            try:
                found = session.run(list(outputs), {self._name: given})
            except Exception as error:
                raise ModelFileError(f"{self.name} cannot be run on pictures: {reason(error)}.") from error
            parts.append([np.asarray(output[: len(part)], np.float32) for output in found])
        return [np.concatenate(pieces) if len(pieces) > 1 else pieces[0] for pieces in zip(*parts, strict=True)]

    def _vectors(self, found: Floats) -> Floats:
        found = found.mean(axis=(2, 3)) if found.ndim == 4 else found
        if found.ndim != 2:
            raise DataError(f"{self.name} gives an array of shape {found.shape}, not one vector per picture.")
        return found


def _in_torch(path: Path) -> Any:
    """The network in torch; None where torch does not know what it is made of."""
    from soel.images.torch_resnet import TorchSession

    try:
        return TorchSession(path)
    except ModelFileError:
        return None


def _session(path: Path, outputs: Sequence[str], known: Sequence[str], freed: str | None = None) -> Any:
    """The file's network in onnxruntime with these outputs. known: those that the file says it has.

    freed: the input that may have pictures of any shape.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise missing_package("ONNX files", "onnxruntime", "images") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Several batches at once, each on few threads, wait less for one another than one batch on all of them. Threads
    # that spin while they wait would take the processor from those that decode.
    options.intra_op_num_threads = max(1, n_cores() // MOST_TOGETHER)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    providers = [p for p in onnxruntime.get_available_providers() if p in ("CUDAExecutionProvider",)]
    content = str(path) if set(outputs) <= set(known) else with_outputs(path.read_bytes(), outputs, freed)
    try:
        return onnxruntime.InferenceSession(content, options, providers=[*providers, "CPUExecutionProvider"])
    except Exception as error:
        raise ModelFileError(f"{path.name} cannot be loaded by onnxruntime: {reason(error)}.") from error


def _picture_input(path: Path, graph: Graph) -> tuple[str, tuple[int | None, ...]]:
    for name, shape in graph.inputs.items():
        if len(shape) == 4 and (shape[1] == 3 or shape[3] == 3):
            return name, shape
    shapes = "; ".join(f"{name} {shape}" for name, shape in graph.inputs.items())
    raise ModelFileError(f"{path.name} has no input for colour pictures (its inputs: {shapes}). Give another model.")


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
        if len(shape) == 4 and shape[2] and shape[2] == shape[3] and FINEST <= size / shape[2] <= COARSEST:
            last[shape[1:]] = node.output[0]
    return tuple(last.values())


def with_outputs(model: bytes, names: Sequence[str], freed: str | None = None) -> bytes:
    """The file with more outputs. freed: the input whose pictures may have any height and width."""
    from onnx import ModelProto, ValueInfoProto

    proto = ModelProto.FromString(model)
    known = {value.name for value in proto.graph.output}
    proto.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in known)
    for value in proto.graph.input:
        if value.name == freed:
            for axis in (2, 3):
                value.type.tensor_type.shape.dim[axis].dim_param = f"side_{axis}"
            del proto.graph.value_info[:]  # they say shapes for the size that was
    content: bytes = proto.SerializeToString()
    return content
