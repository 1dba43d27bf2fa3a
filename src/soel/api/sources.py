"""The pool of a new session: the rows of a table, or the pictures of a folder, file or clip and their features."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from soel.api.machine import for_machine
from soel.api.media_labels import known_labels
from soel.api.streaming import POOL_ROWS, Write, as_note, draw_pool, find_stream
from soel.data.csv_cells import read_rows, write_rows
from soel.data.download import RemoteFile, download
from soel.data.encoder import Encoder
from soel.data.frame import as_frame
from soel.data.places import is_address
from soel.data.row_ids import given_ids
from soel.data.streams import Stream
from soel.data.tables import Table, read_table
from soel.data.thinning import write_sample
from soel.errors import DataError, SchemaError
from soel.features.extract import Features, extract
from soel.features.extractors import DEFAULT, Extractor, RemoteModel, find_extractor
from soel.features.image_files import image_list
from soel.features.items import Skipped, Source, describe
from soel.features.source import Reading, is_media, open_source
from soel.profiles import Profile
from soel.session import SessionFolder
from soel.session.folder import STREAM
from soel.types import UNLABELLED, Floats

MEDIA = "media.json"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class MediaOptions:
    """How pictures become a pool. path_column: the column of a table that names the files.

    normal, labels: what is known beforehand, see `known_labels`. progress: told of (done, total) pictures.
    scanned: told of the files that were looked at, before that (default: progress is).
    """

    extractor: str = DEFAULT
    reading: Reading = field(default_factory=Reading)
    path_column: str | None = None
    normal: str | None = None
    labels: Path | None = None
    progress: Progress | None = None
    scanned: Progress | None = None


@dataclass(frozen=True)
class Pool:
    """What a session starts from. path: the table to copy. features: None where the table itself is encoded.

    beside: files to be written beside it. skipped: what was left out.
    """

    path: Path
    table: Table
    id_column: str | None
    label_column: str | None
    features: Floats | None = None
    beside: Mapping[str, bytes] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()

    def encoded(self, scaling: str) -> tuple[Encoder, Floats]:
        """The encoder and the matrix it gives. Features of a network keep their scale: it carries meaning."""
        if self.features is None:
            encoder = Encoder.fit(self.table.frame, scaling)
            return encoder, encoder.encode(self.table.frame)
        return Encoder.fit(as_frame(self.features), "none"), self.features

    def profile(self, wanted: Profile) -> Profile:
        """The profile for these rows: on a machine without a GPU, feature vectors get a form of their own."""
        return for_machine(wanted, len(self.table.frame.columns) if self.features is None else self.features.shape[1])


@dataclass(frozen=True)
class Sampling:
    """How a pool is drawn from a larger table. pool_rows: how many rows it has at most. write: who reads the parts."""

    pool_rows: int = POOL_ROWS
    seed: int = 0
    write: Write = write_sample


@contextmanager
def read_pool(
    data: str | Path,
    id_column: str | None,
    label_column: str | None,
    media: MediaOptions | None = None,
    sampling: Sampling | None = None,
) -> Iterator[Pool]:
    """The pool of a path or an address. Files that it made for a sample or for pictures last as long as the context."""
    media, sampling = media or MediaOptions(), sampling or Sampling()
    stream = _stream(data, id_column, label_column, media, sampling)
    if stream is not None:
        with tempfile.TemporaryDirectory(prefix="soel-sample-") as folder:
            yield _drawn(stream, sampling, Path(folder), media.progress)
        return
    data = Path(data)
    if media.path_column is None and not is_media(data):
        table = read_table(data, id_column, [label_column] if label_column else [])
        yield Pool(data, table, id_column, label_column)
        return
    source, labels = _source(data, id_column, label_column, media)
    extractor = open_extractor(media.extractor)
    features = extract(source, extractor, cache_folder(), media.progress)
    skipped = (*source.skipped, *features.faulty)
    if skipped and media.reading.strict:
        raise DataError(f"{len(skipped)} of the files cannot be read: {describe(skipped)}. No session was started.")
    with tempfile.TemporaryDirectory(prefix="soel-items-") as folder:
        path = Path(folder) / f"{source.name}.items.csv"
        _write_items(path, source, features, labels)
        known = "label" if labels is not None else None
        table = read_table(path, "id", [known] if known else [])
        note = _note(data, media, source, features, extractor, skipped)
        yield Pool(path, table, "id", known, features.matrix, {MEDIA: note}, skipped)


def _stream(
    data: str | Path, id_column: str | None, label_column: str | None, media: MediaOptions, sampling: Sampling
) -> Stream | None:
    """The data as a stream where a pool has to be drawn from them; pictures in a .npy file are none."""
    if media.path_column is not None or (not is_address(data) and Path(data).is_file() and is_media(Path(data))):
        return None
    return find_stream(data, id_column, label_column, sampling.pool_rows)


def _drawn(stream: Stream, sampling: Sampling, folder: Path, progress: Progress | None) -> Pool:
    path, id_column, whole = draw_pool(stream, sampling.pool_rows, sampling.seed, folder, progress, sampling.write)
    table = read_table(path, id_column, stream.exclude)
    return Pool(path, table, id_column, whole.label_column, beside={STREAM: as_note(whole)})


def read_new_pictures(folder: Path, data: Path, progress: Progress | None = None) -> tuple[list[str], Floats]:
    """Ids and features of other pictures, by the extractor of the session in `folder`."""
    note = read_note(folder)
    media = MediaOptions(note["extractor"], Reading(**note["reading"]), note["path_column"])
    source, _ = _source(data, None, None, replace(media, normal=None))
    extractor = open_extractor(media.extractor)
    if extractor.fingerprint != note["fingerprint"]:
        raise DataError(f"The extractor {media.extractor} is another one than the session began with. Bring that back.")
    features = extract(source, extractor, cache_folder(), progress)
    return [source.items[row].id for row in features.rows], features.matrix


def read_note(folder: Path) -> dict[str, Any]:
    """Where the session's pictures lie and how they were read."""
    note: dict[str, Any] = json.loads((folder / MEDIA).read_text(encoding="utf-8"))
    return note


