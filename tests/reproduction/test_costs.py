from __future__ import annotations

from dataclasses import replace

import pytest

from soel_reproduction import costs
from soel_reproduction.artefact import Artefact
from soel_reproduction.artefacts import ARTEFACTS
from soel_reproduction.costs import CORES, SIZES, TABLE_SECONDS, minutes, minutes_on_gpu


@pytest.mark.parametrize("artefact", ARTEFACTS.values(), ids=lambda artefact: artefact.name)
def test_every_artefact_has_a_time_that_grows_with_the_seeds(artefact: Artefact) -> None:
    once, twice = (minutes(replace(artefact, n_seeds=n)) for n in (1, 2))
    assert 0 < once < twice <= 2 * once


def test_a_table_s_time_is_that_of_its_cells() -> None:
    by_hand = 9 * 5 * sum(TABLE_SECONDS[name] for name in ARTEFACTS["table3"].datasets) / CORES / 60
    assert minutes(ARTEFACTS["table3"]) == pytest.approx(by_hand)


def test_a_picture_s_time_is_that_of_its_rows() -> None:
    soel = ARTEFACTS["table2"].methods[-1:]
    one = replace(ARTEFACTS["table2"], datasets=("pneumoniamnist",), methods=soel, n_seeds=1)
    size, pool = SIZES["pneumoniamnist"], 4708 / 2 / 0.9
    cell = pool * 31 * costs.NTL.epoch + (3 * pool + size.test) * costs.NTL.score
    assert minutes(one) == pytest.approx((2 * cell + (4708 + 624) * costs.EXTRACTED) / CORES / 60)


def test_rounds_cost_a_fit_each() -> None:
    both = ARTEFACTS["sequential"]
    at_once, in_rounds = (minutes(replace(both, methods=(method,), budgets=(160,))) for method in both.methods)
    assert 5 < in_rounds / at_once < 8


def test_what_was_not_measured_on_a_gpu_has_no_time() -> None:
    known = {name: minutes_on_gpu(artefact) for name, artefact in ARTEFACTS.items()}
    assert (known["table3"], known["mhrot"], known["label-spreading"]) == (None, None, None)
    assert known["tau"] == pytest.approx(4 * 5 * (50_000 + 60_000) / 0.9 / 5_555 * 4.9 / 60)
