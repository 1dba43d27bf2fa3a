"""The bar: silent where nobody watches, honest about pace."""

from __future__ import annotations

import io

import pytest

from soel.report import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("soel.report.progress.time.monotonic", lambda: self.now)


def test_pace_and_time_left_count_from_where_this_run_began(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, terminal = Clock(monkeypatch), Terminal()
    bar = progress.Bar("Reading", terminal, patience=0.0)
    bar(400, 1000)  # an earlier run did these
    clock.now = 10.0
    bar(600, 1000)
    assert "600/1000, 20.0/s, 20 s left" in terminal.getvalue()


def test_another_step_starts_counting_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, terminal = Clock(monkeypatch), Terminal()
    bar = progress.Bar("Reading", terminal, patience=0.0)
    bar(1000, 1000)
    clock.now = 5.0
    bar(100, 1000)
    clock.now = 15.0
    bar(200, 1000)
    assert "200/1000, 10.0/s, 80 s left" in terminal.getvalue()


def test_silent_where_nobody_watches() -> None:
    stream = io.StringIO()
    progress.Bar("Reading", stream, patience=0.0)(1, 2)
    assert stream.getvalue() == ""
