"""Sets of pictures with the truth about each: real defects, generated surfaces, and sets without small defects."""

from __future__ import annotations

import csv
import gzip
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.patches.defects import BOARD_DEFECTS, DEFECTS, Mask
from benchmarks.patches.pixels import SIDE
from benchmarks.patches.textures import FAMILIES, SIDE as PAINTED
from soel.errors import ConfigError, DataError
from soel.files import building, replacing
from soel.images.decode import image_list, load_picture
from soel.images.image_items import PictureSource, known_labels
from soel.images.source import Reading, image_array, open_source
from soel.images.views import stretch
from soel.types import ANOMALY

N_NORMAL, N_DEFECTIVE = 740, 200  # of a generated family
EVERY_FRAME = 10  # of ten a second
MASKED = 127  # brightness from which a mask's pixel is part of a defect
N_WHOLE = 740  # of each kind, in sets where the whole picture is what matters


@dataclass(frozen=True)
class Pictures:
    """source: N pictures. truth: (N,), True for an anomaly. masks: (N, SIDE, SIDE) where defects are known.

    among: (N,) which pictures belong to the set, None for all: sets that share pictures share their features. groups:
    (N,) pictures of one thing, which are in the pool or unseen, never both. n_pool: pictures of a pool drawn from it.
    n_test: normal and anomalous ones to judge by. share: of anomalies in the pool.
    """

    source: PictureSource
    truth: NDArray[np.bool_]
    masks: NDArray[np.bool_] | None = None
    n_pool: int = 600
    n_test: tuple[int, int] = (200, 140)
    among: NDArray[np.bool_] | None = None
    groups: NDArray[np.str_] | None = None
    share: float = 0.1


@dataclass(frozen=True)
class Split:
    """Rows of a set: those of the pool, and those to judge by."""

    pool: NDArray[np.int64]
    test: NDArray[np.int64]


def split(pictures: Pictures, draw: int) -> Split:
    """A random split; draws of one set overlap."""
    rng = np.random.default_rng(draw)
    n_anomalies = round(pictures.n_pool * pictures.share)
    wanted = {True: n_anomalies, False: pictures.n_pool - n_anomalies}
    pool, rest = list[int](), list[int]()
    for rows in _groups(pictures, rng):
        truth = [bool(pictures.truth[row]) for row in rows]
        fits = all(wanted[kind] > 0 for kind in truth)
        for row, kind in zip(rows, truth, strict=True):
            if fits and wanted[kind] > 0:
                pool.append(row)
                wanted[kind] -= 1
            elif not fits:
                rest.append(row)
    left = np.array(rest)
    test_normals, test_anomalies = pictures.n_test
    anomalies, normals = left[pictures.truth[left]][:test_anomalies], left[~pictures.truth[left]][:test_normals]
    return Split(rng.permutation(np.array(pool)), np.concatenate([anomalies, normals]))


def _groups(pictures: Pictures, rng: np.random.Generator) -> list[list[int]]:
    """The rows of the set in a random order, those of one thing together."""
    rows = np.arange(len(pictures.truth)) if pictures.among is None else np.flatnonzero(pictures.among)
    names = rows if pictures.groups is None else pictures.groups[rows]
    together: dict[object, list[int]] = {}
    for row, name in zip(rows.tolist(), names.tolist(), strict=True):
        together.setdefault(name, []).append(row)
    order = rng.permutation(len(together))
    groups = list(together.values())
    return [groups[at] for at in order]


def real_defects(data: Path, name: str) -> Pictures:
    """Magnetic tiles with masks, or circuit boards with boxes: a zip with a manifest, unpacked once."""
    packed = _found(data, f"{name}.zip")
    folder = Path("build/pictures") / name
    if not (folder / "manifest.csv").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with building(folder) as draft, zipfile.ZipFile(packed) as archive:
            archive.extractall(draft)
    rows = list(csv.DictReader((folder / "manifest.csv").read_text(encoding="utf-8").splitlines()))
    truth = np.array([row["label"] == "1" for row in rows])
    masks = np.stack([_mask(folder, row) for row in rows])
    source = image_list(name, [folder / row["file"] for row in rows])
    groups = np.array([row["group"] for row in rows]) if name == "magnetic_tile" else None
    return Pictures(source, truth, masks, 333, (250, 150), None, groups, share=1 / 11)


def _mask(folder: Path, row: Mapping[str, str]) -> Mask:
    """(SIDE, SIDE): what a mask's file or boxes cover."""
    height, width = int(row["height"]), int(row["width"])
    covered = np.zeros((height, width), np.float32)
    if row["mask"]:
        covered = load_picture(folder / row["mask"]).mean(axis=2) > MASKED
    for box in filter(None, row["boxes"].split(";")):
        left, top, right, bottom = (int(word) for word in box.split()[:4])
        covered[top:bottom, left:right] = 1
    shares = stretch((255 * np.repeat(covered[..., None], 3, axis=2)).astype(np.uint8), (SIDE, SIDE))[..., 0] / 255
    found: Mask = (shares >= min(0.25, float(shares.max()))) & (shares > 0)
    return found


