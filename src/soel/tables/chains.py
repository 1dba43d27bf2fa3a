"""Streams one after the other, read as one: the rows of a later one are numbered on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from soel.errors import SchemaError
from soel.tables.batches import Format, Part
from soel.tables.streams import Stream


@dataclass(frozen=True)
class ChainedFormat:
    """The parts of several formats, in order."""

    formats: tuple[Format, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the first; the others have the same, in any order."""
        return self.formats[0].columns

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts; numbers and rows go on from one format to the next."""
        return tuple(part for part, _, _ in self._links)

    def batches(self, part: Part) -> Iterator[Any]:
        """The rows of a part, read by the format that it comes from."""
        _, home, own = self._links[part.number]
        return home.batches(own)

    @cached_property
    def _links(self) -> list[tuple[Part, Format, Part]]:
        links: list[tuple[Part, Format, Part]] = []
        n_rows = 0
        for form in self.formats:
            for own in form.parts:
                links.append((replace(own, number=len(links), first_row=n_rows + own.first_row), form, own))
            n_rows += sum(own.n_rows for own in form.parts)
        return links


@dataclass(frozen=True)
class ChainedStream(Stream):
    """Several streams as one. links: the streams."""

    links: tuple[Stream, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the streams' own."""
        return hashlib.sha256("".join(link.fingerprint for link in self.links).encode()).hexdigest()


def chain(streams: Sequence[Stream]) -> Stream:
    """These streams as one; a single one stays what it is. All have the same columns and are read in the same way."""
    first = streams[0]
    if len(streams) == 1:
        return first
    for other in streams[1:]:
        if set(other.columns) != set(first.columns):
            missing = [repr(name) for name in first.columns if name not in other.columns]
            unseen = [repr(name) for name in other.columns if name not in first.columns]
            raise SchemaError(
                f"{other.name} has other columns than {first.name} (missing: {', '.join(missing) or 'none'}; new: "
                f"{', '.join(unseen) or 'none'}). Give it the same columns; their order is free."
            )
    form = ChainedFormat(tuple(stream.format for stream in streams))
    return ChainedStream(
        first.name,
        first.address,
        first.place,
        form,
        first.id_column,
        first.exclude,
        first.options,
        first.given,
        tuple(streams),
    )
