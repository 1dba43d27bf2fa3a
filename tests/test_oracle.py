from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.errors import ConfigError, LabelError, UnknownItemError
from soel.oracle import SimulatedExpert

TRUTH = np.arange(2000) % 2


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30), st.integers(0, 5))
def test_a_flawless_expert_says_the_truth(truth: list[int], seed: int) -> None:
    expert = SimulatedExpert(truth, rng=np.random.default_rng(seed))
    assert expert.ask(range(len(truth))).tolist() == truth


def test_an_expert_is_a_function_of_rows() -> None:
    labels = SimulatedExpert([0, 1, 1])(np.array([2, 0]))
    assert labels.dtype == np.int8
    assert labels.tolist() == [1, 0]


def test_answers_by_id_are_words() -> None:
    assert SimulatedExpert({"a": 1, "b": 0}).answer(["b", "a"]) == {"b": "normal", "a": "anomaly"}
    assert SimulatedExpert({"a": 1}, skip=1).answer(["a"]) == {"a": "skip"}


def test_the_rates_are_what_was_asked_for() -> None:
    answers = SimulatedExpert(TRUTH, wrong=0.1, bias=0.2, skip=0.25).ask(range(len(TRUTH)))
    passed = answers == -1
    assert passed.mean() == pytest.approx(0.25, abs=0.03)
    said = ~passed
    assert (answers[said & (TRUTH == 0)] == 1).mean() == pytest.approx(0.1, abs=0.03)
    assert (answers[said & (TRUTH == 1)] == 0).mean() == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("setting", ["wrong", "skip", "bias"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_chances_lie_between_0_and_1(setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{setting} is a probability"):
        SimulatedExpert([0, 1], **{setting: value})  # type: ignore[arg-type]


def test_unknown_codes_and_items_are_refused() -> None:
    with pytest.raises(LabelError, match="got also -1, 2"):
        SimulatedExpert([0, 1, 2, -1])
    with pytest.raises(UnknownItemError, match="'c'"):
        SimulatedExpert({"a": 1}).answer(["c"])
