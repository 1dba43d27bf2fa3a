"""Any ONNX file with a picture as input, run by onnxruntime, or by torch where there is a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.errors import ConfigError, DataError, ModelFileError
from soel.images.extractors import Pictures, check_pixels, file_digest
from soel.images.items import reason
from soel.images.onnx_file import (
    Graph,
    feature_output,
    fine_outputs,
    middle_outputs,
    normalises,
    read_graph,
    with_outputs,
)
from soel.images.patches import DEPTH, FINE_DEPTH, Patches, make_patches
from soel.images.preprocess import IMAGENET_DEVIATION, IMAGENET_MEAN
from soel.threads import n_cores
from soel.types import Floats

if TYPE_CHECKING:
    from soel.images.torch_resnet import TorchResNet

MOST_TOGETHER = 8  # batches at once
SIZE = 224  # where the file leaves it open
_ONE = np.ones(3, np.float32)
_SCALES = {  # pixels p become (p - centre) / width
    "bytes": (0 * _ONE, _ONE),
    "unit": (0 * _ONE, 255 * _ONE),
    "imagenet": (IMAGENET_MEAN, IMAGENET_DEVIATION),
    "lite": (127 * _ONE, 128 * _ONE),
}


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
        self._on_gpu = _in_torch(path, self.size) if self.pixels == usual and has_gpu() else None
        self._session: Any = None if self._on_gpu else _session(path, (self._output,), graph.outputs)
        self.n_together = 1 if self._on_gpu else min(n_cores(), MOST_TOGETHER)
        self._bytes = self._session is not None and self._session.get_inputs()[0].type == "tensor(uint8)"
        self._path, self._known = path, graph.outputs

    @cached_property
    def middle(self) -> tuple[str, ...]:
        """The middle layers that patches are made of; none for a file that has no residual sums."""
        return middle_outputs(self._path.read_bytes(), self.size) if self._channels_first else ()

    @cached_property
    def _fine(self) -> tuple[str, ...]:
        """Finer layers, some of which may be middle ones too."""
        return fine_outputs(self._path.read_bytes(), self.size) if self.middle else ()

    @cached_property
    def patch_depth(self) -> int:
        """How many values a patch has; whoever needs those of an earlier release sets fewer."""
        return DEPTH + (FINE_DEPTH if self._fine else 0)

    @cached_property
    def _looking(self) -> Any:
        """The network with its middle and finer layers as outputs."""
        return _session(self._path, (self._output, *self._layers), self._known)

    @cached_property
    def _layers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.middle, *self._fine)))

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, d); what has more axes is averaged over the picture."""
        if self._on_gpu is not None:
            return self._vectors(self._on_gpu.features(pictures))
        (found,) = self._run(self._session, [self._output], self.prepare(pictures))
        return self._vectors(found)

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        """Features (B, d) and patches (B, P, D), from one pass."""
        if self._on_gpu is not None:
            found, *layers = self._on_gpu.look(pictures, self._layers)
        else:
            found, *layers = self._run(self._looking, [self._output, *self._layers], self.prepare(pictures))
        by_name, fine = dict(zip(self._layers, layers, strict=True)), self._fine if self.patch_depth > DEPTH else ()
        return self._vectors(found), make_patches([by_name[name] for name in self.middle], [by_name[n] for n in fine])

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
        step, parts = self._batch or len(values), []
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


def has_gpu() -> bool:
    """Whether torch sees a GPU."""
    import torch  # loading it takes a second

    return bool(torch.cuda.is_available())


def _in_torch(path: Path, size: int) -> TorchResNet | None:
    """The network in torch; None where torch does not know what it is made of."""
    from soel.images.torch_resnet import load_onnx_resnet

    try:
        return load_onnx_resnet(path, size=size)
    except ModelFileError:
        return None


def _session(path: Path, outputs: Sequence[str], known: Sequence[str]) -> Any:
    """The file's network in onnxruntime with these outputs. known: those that the file says it has."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigError("ONNX files need onnxruntime: pip install 'soel[images]'.") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Several batches at once, each on few threads, wait less for one another than one batch on all of them. Threads
    # that spin while they wait would take the processor from those that decode.
    options.intra_op_num_threads = max(1, n_cores() // MOST_TOGETHER)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    providers = [p for p in onnxruntime.get_available_providers() if p in ("CUDAExecutionProvider",)]
    content = str(path) if set(outputs) <= set(known) else with_outputs(path.read_bytes(), outputs)
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
