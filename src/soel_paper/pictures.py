"""Pictures of the catalogue as rows of an experiment: the features that a frozen network gives them, kept on disk."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from soel import DataError
from soel.images.arrays import image_array
from soel.images.extract import extract
from soel.images.extractors import Extractor, cache_folder, open_extractor
from soel.images.files import image_list
from soel.images.items import Source as Pictured
from soel.images.items import describe, known_labels
from soel.images.source import open_source
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Progress
from soel_paper.catalogue_files import ClassSets, LabelledRows, read_frames

LABELS = "labels.json"


def with_features(sets: ClassSets, extractor: str, progress: Progress | None = None) -> ClassSets:
    """The same items as feature vectors; the pictures of the training part stay with them, to be augmented."""
    x_train, x_test = (features_of(x, extractor, progress) for x in (sets.x_train, sets.x_test))
    return replace(sets, x_train=x_train, x_test=x_test, pictures=sets.x_train, extractor=extractor)


def features_of(pictures: NDArray[np.uint8], extractor: str, progress: Progress | None = None) -> Floats:
    """Features (n, d) of pictures (n, h, w[, 3]); those seen before come from the cache."""
    return extract(image_array("pictures", pictures), network(extractor), cache_folder(), progress).matrix


def clip_rows(folder: Path, extractor: str, progress: Progress | None = None) -> LabelledRows:
    """Features of every frame of a folder of clips, with labels.json: a string of 0 and 1 for each clip.

    Without labels.json it is UCSD's own folder of frames.
    """
    source, codes = _clips(folder) if (folder / LABELS).exists() else _frames(folder)
    found = extract(source, network(extractor), cache_folder(), progress)
    faults = (*source.skipped, *found.faulty)
    truth = codes[found.rows]
    if faults or (truth == UNLABELLED).any():
        raise DataError(
            f"{folder} is no whole copy: {len(faults)} files cannot be read ({describe(faults)}), "
            f"{int((truth == UNLABELLED).sum())} frames have no label. Get it again."
        )
    return LabelledRows(found.matrix, truth == ANOMALY)


def _clips(folder: Path) -> tuple[Pictured, Labels]:
    source = open_source(folder)
    return source, np.array(known_labels(source.items, file=folder / LABELS), np.int8)


def _frames(folder: Path) -> tuple[Pictured, Labels]:
    paths, abnormal = read_frames(folder)
    source = image_list(folder.name, paths)
    truth = dict(zip(map(str, paths), abnormal.tolist(), strict=True))
    return source, np.array([truth[item.name] for item in source.items], np.int8)


@lru_cache(maxsize=2)
def network(extractor: str) -> Extractor:
    """An extractor by name or file."""
    return open_extractor(extractor)


def thin(sets: ClassSets, per_class: int) -> ClassSets:
    """At most so many training and so many test items of every class: always the same ones."""
    train, test = (_some(codes, per_class) for codes in (sets.y_train, sets.y_test))
    return replace(
        sets,
        x_train=sets.x_train[train],
        y_train=sets.y_train[train],
        x_test=sets.x_test[test],
        y_test=sets.y_test[test],
    )


def _some(codes: NDArray[np.int64], per_class: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(0)
    kept = [rng.permutation(np.flatnonzero(codes == code))[:per_class] for code in np.unique(codes)]
    return np.sort(np.concatenate(kept))
