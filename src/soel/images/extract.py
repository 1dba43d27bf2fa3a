"""The features of a source: decoding in threads ahead of the network, batches, one cache that survives a kill."""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from soel.errors import DataError
from soel.files import explaining, hold_lock, move, parse_json, sync, write_whole
from soel.images.decode import square
from soel.images.extractors import DEPTH, Extractor, Patches, Pictures
from soel.images.image_items import PictureSource, Skipped, describe, fingerprint, reason
from soel.images.views import View
from soel.numeric import in_order, n_cores, single_threaded_blas
from soel.types import Floats, Progress, Rows

BATCH = 16  # pictures, or fewer large ones
BATCH_PIXELS = 1_100_000
STRETCHES = 2  # batches that one thread decodes in one go: frames of a clip need few seeks this way
AHEAD = 2  # stretches decoded ahead, per thread
SYNC_SECONDS = 5.0


@dataclass(frozen=True)
class Features:
    """matrix: (n, d) of the rows that could be read. rows: (n,) their positions. faulty: the others, and why.

    patches: (n, P, D) of the same rows, by a view that looks at places.
    """

    matrix: Floats
    rows: Rows
    faulty: tuple[Skipped, ...]
    patches: Patches | None = None


Batch = tuple[tuple[Floats, ...], dict[int, str]]  # vectors (B, d), and patches (B, P D) if wanted; faults by row
Elsewhere = Callable[[range], Iterator[Batch]]  # rows -> their batches, in order


@dataclass(frozen=True)
class Prepared:
    """Squares (B, size, size, 3), or pictures as a view has them; of one that is black, `faults` says why."""

    pictures: Pictures
    faults: dict[int, str]


def extract(
    source: PictureSource,
    extractor: Extractor,
    cache: Path | None = None,
    progress: Progress | None = None,
    elsewhere: Elsewhere | None = None,
) -> Features:
    """Features of all items. What is in the cache is not computed again, what was begun is gone on with.

    A view gives patches from the same pass. elsewhere: computes the rows from a first one on with other processes, in
    order.
    """
    n_rows, lasting = len(source.items), cache is not None and extractor.fingerprint is not None
    with _place(source, extractor, cache) as folder, _alone(folder), single_threaded_blas(), ExitStack() as stack:
        stores = [stack.enter_context(GrowingMatrix(folder, n_rows))]
        if isinstance(extractor, View):
            stores.append(stack.enter_context(GrowingMatrix(folder / "patches", n_rows, "<f2")))
        done = min(store.done for store in stores)
        rows = range(done, n_rows)
        batches = _compute_batches(source, extractor, rows) if elsewhere is None else elsewhere(rows)
        for found, faults in batches:
            done += len(found[0])
            for store, more in zip(stores, found, strict=True):
                if store.done < done:  # one of them may be further than the other
                    store.append(more[store.done - done :], faults)
            if progress is not None:
                progress(done, n_rows)
        kept, faults = [store.finish() for store in stores], stores[0].faults
        return _readable(source, kept, faults, lasting)


def compute_rows(source: PictureSource, extractor: Extractor, rows: range) -> Batch:
    """Features of a run of rows as one batch. Runs of whole batches give what one pass gives."""
    with single_threaded_blas():
        found, faults = zip(*_compute_batches(source, extractor, rows), strict=True)
    joined = tuple(np.concatenate(column) for column in zip(*found, strict=True))
    return joined, {row: why for each in faults for row, why in each.items()}


def _compute_batches(source: PictureSource, extractor: Extractor, rows: range) -> Iterator[Batch]:
    """The batches of a run of rows, in order; several at once where the extractor can."""

    def compute(batch: Prepared) -> Batch:
        if not isinstance(extractor, View):
            return (extractor.features(batch.pictures),), batch.faults
        vectors, patches = extractor.look(batch.pictures)
        return (vectors, patches.reshape(len(patches), -1)), batch.faults

    batches, n_together = _batches(source, extractor, rows), int(getattr(extractor, "n_together", 1))
    return map(compute, batches) if n_together < 2 else in_order(compute, batches, n_together, n_together + 1)


def _readable(source: PictureSource, found: Sequence[Floats], faults: dict[int, str], lasting: bool) -> Features:
    n_rows = len(found[0])
    rows = np.array([row for row in range(n_rows) if row not in faults], np.int64)
    faulty = tuple(Skipped(source.items[row].name, why) for row, why in faults.items())
    if not len(rows):
        raise DataError(f"Nothing in {source.name} can be decoded: {describe(faulty)}. Check the files.")
    kept = [matrix if lasting and not faults else matrix[rows] for matrix in found]  # a copy, where no file lasts
    return Features(kept[0], rows, faulty, kept[1].reshape(len(rows), -1, DEPTH) if len(kept) > 1 else None)


def _batches(source: PictureSource, extractor: Extractor, rows: range) -> Iterator[Prepared]:
    """Prepared pictures of a run of rows in batches, in order."""
    size = batch_size(extractor)
    for part in _ahead(source, extractor, rows):
        for at in range(0, len(part.pictures), size):
            yield Prepared(part.pictures[at : at + size], {} if at else part.faults)


def _shape(extractor: Extractor) -> tuple[int, int]:
    """Height and width of the pictures that it takes."""
    return extractor.shape if isinstance(extractor, View) else (extractor.size, extractor.size)


