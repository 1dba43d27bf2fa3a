"""Errors about a file name it, and only it."""

from __future__ import annotations

import pytest

from soel.errors import DiskFullError, LabelError, SoelError, naming


def test_what_is_wrong_with_a_file_is_told_with_its_name() -> None:
    with pytest.raises(LabelError, match=r"^a\.csv: 'x' is no label$"), naming("a.csv"):
        raise LabelError("'x' is no label")


def test_a_name_is_not_said_twice() -> None:
    with pytest.raises(SoelError, match=r"^a\.csv lacks a column$"), naming("a.csv"):
        raise SoelError("a.csv lacks a column")


def test_an_error_of_another_file_is_not_blamed_on_this_one() -> None:
    full = DiskFullError("/s/events.sqlite cannot be written: the disk is full.")
    full.filename = "/s/events.sqlite"
    with pytest.raises(DiskFullError, match=r"^/s/events\.sqlite"), naming("a.csv"):
        raise full