def solar_cells(data: Path, cells: str) -> Pictures:
    """ELPV: cells that are surely sound or surely defective, of 300 px. cells: mono, poly or mixed."""
    try:
        from elpv_dataset.utils import load_dataset
    except ImportError as error:
        raise ConfigError("The solar cells come with a package: pip install 'soel[benchmarks]'.") from error
    pixels, chances, kinds = load_dataset()
    sure = (chances == 0) | (chances == 1)
    among = (kinds[sure] == cells) | (cells == "mixed")
    n_pool = 400 if cells == "mono" else 600
    n_test = {"mono": (228, 150), "poly": (380, 200), "mixed": (400, 200)}[cells]
    return Pictures(image_array("solar-cells", pixels[sure]), chances[sure] == 1, None, n_pool, n_test, among)


def generated(data: Path, family: str) -> Pictures:
    """A family of surfaces, one in five with one defect; made once and kept in the data's folder."""
    path = data / "generated" / f"{family}-1.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = [make_picture(family, number) for number in range(N_NORMAL + N_DEFECTIVE)]
        with replacing(path) as file:
            np.savez(file, pixels=np.stack([one for one, _ in made]), masks=np.stack([mask for _, mask in made]))
    with np.load(path) as arrays:
        masks = arrays["masks"]
        small = masks.reshape(len(masks), SIDE, 2, SIDE, 2).mean(axis=(2, 4)) >= 0.25
        return Pictures(image_array(family, arrays["pixels"]), masks.any(axis=(1, 2)), small)


def make_picture(family: str, number: int) -> tuple[NDArray[np.uint8], Mask]:
    """One picture (256, 256, 3) of a family and the mask of its defect; the first are without one."""
    rng = np.random.default_rng([crc32(family.encode()), number])
    surface, mask = FAMILIES[family](rng), np.zeros((PAINTED, PAINTED), bool)
    if number >= N_NORMAL:
        defects = list((BOARD_DEFECTS if family == "board" else DEFECTS).values())
        surface, mask = defects[number % len(defects)](rng, surface)
    return (np.clip(surface, 0, 1) * 255).round().astype(np.uint8), mask


def pneumonia(data: Path, normal: str) -> Pictures:
    """Radiographs of 28 px; the healthy or the sick are taken for normal."""
    with np.load(_found(data, "pneumoniamnist.npz")) as arrays:
        pixels, classes = arrays["train_images"], arrays["train_labels"].ravel()
    return _one_against_others(pixels, classes, 0 if normal == "healthy" else 1)


def cifar10(data: Path, normal: int) -> Pictures:
    """Photographs of 32 px; one class is normal, the others are not."""
    with np.load(_found(data, "cifar10.npz")) as arrays:
        return _one_against_others(arrays["x_train"], arrays["y_train"].ravel(), normal)


def fashion(data: Path, normal: int) -> Pictures:
    """Clothes of 28 px; one class is normal, the others are not."""
    with gzip.open(_found(data, "train-images-idx3-ubyte.gz")) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(_found(data, "train-labels-idx1-ubyte.gz")) as file:
        classes = np.frombuffer(file.read(), np.uint8, offset=8)
    return _one_against_others(pixels, classes, normal)


def walkway(data: Path) -> Pictures:
    """UCSD Peds1: a second apart, frames of a camera that stands still; who does not walk is an anomaly."""
    folder = _found(data, "labels.json").parent
    source = open_source(folder, Reading(every=EVERY_FRAME))
    truth = np.array(known_labels(source.items, file=folder / "labels.json"))
    frames = [frame for frame in source.read(range(len(source.items))) if not isinstance(frame, DataError)]
    return Pictures(image_array("walkway", np.stack(frames)), truth == ANOMALY)


def _one_against_others(pixels: NDArray[np.uint8], classes: NDArray[np.uint8], normal: int) -> Pictures:
    rng, is_other = np.random.default_rng(0), classes != normal
    rows = np.concatenate([rng.permutation(np.flatnonzero(is_other == kind))[:N_WHOLE] for kind in (False, True)])
    return Pictures(image_array("one against others", pixels[rows]), is_other[rows])


def _found(data: Path, name: str) -> Path:
    path = next(iter(sorted(data.rglob(name))), None)
    if path is None:
        raise DataError(f"There is no {name} in {data}. Put it there, or leave its sets out with --sets.")
    return path


Read = Callable[[Path], Pictures]
SETS: Mapping[str, Read] = {
    "magnetic-tiles": partial(real_defects, name="magnetic_tile"),
    "circuit-boards": partial(real_defects, name="deep_pcb"),
    **{cells: partial(solar_cells, cells=cells) for cells in ("mono", "poly", "mixed")},
    **{family: partial(generated, family=family) for family in FAMILIES},
    **{f"pneumonia-{normal}": partial(pneumonia, normal=normal) for normal in ("healthy", "sick")},
    **{f"cifar10-{normal}": partial(cifar10, normal=normal) for normal in (0, 4, 6)},
    **{f"fashion-{normal}": partial(fashion, normal=normal) for normal in (0, 3, 6)},
    "walkway": walkway,
}
