"""A model that is served: rows are read, encoded and scored as a file of them would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soel.assess.threshold import NEVER, promise_document
from soel.errors import ConfigError, ModelFileError, SchemaError
from soel.model import Fitted
from soel.model_folder import MANIFEST, SavedModel, describe_model, load_model, matches_probe, read_manifest
from soel.session import SessionConfig
from soel.tables.frame import Frame, frame_by, without_extras
from soel.tables.ids import check_ids, content_ids
from soel.tables.raw_table import RawTable
from soel.types import Floats

Verdicts = Mapping[str, np.ndarray]  # (n,) by name: score, probability, p_value, alarm, not_sure


@dataclass(frozen=True)
class Batch:
    """Rows of one request: ids (n,), the columns as they were read, features (n, d), and the cells as they came."""

    ids: Sequence[str]
    frame: Frame
    features: Floats
    raw: RawTable

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class ServedModel:
    """One model, loaded.

    version: the fingerprint of its manifest. made: when that was written, in seconds since 1970. id_column, unread: of
    a session, the column with the ids, and columns that are no features.
    """

    version: str
    made: float
    saved: SavedModel
    manifest: Mapping[str, Any]
    id_column: str | None = None
    unread: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def load(cls, folder: Path, config: SessionConfig | None = None) -> ServedModel:
        """The model of a folder. config: of the session that it was fitted in.

        It is used once before it is shown to anybody, and refused where its recorded row scores otherwise.
        """
        manifest, saved = read_manifest(folder), load_model(folder)
        if saved.fitted.patches is not None:
            raise ConfigError(f"{folder} looks at places of pictures; only models of rows are served.")
        if not matches_probe(saved):
            raise ModelFileError(
                f"{folder} scores its recorded row otherwise than where it was saved: the libraries differ in what "
                "they compute. Fit it on this machine, or install the versions that its manifest names."
            )
        made, version = (folder / MANIFEST).stat().st_mtime, str(manifest["fingerprint"])
        if config is None:
            return cls(version, made, saved, manifest)
        unread = frozenset({config.label_column} if config.label_column else ())
        return cls(version, made, saved, manifest, config.id_column, unread)

    @property
    def fitted(self) -> Fitted:
        """What scores."""
        return self.saved.fitted

    @property
    def columns(self) -> list[dict[str, str]]:
        """What a row has to have: names with the kind as which each is read."""
        used = set(self.saved.encoder.column_names)
        return [{"name": each.name, "kind": each.kind} for each in self.saved.encoder.how.columns if each.name in used]

    def read(self, raw: RawTable) -> Batch:
        """Rows as they came, with ids: those of the id column, else made of the content as in a session."""
        encoder, name = self.saved.encoder, self.id_column
        cells = {column: each for column, each in raw.cells.items() if column != name and column not in self.unread}
        if raw.named and name is not None and name not in raw.cells:
            raise SchemaError(f"The rows lack the column {name!r}, which holds their ids. Give each row one.")
        known = RawTable(cells if raw.named else raw.cells, raw.named, raw.layout)
        frame = frame_by(without_extras(known, encoder.how), encoder.how)
        features, matched = encoder.encode(frame), encoder.match(frame)
        columns = {each: matched[each] for each in encoder.all_names if each in matched}  # in the pool's order: for ids
        frame = Frame(columns, encoder.named, frame.schema)
        named = name is not None and raw.named
        if named:
            ids = check_ids(str(name), raw.cells[str(name)].as_words().tolist()).tolist()
        else:  # equal rows are one item, whatever came with them
            ids = [f"{each.rpartition('-')[0]}-0" for each in content_ids(frame).tolist()]
        return Batch(ids, frame, features, raw)

    def judge(self, scores: Floats) -> Verdicts:
        """What is said of rows with these scores (n,). A number of alarms as threshold counts in the pool, not here."""
        model = self.fitted
        return {
            "score": scores,
            "probability": model.probabilities(scores),
            "p_value": model.p_values(scores),
            "alarm": model.alarms(scores),
            "not_sure": model.unsure.holds(scores),
        }

    @property
    def promise(self) -> dict[str, Any]:
        """What is promised of alarms among new rows that are like the pool."""
        return promise_document(self.saved.learner.threshold, can_alarm=self.fitted.threshold < NEVER)

    @property
    def card(self) -> str:
        """The model's card, as its folder has it."""
        return describe_model(self.saved, self.manifest)

    def document(self) -> dict[str, Any]:
        """What a client needs to know, as plain values."""
        estimate = self.fitted.estimate
        return {
            "version": self.version,
            "columns": self.columns,
            "id_column": self.id_column,
            "threshold": {
                "rule": str(self.saved.learner.threshold),
                "value": self.fitted.threshold,
                "promise": self.promise,
            },
            "contamination": {"value": estimate.value, "low": estimate.low, "high": estimate.high},
            "made": self.made,
        }
