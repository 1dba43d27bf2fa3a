"""Features of pictures on disk, end to end, against bare onnxruntime on the same pictures prepared beforehand.

And what patches beside them cost, by processor time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from PIL import Image

from soel.images.decode import square
from soel.images.extract import BATCH, extract
from soel.images.extractors import DEFAULT, default_file, open_extractor
from soel.images.image_items import PictureSource
from soel.images.onnx_extractor import OnnxExtractor
from soel.images.source import open_source
from soel.images.views import View

N_PICTURES, ROUNDS = 160, 5
FLOORS = {
    "share_of_bare_throughput": 0.9,
    "share_of_bare_throughput_with_patches": 0.5,
    "share_of_throughput_with_patches": 0.5,
}


def measure() -> dict[str, float]:
    """Pictures a second, both ways in turn, so that a busy machine is as busy for the one as for the other."""
    extractor = open_extractor(DEFAULT)
    assert isinstance(extractor, OnnxExtractor)
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(_make(Path(folder) / "pictures"))
        batches = _prepared(source, extractor)
        session = onnxruntime.InferenceSession(str(default_file()), providers=["CPUExecutionProvider"])
        bare, ours, looking, costs = [], [], [], []
        for number in range(ROUNDS):
            bare.append(_bare(session, batches))
            ours.append(_ours(source, extractor, Path(folder) / str(number)))
            view = View(extractor, (extractor.size, extractor.size))
            looking.append(_ours(source, view, Path(folder) / f"{number} places"))
            costs.append(
                [_cost(source, extractor, Path(folder) / f"{number} {looks}", looks) for looks in (False, True)]
            )
    plain, with_patches = (statistics.median(np.divide(each, bare).tolist()) for each in (ours, looking))
    return {
        "bare_pictures_per_second": statistics.median(bare),
        "pictures_per_second": statistics.median(ours),
        "share_of_bare_throughput": plain,
        "share_of_bare_throughput_with_patches": with_patches,
        "share_of_throughput_with_patches": statistics.median(without / both for without, both in costs),
    }


def _make(folder: Path) -> Path:
    """Photographs of a camera's small size: smooth, with some grain."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(N_PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((480, 360), Image.Resampling.BICUBIC), np.float32)
        grainy = (smooth + rng.normal(0, 4, smooth.shape)).clip(0, 255).astype(np.uint8)
        Image.fromarray(grainy).save(folder / f"{number:04d}.jpg", quality=90)
    return folder


def _prepared(source: PictureSource, extractor: OnnxExtractor) -> list[Any]:
    pictures = [square(p, extractor.size) for p in source.read(range(N_PICTURES)) if isinstance(p, np.ndarray)]
    return [extractor.prepare(np.stack(pictures[at : at + BATCH])) for at in range(0, N_PICTURES, BATCH)]


def _bare(session: Any, batches: list[Any]) -> float:
    start = time.perf_counter()
    for batch in batches:
        session.run(None, {"images": batch})
    return N_PICTURES / (time.perf_counter() - start)


def _ours(source: PictureSource, extractor: OnnxExtractor | View, cache: Path) -> float:
    start = time.perf_counter()
    extract(source, extractor, cache)
    return N_PICTURES / (time.perf_counter() - start)


def _cost(source: PictureSource, extractor: OnnxExtractor, cache: Path, with_patches: bool) -> float:
    """Seconds of all cores together."""
    start = time.process_time()
    extract(source, View(extractor, (extractor.size, extractor.size)) if with_patches else extractor, cache)
    return time.process_time() - start
