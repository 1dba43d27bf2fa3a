"""Work side by side, in order."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from soel.numeric import ahead, in_order, n_cores, parallel_map, single_threaded_blas


@pytest.mark.parametrize("wanted", ["1", "4"])
def test_results_come_in_order(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    assert parallel_map(lambda part: part * part, range(20)) == [part * part for part in range(20)]
    assert list(in_order(lambda part: -part, iter(range(20)), 3, 5)) == [-part for part in range(20)]
    assert list(in_order(lambda part: part, iter(()), 3, 5)) == []


def test_no_more_than_so_many_are_computed_ahead() -> None:
    given: list[int] = []

    def give() -> Iterator[int]:
        for number in range(100):
            given.append(number)
            yield number

    results = in_order(lambda number: number, give(), 2, 4)
    assert next(results) == 0
    assert len(given) == 4
    assert isinstance(results, Generator)
    results.close()


def test_an_error_of_a_part_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda part: 1 // part, [1, 0, 2])
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda part: 1 // part, [1, 0, 2], 2, 2))


def test_a_number_that_makes_no_sense_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    most = n_cores()
    for wanted in ("0", "many", "", "-3", "1000000"):
        monkeypatch.setenv("OMP_NUM_THREADS", wanted)
        assert n_cores() == most
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_cores() == 1


def test_matrices_are_multiplied_in_one_thread_until_the_last_is_done() -> None:
    def n_threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        before = n_threads()
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        assert n_threads() == {1}
        first.__exit__(None, None, None)
        assert n_threads() == {1}, "the second is not done"
        second.__exit__(None, None, None)
        assert n_threads() == before


def test_an_error_puts_the_threads_of_matrices_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        with pytest.raises(ZeroDivisionError), single_threaded_blas():
            assert 1 // 0
        assert threadpool_info() == before


LATE_LIBRARY = """
import sys
import numpy as np
from soel.numeric import single_threaded_blas
with single_threaded_blas():
    pass
assert "scipy.linalg.blas" not in sys.modules
from sklearn.utils import extmath
from threadpoolctl import threadpool_info
def n_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
real, seen, before = extmath.randomized_svd, set(), n_threads()
extmath.randomized_svd = lambda *given, **named: (seen.update(n_threads()), real(*given, **named))[1]
from soel.detect.angular import Angular
Angular.fit(np.random.default_rng(0).normal(size=(60, 40)).astype(np.float32), np.full(60, -1, np.int8), 0)
print(before, seen, n_threads() == before)
"""


def test_a_matrix_library_that_is_loaded_later_does_not_spin_beside_a_fit() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run(
        [sys.executable, "-c", LATE_LIBRARY], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n")[0] == "{2} {1} True"


def test_items_made_ahead_come_in_order() -> None:
    assert list(ahead(range(50))) == list(range(50))


def test_items_are_made_ahead_but_not_too_far() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    coming = ahead(items(), depth=2)
    assert next(coming) == 0
    while len(made) < 2:  # one in hand, one ready
        threading.Event().wait(0.01)
    threading.Event().wait(0.15)
    assert len(made) == 2
    coming.close()  # type: ignore[attr-defined]


def test_what_goes_wrong_is_raised_after_what_went_well() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("the second one")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="the second one"):
        next(coming)
