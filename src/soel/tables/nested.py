"""Tables whose cells hold more than a value: records become columns of their own, lists become text."""

from __future__ import annotations

from typing import Any

DEEPEST = 20  # records in records


def flatten(table: Any) -> Any:
    """An Arrow table without records: {"order": {"sum": 5}} is a column 'order.sum'. A list of words is 'a, b'."""
    import pyarrow as pa

    for _ in range(DEEPEST):
        if not any(pa.types.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    for at, kind in enumerate(table.schema.types):
        if pa.types.is_list(kind) and _is_plain(kind.value_type):
            table = table.set_column(at, table.column_names[at], _join(table.column(at)))
    return table


def flat_names(schema: Any) -> list[str]:
    """The names that the columns of a schema then have."""
    return list(flatten(schema.empty_table()).column_names)


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    kinds = pa.types
    return bool(kinds.is_string(kind) or kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_null(kind))


def _join(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join(column.cast(pa.list_(pa.string())), ", ")
