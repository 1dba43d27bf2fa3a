"""Rows of requests as columns, and back: JSON, CSV, Arrow streams, and tensors of the Open Inference Protocol."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import DataError
from soel.files import parse_json
from soel.tables.open import open_arrow
from soel.tables.raw_table import RawColumn, RawTable, from_array, from_objects, raw_from_arrow
from soel.tables.read_options import UPLOADED

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
MOST_ROWS = 10_000  # of one request
DTYPES = {
    f"{kind}{bits}": f"<{sign}{bits // 8}" for kind, sign in (("INT", "i"), ("UINT", "u")) for bits in (8, 16, 32, 64)
}
DTYPES |= {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8"}
OUTPUTS = {
    "id": "BYTES",
    "score": "FP64",
    "probability": "FP64",
    "p_value": "FP64",
    "alarm": "BOOL",
    "not_sure": "BOOL",
}


class TooManyRowsError(DataError):
    """More rows than a request may hold."""


def read_body(body: bytes, content_type: str) -> RawTable:
    """The rows of a request as they came. content_type: one of JSON, CSV and ARROW."""
    raw = {JSON: _read_json, CSV: _read_csv, ARROW: _read_arrow}[content_type](body)
    check_rows(raw.n_rows)
    return raw


def check_rows(n_rows: int) -> None:
    """Refuse more rows than a request may hold."""
    if n_rows > MOST_ROWS:
        raise TooManyRowsError(f"{n_rows} rows are more than the {MOST_ROWS} of a request. Send them in several.")


def parse_object(body: bytes) -> dict[str, Any]:
    """A JSON object."""
    try:
        document = parse_json(body)
    except ValueError as error:
        raise DataError(f"The request is not JSON ({error}). Send an object.") from error
    if not isinstance(document, dict):
        raise DataError(f"The request is a {type(document).__name__}. Send an object.")
    return document


def _read_json(body: bytes) -> RawTable:
    rows = parse_object(body).get("rows")
    if not isinstance(rows, list):
        raise DataError('The request has no list "rows". Send {"rows": [{"column": value, ...}, ...]}.')
    check_rows(len(rows))
    form: type = list if rows and isinstance(rows[0], list) else dict
    odd = next((at for at, row in enumerate(rows) if not isinstance(row, form)), None)
    if odd is not None:
        raise DataError(f"Row {odd} is a {type(rows[odd]).__name__}; give each row as an object of columns.")
    if form is dict:
        names = dict.fromkeys(name for row in rows for name in row)
        return RawTable({name: _column(name, [row.get(name) for row in rows]) for name in names}, named=True)
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise DataError(f"The rows have {min(widths)} to {max(widths)} values; give all of them as many.")
    columns = {f"x{at}": list(column) for at, column in enumerate(zip(*rows, strict=True))}
    return RawTable({name: _column(name, column) for name, column in columns.items()}, named=False)


def _column(name: str, cells: list[Any]) -> RawColumn:
    """A column of a request; one of numbers alone is not looked at cell by cell."""
    return from_array(name, np.array(cells)) if set(map(type, cells)) == {float} else from_objects(name, cells)


def _read_csv(body: bytes) -> RawTable:
    with tempfile.TemporaryDirectory(prefix="soel-serve-") as folder:
        path = Path(folder) / "request.csv"
        path.write_bytes(body)
        if not body:
            raise DataError("The request is empty. Send a header and a line for each row.")
        return raw_from_arrow(*open_arrow(path, UPLOADED))


def _read_arrow(body: bytes) -> RawTable:
    arrow = import_module("pyarrow")
    try:
        with arrow.ipc.open_stream(body) as stream:
            batches, n_rows = [], 0
            for batch in stream:
                n_rows += len(batch)
                check_rows(n_rows)
                batch.validate(full=True)
                batches.append(batch)
            table = arrow.Table.from_batches(batches, stream.schema)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"The request is not an Arrow stream ({error}). Write it with pyarrow.ipc.new_stream."
        ) from error
    return raw_from_arrow(table)


def write_arrow(columns: Mapping[str, Any]) -> bytes:
    """Columns as an Arrow stream."""
    arrow = import_module("pyarrow")
    table, sink = arrow.table(dict(columns)), arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def write_rows(columns: Mapping[str, Any], **beside: Any) -> bytes:
    """Columns as a JSON object with a list of rows."""
    lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return json.dumps({**beside, "rows": rows}, ensure_ascii=False).encode()


@dataclass(frozen=True)
class TensorRequest:
    """What a request of the Open Inference Protocol asks for. outputs: by name; none for all. number: its id."""

    rows: RawTable
    outputs: Sequence[str]
    number: str | None


def read_tensors(body: bytes, header: str | None) -> TensorRequest:
    """A request whose rows are a tensor a column, or one tensor (n, d) of all.

    header: how many bytes of the body are JSON, where tensors follow as bytes.
    """
    try:
        length = len(body) if header is None else int(header)
        request, rest, arrays = parse_object(body[:length]), body[max(length, 0) :], dict[str, Any]()
        for tensor in request["inputs"]:
            size = tensor.get("parameters", {}).get("binary_data_size")
            values = tensor.get("data") if size is None else rest[: int(size)]
            rest = rest if size is None else rest[int(size) :]
            arrays[str(tensor["name"])] = _as_array(tensor["datatype"], tensor["shape"], values)
        outputs = [str(output["name"]) for output in request.get("outputs") or ()]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"The tensors cannot be read ({error!r}). Send inputs with name, shape, datatype, data."
        ) from error
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) != 1:
        raise DataError(f"The tensors have {sorted(lengths)} rows; give all of them as many, and at least one.")
    check_rows(lengths.pop())
    wide = [array for array in arrays.values() if array.ndim == 2 and array.shape[1] != 1]
    if wide and len(arrays) > 1:
        raise DataError("A tensor of several columns has to be the only one; or give a tensor to each column.")
    if wide:
        columns = {f"x{at}": wide[0][:, at].tolist() for at in range(wide[0].shape[1])}
    else:
        columns = {name: array.reshape(-1).tolist() for name, array in arrays.items()}
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown:
        raise DataError(f"There is no output {unknown[0]!r}. Ask for some of {', '.join(OUTPUTS)}.")
    rows = RawTable({name: _column(name, column) for name, column in columns.items()}, not wide)
    return TensorRequest(rows, outputs or list(OUTPUTS), str(request["id"]) if "id" in request else None)


def _as_array(datatype: str, shape: Sequence[int], values: Any) -> np.ndarray:
    """A tensor (n,) or (n, d) of numbers or texts."""
    if len(shape) not in (1, 2) or min(shape) < 0:
        raise ValueError(f"the shape {shape} is not (n,) or (n, d)")
    if isinstance(values, bytes):
        flat: Any = _unpack(values) if datatype == "BYTES" else np.frombuffer(values, DTYPES[datatype])
    elif datatype == "BYTES":
        flat = np.array([None if text is None else str(text) for text in np.asarray(values, object).ravel()], object)
    else:
        flat = np.asarray(values, DTYPES[datatype]).ravel()
    if len(flat) != prod(shape):
        raise ValueError(f"{len(flat)} values do not have the shape {shape}")
    return np.asarray(flat.reshape(shape))


def _unpack(values: bytes) -> np.ndarray:
    """Texts, each behind its length in four bytes."""
    texts, at = [], 0
    while at < len(values):
        size = int.from_bytes(values[at : at + 4], "little")
        texts.append(values[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return np.array(texts, object)


def write_tensors(request: TensorRequest, version: str, columns: Mapping[str, Any]) -> bytes:
    """The answer of the Open Inference Protocol."""
    outputs = []
    for name in request.outputs:
        values = np.asarray(columns[name])
        outputs.append({"name": name, "shape": [len(values)], "datatype": OUTPUTS[name], "data": values.tolist()})
    answer = {"model_name": "soel", "model_version": version, "outputs": outputs}
    return json.dumps(answer | ({} if request.number is None else {"id": request.number})).encode()
