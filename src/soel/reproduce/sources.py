"""Where an experiment's rows come from: the catalogue's data folder, or a user's own table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from soel.data.catalogue import CATALOGUE, find_dataset
from soel.data.catalogue_access import data_folder, load, need_features
from soel.data.catalogue_files import ClassSets, Content, LabelledRows
from soel.data.encoder import Encoder
from soel.errors import LabelError
from soel.types import ANOMALY, UNLABELLED
from soel.validation import check_labels

BESIDE = Path(__file__).parents[4] / "shared" / "data"  # next to a checkout
DERMA_MINIMUM = 500  # classes with fewer training images are never the normal one


@dataclass(frozen=True)
class Source:
    """A way to get at data sets by name. data_dir: local copies. table, label_column: a user's own file."""

    data_dir: Path | None = None
    table: Path | None = None
    label_column: str | None = None

    def load(self, name: str) -> Content:
        """The rows of a data set; kept in memory, since many cells share them."""
        return _load(self, name)

    def n_rows(self, name: str) -> int:
        """How many rows the data set has."""
        content = self.load(name)
        return len(content.x_train if isinstance(content, ClassSets) else content.x)

    def protocol(self, name: str) -> str:
        """How the data set is split."""
        return "natural" if self.table is not None else find_dataset(name).protocol

    def title(self, name: str) -> str:
        """What tables call it."""
        return CATALOGUE[name].title if name in CATALOGUE else name.partition("@")[0]

    def present(self, name: str) -> bool:
        """Whether it can be loaded without a download."""
        return self.table is not None or data_folder(self.data_dir).find(find_dataset(name)) is not None

    def classes(self, name: str, wanted: tuple[int, ...] = ()) -> tuple[int | None, ...]:
        """The classes that are normal in turn; (None,) for a data set that is not of classes."""
        content = self.load(name)
        if not isinstance(content, ClassSets):
            return (None,)
        counts = {code: int((content.y_train == code).sum()) for code in content.classes}
        usual = [code for code, count in counts.items() if count > DERMA_MINIMUM or name != "dermamnist"]
        return tuple(code for code in usual if not wanted or code in wanted)


def local_source(data_dir: Path | None = None) -> Source:
    """The folder named, else SOEL_DATA, else a folder beside a checkout, else the cache."""
    if data_dir is None and not data_folder().given and BESIDE.is_dir():
        return Source(BESIDE)
    return Source(data_dir)


@lru_cache(maxsize=8)
def _load(source: Source, name: str) -> Content:
    if source.table is not None:
        return _own_rows(source.table, source.label_column or "y")
    dataset = find_dataset(name)
    content = load(dataset, data_folder(source.data_dir))
    need_features(dataset, content)
    return content


def own_name(path: Path) -> str:
    """A user's file as the name of a data set; its content is part of it, so a changed file is another one."""
    from soel.data.tables import read_table  # a machine that only computes cells needs no readers of tables

    return f"{path.stem}@{read_table(path).fingerprint[:12]}"


def _own_rows(path: Path, label_column: str) -> LabelledRows:
    from soel.data.tables import read_table

    table = read_table(path, exclude=(label_column,))
    labels = check_labels(table.excluded[label_column], table.frame.n_rows)
    if (labels == UNLABELLED).any():
        raise LabelError(
            f"A comparison needs the truth of every row, and column {label_column!r} is empty in "
            f"{int((labels == UNLABELLED).sum())} rows. Give a table that is labelled throughout."
        )
    matrix = Encoder.fit(table.frame, "none").encode(table.frame)
    return LabelledRows(np.asarray(matrix, np.float32), labels == ANOMALY)
