"""What the estimator says of data, labels and parameters that make no sense."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from soel import SOEL, ConfigError, DataError, SchemaError
from soel.settings import PAPER, Schedule
from tests.conftest import Sample, make_toy
from tests.networks.test_own_module import TinyAutoencoder
from tests.test_estimator import fitted, quick
from tests.variants import BESIDE_A_NETWORK

__all__ = ["fitted"]


@pytest.mark.parametrize("rule", ["many", "share=2", "alarms=-1", "alarms=1.5", "share", "contamination=1"])
def test_bad_threshold_rules_are_explained(toy: Sample, rule: str) -> None:
    with pytest.raises(ConfigError, match="threshold rule"):
        quick(threshold=rule).fit(toy.x)


@pytest.mark.parametrize("share", [0.0, -0.1, 0.6])
def test_impossible_contamination_is_refused(toy: Sample, share: float) -> None:
    with pytest.raises(ConfigError, match="contamination"):
        quick(contamination=share).fit(toy.x)


@pytest.mark.parametrize("part", ["backbone", "strategy", "objective", "contamination"])
def test_unknown_parts_name_the_known_ones(toy: Sample, part: str) -> None:
    with pytest.raises(ConfigError, match="Choose one of"):
        quick(**{part: "nonsense"}).fit_with_expert(toy.x, lambda rows: toy.is_anomaly[rows])


def test_other_columns_are_refused(toy: Sample) -> None:
    frame = pd.DataFrame(toy.x, columns=list("abcdef"))
    detector = quick().fit(frame)
    with pytest.raises(SchemaError, match="f"):
        detector.predict(frame.drop(columns="f"))
    with pytest.raises(SchemaError, match="6 features"):
        detector.predict(toy.x[:, :5])


NAMED, NUMBERED = pd.DataFrame(make_toy().x, columns=list("abcdef")), pd.DataFrame(make_toy().x)
WITH_NAMES = "X has feature names, but SOEL was fitted without feature names: its columns were matched by position; fit"
WITHOUT = "X does not have valid feature names, but SOEL was fitted with feature names: .* by position; give a frame"


@pytest.mark.parametrize(
    ("pool", "new", "words"),
    [
        (NAMED, NAMED.to_numpy(), WITHOUT),
        (NAMED, NUMBERED, WITHOUT),
        (NAMED, NUMBERED.to_numpy().tolist(), WITHOUT),
        (NUMBERED, NAMED, WITH_NAMES),
        (NUMBERED.to_numpy(), pl.DataFrame(NAMED), WITH_NAMES),
    ],
)
def test_columns_matched_by_position_are_warned_of_once_a_call(pool: Any, new: Any, words: str) -> None:
    detector = SOEL(BESIDE_A_NETWORK, random_state=0).fit(pool)
    own = {"predict": detector.predict(pool), "drift": detector.drift(pool).found}
    for face in ("predict", "predict_proba", "p_values", "list_anomalies", "drift", "explain"):
        with pytest.warns(UserWarning, match=words) as said:
            found = getattr(detector, face)(new)
        assert [each.filename for each in said] == [__file__], face  # in the line of who called
        np.testing.assert_array_equal(found.found if face == "drift" else found, own.get(face, found))
    for given in ((pool, new), (new, pool), (new, new)):
        with pytest.warns(UserWarning, match=words) as said:
            detector.explain(*given)
        assert len(said) == 1


@pytest.mark.parametrize(("pool", "new"), [(NUMBERED, NUMBERED.to_numpy()), (NUMBERED.to_numpy(), NUMBERED)])
def test_numbers_of_columns_are_no_names(pool: Any, new: Any) -> None:
    quick().fit(pool).predict(new)  # a warning would be an error


@pytest.mark.parametrize("n", [10.5, "10", None, True, np.nan, np.arange(300)])
def test_what_is_no_number_of_rows_is_refused(toy: Sample, fitted: SOEL, n: Any) -> None:
    calls = (
        lambda: quick().query(toy.x, n),
        lambda: quick().fit_with_expert(toy.x, lambda rows: toy.is_anomaly[rows], n),
        lambda: fitted.spot_check(n),
    )
    for call in calls:
        with pytest.raises(
            ConfigError, match=r"^n(_queries)? must be a whole number, got .{1,60}; give one such as 10.$"
        ):
            call()


@pytest.mark.parametrize(("n", "words"), [(0, "At least one row.*got 0"), (-3, "got -3"), (1000, "only 190 of 200")])
def test_impossible_spot_checks(fitted: SOEL, n: int, words: str) -> None:
    with pytest.raises(DataError, match=words):
        fitted.spot_check(n)
    assert len(fitted.spot_check(190)) == 190


def refuse_to_answer(rows: np.ndarray) -> Any:
    pytest.fail(f"rows {rows} were asked about")


@pytest.mark.parametrize(("n", "message"), [(0, "At least one"), (-1, "At least one"), (201, "only 200 of 200")])
def test_impossible_budgets(toy: Sample, n: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        quick().query(toy.x, n)
    with pytest.raises(DataError, match=message):
        quick().fit_with_expert(toy.x, refuse_to_answer, n)  # before the expert is asked anything


@pytest.mark.parametrize(("at_once", "error"), [(0, DataError), (2.5, ConfigError)])
def test_an_impossible_number_of_rows_at_once_is_refused(toy: Sample, at_once: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="got"):
        quick().fit_with_expert(toy.x, refuse_to_answer, 5, at_once=at_once)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(rows: int) -> None:
    with pytest.raises(DataError, match="minimum"):
        quick().fit(np.ones((rows, 3)))


def test_infinite_values_and_empty_columns_are_named(toy: Sample) -> None:
    frame = pd.DataFrame(toy.x, columns=list("abcdef"), dtype=float)
    with pytest.raises(DataError, match=r"'c'.*inf|inf.*'c'"):
        quick().fit(frame.assign(c=np.inf))
    with pytest.raises(DataError, match="'x3' has no value"):
        quick().fit(frame.assign(d=np.nan).to_numpy())


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((20, 2)),
        pd.DataFrame({"id": [f"k{n:03}" for n in range(20)], "site": "north", "load": 1.0}),
    ],
)
def test_rows_that_leave_nothing_to_learn_are_warned_of(rows: Any) -> None:
    with pytest.warns(
        UserWarning, match=r"No column varies .* all 20 rows are equal, so .* mean nothing; give"
    ) as said:
        detector = quick().fit(rows)
    assert [each.filename for each in said] == [__file__]
    assert np.ptp(detector.anomaly_score(rows)) == 0
    with pytest.warns(UserWarning, match="No column varies"):
        quick().query(rows, 2)


@pytest.mark.parametrize("kind", ["table", "vectors"])
@pytest.mark.parametrize(
    "part", [{"backbone": "deep-svdd"}, {"objective": "supervised"}, {"backbone": TinyAutoencoder}]
)
def test_a_backbone_or_an_objective_means_the_papers_learner(
    toy: Sample, kind: str, part: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(PAPER, tables=replace(PAPER.tables, epochs=2), vectors=replace(PAPER.vectors, epochs=2))
    monkeypatch.setattr("soel.settings.PAPER", short)
    y = toy.labels()
    detector = SOEL(kind=kind, random_state=0, **part).fit(toy.x, y)
    same = SOEL(short, kind=kind, random_state=0, **part).fit(toy.x, y)
    np.testing.assert_array_equal(detector.anomaly_score(toy.x), same.anomaly_score(toy.x))
    assert detector.history_
    assert detector.backbone_ != SOEL(short, kind=kind, random_state=0).fit(toy.x, y).backbone_ or "objective" in part


def learnt(**parameters: Any) -> tuple[Any, ...]:
    """What is asked, and what is said of the rows, by an estimator with these parameters."""
    toy = make_toy()
    frame = pd.DataFrame(toy.x, columns=list("abcdef"))
    detector = SOEL(**{"random_state": 0} | parameters)
    asked = detector.query(frame, 8).tolist()
    detector.fit(frame, toy.labels())
    return asked, detector.anomaly_score(frame).tolist(), detector.threshold_, detector.contamination_


EFFECTS = {
    "profile": replace(PAPER, tables=replace(PAPER.tables, epochs=2)),
    "backbone": "deep-svdd",
    "strategy": "random",
    "objective": "supervised",
    "goal": "find",
    "contamination": 0.3,
    "threshold": "alarms=3",
    "kind": "vectors",
    "columns": {"ignore": ["a"]},
    "random_state": 1,
}


def test_every_argument_of_the_estimator_has_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soel.settings.PAPER", EFFECTS["profile"])
    assert list(EFFECTS) == list(inspect.signature(SOEL).parameters)
    usual = learnt()
    for name, value in EFFECTS.items():
        assert learnt(**{name: value}) != usual, name


@pytest.mark.parametrize(
    "parameters",
    [
        {"goal": "find", "strategy": "random"},
        {"goal": "win"},
        {"kind": "tabel"},
        {"profile": "best"},
        {"columns": {"ignore": ["no such column"]}},
        {"random_state": "x"},
        {"random_state": -1},
    ],
)
def test_an_argument_without_an_effect_is_refused(toy: Sample, parameters: dict[str, Any]) -> None:
    with pytest.raises((ConfigError, DataError)):
        SOEL(**parameters).query(toy.x, 5)


def test_a_doubt_about_a_column_names_arguments_and_no_flags() -> None:
    frame = pd.DataFrame({"code": [f"{row:03}" for row in range(40)], "x": np.arange(40) ** 2 % 17})
    with pytest.warns(UserWarning, match="taken for codes; numeric= takes them as numbers") as said:
        SOEL(random_state=0).query(frame, 2)
    assert not [each for each in said if "--" in str(each.message) or "<<" in str(each.message)]


@pytest.mark.parametrize("kind", ["table", "vectors", "pictures"])
def test_each_part_has_an_effect_on_every_kind_of_rows(kind: str) -> None:
    short = Schedule(2, 1e-3, batch_size=20)
    profile, toy = replace(PAPER, tables=short, vectors=short, pictures=short), make_toy(n_rows=40, n_anomalies=6)
    x: Any = toy.x
    if kind == "pictures":
        profile = replace(profile, backbone="mhrot", backbone_options={"depth": 10, "widen": 1})
        x = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 1)).astype(np.uint8)

    def outcome(**part: Any) -> tuple[Any, ...]:
        given: dict[str, Any] = {} if kind == "pictures" else {"kind": kind}
        detector = SOEL(profile, random_state=0, **given, **part)
        asked = detector.query(x, 8).tolist()
        scores = detector.fit(x, toy.labels()).anomaly_score(x).tolist()
        return asked, scores, detector.contamination_

    usual = outcome()
    for part in ({"strategy": "random"}, {"objective": "supervised"}, {"contamination": 0.3}):
        assert outcome(**part) != usual, part
    assert outcome(strategy="random")[0] != usual[0]
    assert outcome(objective="supervised")[1] != usual[1]