def batch_size(extractor: Extractor) -> int:
    """How many pictures go through the network together."""
    height, width = _shape(extractor)
    return max(1, min(BATCH, BATCH_PIXELS // (height * width)))


def _ahead(source: PictureSource, extractor: Extractor, rows: range) -> Iterator[Prepared]:
    step = STRETCHES * batch_size(extractor)
    stretches = (rows[at : at + step] for at in range(0, len(rows), step))
    n_threads = n_cores()
    return in_order(lambda rows: _prepare(source, rows, extractor), stretches, n_threads, AHEAD * n_threads)


def _prepare(source: PictureSource, rows: Sequence[int], extractor: Extractor) -> Prepared:
    shape = _shape(extractor)
    pictures = np.zeros((len(rows), *shape, 3), np.uint8)
    faults = {}
    for at, picture in enumerate(source.read(rows)):
        if isinstance(picture, DataError):
            faults[rows[at]] = reason(picture)
        else:
            seen = extractor.prepare(picture) if isinstance(extractor, View) else square(picture, extractor.size)
            pictures[at] = seen
    return Prepared(pictures, faults)


@contextmanager
def _place(source: PictureSource, extractor: Extractor, cache: Path | None) -> Iterator[Path]:
    """Where the matrix grows: in the cache, or nowhere in particular for an extractor that nobody can name."""
    if cache is not None and extractor.fingerprint is not None:
        key = f"{fingerprint(source.items)[:24]}-{extractor.fingerprint}".replace("/", "_")
        yield cache / "features" / key[:200]
        return
    with tempfile.TemporaryDirectory(prefix="soel-features-") as folder:
        yield Path(folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the others wait and find its work done."""
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "lock", patience=-1):
        yield


class GrowingMatrix:
    """Rows (N, d), written in order into `folder`. Only rows on disk count as done.

    faults: rows that have no features, and why. Their place is filled with zeros. form: of a number, in numpy's words.
    """

    def __init__(self, folder: Path, n_rows: int, form: str = "<f4") -> None:
        self.folder, self.n_rows, self.form = folder, n_rows, np.dtype(form)
        folder.mkdir(parents=True, exist_ok=True)
        self._state = folder / "progress.json"
        self._partial = folder / "features.partial"
        self.done, self.width, self.faults = self._resume()
        self._file: BinaryIO | None = None
        self._synced = time.monotonic()

    @property
    def path(self) -> Path:
        return self.folder / "features.npy"

    def append(self, rows: Floats, faults: Mapping[int, str]) -> None:
        """Add the next rows. They are safe at the latest a few seconds later."""
        with explaining(self._partial):
            if self._file is None:
                self._file = self._open(rows.shape[1])
            if rows.shape[1] != self.width:
                raise DataError(f"The extractor gave {rows.shape[1]} features, before it gave {self.width}.")
            self._file.write(np.ascontiguousarray(rows, self.form).tobytes())
            self.done += len(rows)
            self.faults |= faults
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self._sync(self._file)

    def finish(self) -> Floats:
        """The complete matrix, mapped from disk."""
        self.close()
        if not self.path.exists():
            move(self._partial, self.path)
        return np.load(self.path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    def close(self) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        with explaining(self._partial), file:
            self._sync(file)

    def __enter__(self) -> GrowingMatrix:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _resume(self) -> tuple[int, int, dict[int, str]]:
        """What an earlier run left. A record that does not fit starts afresh."""
        try:
            state = parse_json(self._state.read_text(encoding="utf-8"))
            if not isinstance(state, dict) or not isinstance(state.get("faults"), dict):
                return 0, 0, {}
            done, width, n_rows = int(state["done"]), int(state["width"]), int(state["n_rows"])
            faults = {int(row): str(why) for row, why in state["faults"].items()}
            file = self.path if self.path.exists() else self._partial
            fits = n_rows == self.n_rows and file.stat().st_size >= self._end(done, width)
        except (OSError, ValueError, KeyError, TypeError):
            return 0, 0, {}
        return (done, width, faults) if fits and 0 <= done <= n_rows else (0, 0, {})

    def _open(self, width: int) -> BinaryIO:
        header = self._header(width)
        if self.done and width != self.width:
            self.done, self.faults = 0, {}
        self.width = width
        file: BinaryIO = self._partial.open("r+b" if self.done else "w+b")
        if not self.done:
            self.path.unlink(missing_ok=True)
            file.write(header)
        file.seek(self._end(self.done, width))
        file.truncate()
        return file

    def _sync(self, file: BinaryIO) -> None:
        """First the rows, then the record that they are there."""
        sync(file)
        state = {"done": self.done, "width": self.width, "n_rows": self.n_rows, "faults": self.faults}
        write_whole(self._state, json.dumps(state).encode())
        self._synced = time.monotonic()

    def _end(self, n_rows: int, width: int) -> int:
        """Where so many rows end in the file."""
        return len(self._header(width)) + n_rows * width * self.form.itemsize

    def _header(self, width: int) -> bytes:
        buffer = io.BytesIO()
        shape = {"descr": self.form.str, "fortran_order": False, "shape": (self.n_rows, width)}
        np.lib.format.write_array_header_1_0(buffer, shape)
        return buffer.getvalue()