def open_extractor(which: str) -> Extractor:
    """An extractor by name or file; one that has to be fetched is fetched once."""
    return find_extractor(which, cache_folder(), fetch_model)


def fetch_model(model: RemoteModel, folder: Path) -> Path:
    """A model file from its address, kept in the folder; its checksum has to fit."""
    address = os.environ.get("SOEL_MODELS", "")
    address = f"{address.rstrip('/')}/{model.name}" if address else model.address
    return download(RemoteFile(model.name, address, model.sha256), folder)


def cache_folder() -> Path:
    """Where features and fetched models are kept: SOEL_CACHE, or the user's own cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SOEL_CACHE") or Path(home) / "soel")


def _source(
    data: Path, id_column: str | None, label_column: str | None, media: MediaOptions
) -> tuple[Source, list[int] | None]:
    if media.path_column is None:
        source = open_source(data, media.reading, media.scanned or media.progress)
        return source, known_labels(source.items, media.normal, media.labels)
    return _from_path_column(data, media.path_column, id_column, label_column)


def _from_path_column(
    data: Path, path_column: str, id_column: str | None, label_column: str | None
) -> tuple[Source, list[int] | None]:
    """Pictures that a CSV names, relative to its own folder; ids from a column or from the content."""
    rows = read_rows(data)
    missing = [name for name in (path_column, id_column, label_column) if name and rows and name not in rows[0]]
    if missing or not rows:
        raise SchemaError(
            f"{data.name} has no column {', '.join(missing) or path_column}, or no rows. Check its header."
        )
    paths = [data.parent / row[path_column] for row in rows]
    source = image_list(data.stem, paths)
    row_of = {str(path): row for path, row in zip(paths, rows, strict=True)}
    kept = [row_of[item.name] for item in source.items]
    ids = given_ids(id_column, [row[id_column] for row in kept]) if id_column else [item.id for item in source.items]
    items = [
        replace(item, id=str(given), name=row[path_column], category=row[label_column] if label_column else "")
        for item, given, row in zip(source.items, ids, kept, strict=True)
    ]
    source = replace(source, items=tuple(items))
    return source, known_labels(items) if label_column else None


def _write_items(path: Path, source: Source, features: Features, labels: Sequence[int] | None) -> None:
    """The readable columns of the items: what differs between them, and nothing that is empty throughout."""
    items = [source.items[row] for row in features.rows]
    columns: dict[str, list[Any]] = {"id": [item.id for item in items], "name": [item.name for item in items]}
    for name in ("clip", "time") if labels is not None else ("category", "clip", "time"):
        values = [getattr(item, name) for item in items]
        if any(value not in ("", None) for value in values):
            columns[name] = values
    if labels is not None:
        columns["label"] = ["" if labels[row] == UNLABELLED else labels[row] for row in features.rows]
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def _note(
    data: Path,
    media: MediaOptions,
    source: Source,
    features: Features,
    extractor: Extractor,
    skipped: Sequence[Skipped],
) -> bytes:
    """What is needed to find the pictures again, and what was left out."""
    paths = getattr(source, "paths", None)
    places = (
        None
        if paths is None
        else [os.path.relpath(paths[row], data if data.is_dir() else data.parent) for row in features.rows]
    )
    note = {
        "data": str(data.resolve()),
        "path_column": media.path_column,
        "reading": asdict(media.reading),
        "extractor": media.extractor,
        "fingerprint": extractor.fingerprint,
        "paths": places,
        "skipped": [asdict(file) for file in skipped],
    }
    return json.dumps(note, ensure_ascii=False).encode()


def media_summary(folder: Path) -> dict[str, str]:
    """What was chosen for the pictures of a session and what was left out, in sentences; empty for a table."""
    if not (folder / MEDIA).exists():
        return {}
    note = read_note(folder)
    backbone = SessionFolder(folder).config.settings["backbone"]
    chosen = f"Features by {Path(note['extractor']).name}, backbone {backbone}."
    if backbone == "ntl-narrow":
        chosen += " There is no GPU here, so the narrow form was taken; --profile paper takes the full one."
    summary = {"chosen": chosen}
    if note["skipped"]:
        skipped = [Skipped(**file) for file in note["skipped"]]
        summary["left_out"] = f"Left out, {len(skipped)} in all: {describe(skipped)}."
    return summary
