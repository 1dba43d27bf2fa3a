"""Any ONNX file with a picture as input, run by onnxruntime, or by torch where there is a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.deep import has_gpu
from soel.errors import DataError, ModelFileError
from soel.images.extractors import DEFAULT, Pictures, check_pixels, file_digest, make_patches
from soel.images.image_items import reason
from soel.numeric import n_cores
from soel.plugins import missing_package
from soel.types import Floats

MOST_TOGETHER = 8  # batches at once
SIZE = 224  # where the file leaves it open
_ONE = np.ones(3, np.float32)
_SCALES = {  # pixels p become (p - centre) / width
    "bytes": (0 * _ONE, _ONE),
    "unit": (0 * _ONE, 255 * _ONE),
    "imagenet": (np.array([0.485, 0.456, 0.406], np.float32) * 255, np.array([0.229, 0.224, 0.225], np.float32) * 255),
    "lite": (127 * _ONE, 128 * _ONE),
}
Shape = tuple[int | None, ...]
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
        graph = read_model(path).graph
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
        self._session: Any = self._on_gpu or _session(path, (self._output,))
        self.n_together = 1 if self._on_gpu else min(n_cores(), MOST_TOGETHER)
        self._bytes = self._on_gpu is None and self._session.get_inputs()[0].type == "tensor(uint8)"
        self._path = path

    @cached_property
    def middle(self) -> tuple[str, ...]:
        """The middle layers that patches are made of; none for a file that has no residual sums."""
        return middle_outputs(read_model(self._path), self.size) if self._channels_first else ()

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
        return self._on_gpu or _session(self._path, (self._output, *self.middle), self._name)

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


def _session(path: Path, outputs: Sequence[str], freed: str | None = None) -> Any:
    """The file's network in onnxruntime with these outputs. freed: the input that may have pictures of any shape."""
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
    content = with_outputs(read_model(path), outputs, freed)
    try:
        return onnxruntime.InferenceSession(content, options, providers=[*providers, "CPUExecutionProvider"])
    except Exception as error:
        raise ModelFileError(f"{path.name} cannot be loaded by onnxruntime: {reason(error)}.") from error


def _picture_input(path: Path, graph: Any) -> tuple[str, Shape]:
    inputs = {value.name: _shape(value) for value in find_inputs(graph)}
    for name, shape in inputs.items():
        if len(shape) == 4 and (shape[1] == 3 or shape[3] == 3):
            return name, shape
    shapes = "; ".join(f"{name} {shape}" for name, shape in inputs.items())
    raise ModelFileError(f"{path.name} has no input for colour pictures (its inputs: {shapes}). Give another model.")


def read_model(path: Path) -> Any:
    """The ModelProto of an ONNX file whose weights are inside it."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        model = ModelProto.FromString(path.read_bytes())
        _refuse_unsafe(model)
        if not model.graph.output:
            raise ValueError("there is no output in it")
    except (DecodeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise unreadable(path, error) from error
    return model


def unreadable(path: Path, error: Exception) -> ModelFileError:
    """What is said of a damaged file."""
    return ModelFileError(
        f"{path.name} cannot be read as an ONNX file ({error}). Export the model again, with its weights inside."
    )


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


def find_inputs(graph: Any) -> list[Any]:
    """What goes in: the inputs of a GraphProto that are no weights."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def _shape(value: Any) -> Shape:
    """Sizes of the axes; None for a free one."""
    axes = value.type.tensor_type.shape.dim
    return tuple(axis.dim_value if axis.HasField("dim_value") else None for axis in axes)


def normalises(graph: Any) -> bool:
    """Whether a network normalises by itself: it does arithmetic on its input before the first layer."""
    names = {value.name for value in find_inputs(graph)}
    first = next((node.op_type for node in graph.node if names & set(node.input)), "")
    return first not in ("Conv", "MatMul", "Gemm")


def feature_output(graph: Any) -> str:
    """The input of a last linear layer, or the output of a network that has none at its end."""
    makers = {name: node for node in graph.node for name in node.output}
    at = last = str(graph.output[0].name)
    while at in makers:
        node = makers[at]
        if node.op_type in ("Gemm", "MatMul"):
            return str(node.input[0])
        if node.op_type not in ("Softmax", "LogSoftmax", "Add", "Identity"):
            break
        at = next((name for name in node.input if name in makers), "")
    return last


def middle_outputs(model: Any, size: int) -> tuple[str, ...]:
    """The last residual sum of each width where a place stands for 6 to 20 pixels; empty where there are none.

    size: of the square pictures that go in.
    """
    from onnx import shape_inference

    for given in find_inputs(model.graph):
        axes = given.type.tensor_type.shape.dim
        for axis in [axes[at] for at in range(2, len(axes)) if not axes[at].dim_value]:
            axis.dim_value = size
    graph = shape_inference.infer_shapes(model).graph
    shapes = {value.name: _shape(value) for value in graph.value_info}
    last: dict[Shape, str] = {}
    for node in graph.node:
        shape = shapes.get(node.output[0], ()) if node.op_type == "Add" else ()
        if len(shape) == 4 and shape[2] and shape[2] == shape[3] and FINEST <= size / shape[2] <= COARSEST:
            last[shape[1:]] = node.output[0]
    return tuple(last.values())


def with_outputs(model: Any, names: Sequence[str], freed: str | None = None) -> bytes:
    """The model with more outputs. freed: the input whose pictures may have any height and width."""
    from onnx import ValueInfoProto

    known = {value.name for value in model.graph.output}
    model.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in known)
    for value in model.graph.input:
        if value.name == freed:
            for axis in (2, 3):
                value.type.tensor_type.shape.dim[axis].dim_param = f"side_{axis}"
            del model.graph.value_info[:]  # they say shapes for the size that was
    content: bytes = model.SerializeToString()
    return content
