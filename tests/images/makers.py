"""Small pictures, clips, networks and extractors, made on the spot."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from soel.images.extractors import Pictures
from soel.images.image_items import Picture
from soel.types import Floats


def noise(seed: int, height: int = 20, width: int = 30) -> Picture:
    """A picture of random colours around one of its own."""
    rng = np.random.default_rng(seed)
    base = rng.integers(40, 200, 3)
    return np.clip(base + rng.normal(0, 20, (height, width, 3)), 0, 255).astype(np.uint8)


def make_folder(folder: Path, n_pictures: int = 6) -> Path:
    """Pictures in two sub-folders: every third in 'odd', the others in 'plain'."""
    for number in range(n_pictures):
        place = folder / ("odd" if number % 3 == 0 else "plain")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise(number)).save(place / f"picture{number}.png")
    return folder


def make_clip(path: Path, n_frames: int = 30, rate: int = 10, size: int = 32) -> Path:
    """A clip whose frame n has the grey value 8 n: any frame can be told from its picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.width = stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = 7
        for number in range(n_frames):
            picture = np.full((size, size, 3), 8 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def png_that_claims(width: int, height: int) -> bytes:
    """A PNG whose header is right in form and whose data are almost none."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@dataclass
class ColourExtractor:
    """Mean and spread of each colour; remembers how many pictures it saw."""

    size: int = 16
    name: str = "colours"
    fingerprint: str | None = "colours-1"
    seen: list[int] = field(default_factory=list)

    def features(self, pictures: Pictures) -> Floats:
        self.seen.append(len(pictures))
        values = pictures.reshape(len(pictures), -1, 3).astype(np.float32)
        return np.concatenate([values.mean(axis=1), values.std(axis=1)], axis=1)


def residual_network(path: Path, normalises: bool = False, shape: Sequence[Any] = ("n", 3, 16, 16)) -> Path:
    """A classifier with everything a residual network has: strides, padding, batch-norm, a short cut, pooling."""
    rng = np.random.default_rng(0)
    weights: list[Any] = []
    nodes: list[Any] = []

    def constant(name: str, values: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(op: str, *inputs: str, **attributes: Any) -> str:
        output = f"t{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def drawn(*size: int) -> Any:
        return rng.normal(0, 0.3, size).astype(np.float32)

    x = "images"
    if normalises:
        x = node("Sub", x, constant("mean", np.full((1, 3, 1, 1), 127, np.float32)))
    half = constant("w1.h", drawn(8, 3, 3, 3).astype(np.float16))
    x = node("Conv", x, node("Cast", half, to=TensorProto.FLOAT), pads=[1, 1, 1, 1], strides=[2, 2])
    statistics = {"scale": drawn(8) + 1, "shift": drawn(8), "mean": drawn(8), "variance": abs(drawn(8)) + 1}
    names = [constant(f"norm.{name}", values) for name, values in statistics.items()]
    x = around = node("Relu", node("BatchNormalization", x, *names, epsilon=1e-5))
    x = node("Conv", x, constant("w2", drawn(8, 8, 3, 3)), constant("c2", drawn(8)), pads=[1, 1, 1, 1])
    x = node("Relu", node("Add", x, around))
    x = node("Pad", x, constant("pads", np.array([0, 0, 0, 0, 0, 0, 1, 1])))
    x = node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    x = node("Flatten", node("GlobalAveragePool", x), axis=1)
    node("Gemm", x, constant("w3", drawn(5, 8)), constant("c3", drawn(5)), transB=1)
    nodes[-1].output[0] = "logits"
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [shape[0], 5])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
