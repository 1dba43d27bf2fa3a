"""What is attacked: an honest file or folder, how it is read, and what hypothesis makes in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from benchmarks.fuzz.mutation import edited

Build = Callable[[Path], "Target"]
Step = Callable[[Path], object]


@dataclass(frozen=True)
class Target:
    """files: honest content by path; one of them is mutated, all are put back afterwards.

    read: uses what lies there, given what was changed; an error of ours is a refusal, any other a defect. made: what
    hypothesis makes; put: how it gets there, returns where. mend: brings digests up to date, so that readers go on to
    what is behind them. names: one of them is in every refusal: the file's name, where there is a file.
    """

    files: Mapping[Path, bytes]
    read: tuple[Step, ...]
    made: st.SearchStrategy[Any]
    put: Callable[[Any], Path]
    mend: Callable[[], None] | None = None
    names: tuple[str, ...] = ()


def one_file(path: Path, read: Step, made: st.SearchStrategy[bytes] | None = None) -> Target:
    """A reader of one file, which lies there already. made: its content; by default edits of the honest one."""
    content = path.read_bytes()
    files = (edited(content) if made is None else made).map(lambda new: (path, new))
    return Target({path: content}, (read,), files, put_file, names=(path.name,))


def put_file(made: tuple[Path, bytes]) -> Path:
    """Write a file that hypothesis made."""
    path, content = made
    path.write_bytes(content)
    return path
