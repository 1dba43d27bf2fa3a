"""The estimator as a data scientist uses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from soel import PROFILES, SOEL, ConfigError, ModelFileError, Profile, SoelError
from soel.assess.metrics import auroc
from tests.conftest import Sample, make_toy
from tests.networks.test_own_module import TinyAutoencoder
from tests.variants import BESIDE_A_NETWORK

DEFAULT = PROFILES["default"]
QUICK = replace(DEFAULT, tables=replace(DEFAULT.tables, epochs=10), n_members=2)


def quick(**parameters: object) -> SOEL:
    return SOEL(QUICK, random_state=0, **parameters)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fitted() -> SOEL:
    toy = make_toy()
    return quick().fit(toy.x, toy.labels())


def test_query_is_pure_and_repeatable(toy: Sample) -> None:
    detector = quick()
    before = dict(vars(detector))
    rows = detector.query(toy.x, 10)
    assert vars(detector) == before
    assert len(set(rows.tolist())) == 10
    np.testing.assert_array_equal(rows, quick().query(toy.x, 10))


@pytest.mark.parametrize("at_once", [None, 1, 3, 8])
def test_query_and_fit_give_bitwise_what_fit_with_expert_gives(toy: Sample, at_once: int | None) -> None:
    asked: list[np.ndarray] = []

    def ask(rows: np.ndarray) -> object:
        asked.append(rows)
        return toy.is_anomaly[rows].astype(int)

    together = quick().fit_with_expert(toy.x, ask, 8, at_once=at_once)
    labels = np.full(len(toy.x), -1)
    for rows in asked:
        np.testing.assert_array_equal(rows, quick().query(toy.x, len(rows), labels))
        labels[rows] = toy.is_anomaly[rows]
    apart = quick().fit(toy.x, labels)
    assert [len(rows) for rows in asked] == {3: [3, 3, 2], 8: [8]}.get(at_once or 1, [1] * 8)
    np.testing.assert_array_equal(together.anomaly_score(toy.x), apart.anomaly_score(toy.x))
    assert together.threshold_ == apart.threshold_


def test_questions_that_know_no_answer_are_asked_at_once(toy: Sample) -> None:
    asked: list[int] = []

    def ask(rows: np.ndarray) -> object:
        asked.append(len(rows))
        return toy.is_anomaly[rows].astype(int)

    quick(strategy="k-center").fit_with_expert(toy.x, ask, 8)
    assert asked == [8]


def test_a_row_without_an_answer_is_not_asked_again(toy: Sample) -> None:
    asked: list[int] = []

    def ask(rows: np.ndarray) -> object:
        asked.extend(rows.tolist())
        return np.where(np.arange(len(rows)) + len(asked) < 4, -1, toy.is_anomaly[rows])

    detector = quick().fit_with_expert(toy.x, ask, 8)
    assert len(set(asked)) == 8
    assert (detector.detector_.fitted.pool_labels != -1).sum() == 5


@pytest.mark.parametrize(
    ("profile", "n_threads"), [(BESIDE_A_NETWORK, 2), (PROFILES["default"], 1), (PROFILES["default"], 2)]
)
def test_the_result_does_not_depend_on_what_ran_before(toy: Sample, profile: Profile, n_threads: int) -> None:
    short = replace(profile, tables=replace(profile.tables, epochs=10), n_members=2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    first = SOEL(short, random_state=0).fit(toy.x, toy.labels()).anomaly_score(toy.x)
    torch.manual_seed(99)
    np.random.seed(99)
    torch.set_num_threads(n_threads)
    SOEL(short, strategy="random", random_state=0).fit(toy.x[:50])
    again = SOEL(short, random_state=0).fit(toy.x, toy.labels()).anomaly_score(toy.x)
    torch.set_num_threads(threads)
    np.testing.assert_array_equal(again, first)


def test_a_dozen_labels_tell_the_toy_s_anomalies_apart(toy: Sample) -> None:
    detector = SOEL(random_state=0).fit(toy.x, toy.labels(12))
    assert auroc(toy.is_anomaly, detector.anomaly_score(toy.x)) > 0.97


def test_labels_help() -> None:
    """Anomalies that lie close together among the others: nothing shows them but labels."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(170, 4)), rng.normal(1, 0.1, size=(30, 4))])
    y = np.full(200, -1)
    y[:6], y[170:176] = 0, 1
    without, with_labels = SOEL(random_state=0).fit(x), SOEL(random_state=0).fit(x, y)
    new = np.flatnonzero(y == -1)
    found = [auroc(new >= 170, detector.anomaly_score(x[new])) for detector in (without, with_labels)]
    assert found[0] < 0.5
    assert found[1] > 0.95
    assert np.isnan(without.cover_radius_)


def test_scikit_learn_signs(toy: Sample, fitted: SOEL) -> None:
    score = fitted.anomaly_score(toy.x)
    np.testing.assert_array_equal(fitted.score_samples(toy.x), -score)
    np.testing.assert_array_equal(fitted.predict(toy.x) == 1, score > fitted.threshold_)
    assert auroc(toy.is_anomaly, score) > 0.8


def test_probabilities_agree_with_the_contamination(toy: Sample, fitted: SOEL) -> None:
    probabilities = fitted.anomaly_probability(toy.x)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert probabilities.mean() == pytest.approx(fitted.contamination_, abs=0.01)
    low, high = fitted.contamination_interval_
    assert low <= fitted.contamination_ <= high


@pytest.mark.parametrize(("rule", "n_alarms"), [("share=0.05", 10), ("alarms=7", 7), ("alarms=0", 0)])
def test_the_threshold_can_be_asked_for(toy: Sample, rule: str, n_alarms: int) -> None:
    detector = quick(threshold=rule).fit(toy.x, toy.labels())
    assert (detector.predict(toy.x) == 1).sum() == n_alarms


def test_a_known_contamination_is_used(toy: Sample) -> None:
    detector = quick(contamination=0.2).fit(toy.x, toy.labels())
    assert detector.contamination_ == 0.2
    assert (detector.predict(toy.x) == 1).mean() == pytest.approx(0.2, abs=0.01)


def test_frames_keep_their_columns_and_agree(toy: Sample) -> None:
    names = [f"sensor {i}" for i in range(6)]
    scores = []
    for frame in (pd.DataFrame(toy.x, columns=names), pl.DataFrame(toy.x, schema=names)):
        detector = quick().fit(frame, toy.labels())
        assert detector.feature_names_in_.tolist() == names
        scores.append(detector.anomaly_score(frame[names[::-1]]))
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], quick().fit(toy.x, toy.labels()).anomaly_score(toy.x))


def test_categories_missing_values_and_unseen_ones(toy: Sample) -> None:
    frame = pd.DataFrame(toy.x, columns=list("abcdef"))
    frame["kind"] = np.where(frame["a"] > 0, "pump", "valve")
    frame.loc[3, "a"] = np.nan
    detector = quick().fit(frame, toy.labels())
    new = frame.head(5).assign(kind="never seen", b=np.nan)
    scores = detector.anomaly_score(new)
    assert np.isfinite(scores).all()
    middle = new.assign(b=frame["b"].median())  # no row of the pool lacked b: a missing one counts as the middle one
    np.testing.assert_array_equal(detector.anomaly_score(middle), scores)
    np.testing.assert_array_equal(detector.anomaly_score(new.assign(kind=None)), scores)  # none of those seen
    others: list[dict[str, Any]] = [{"b": frame["b"].mean()}, {"kind": "pump"}, {"kind": "valve"}]
    for other in others:
        assert (detector.anomaly_score(new.assign(**other)) != scores).all(), other
    lacking, median = (new.assign(a=value) for value in (np.nan, frame["a"].median()))
    assert (detector.anomaly_score(lacking) != detector.anomaly_score(median)).all()  # the pool knows a missing a


def test_labels_of_one_kind_and_all_rows_labelled(toy: Sample) -> None:
    for kind in (0, 1):
        labels = np.full(len(toy.x), -1)
        labels[np.flatnonzero(toy.is_anomaly == kind)[:4]] = kind
        detector = quick().fit(toy.x, labels)
        low, high = detector.contamination_interval_
        assert low <= detector.contamination_ <= high
        assert (detector.contamination_ >= 4 / 200) if kind else (detector.contamination_ < 0.2)
        assert np.ptp(detector.anomaly_score(toy.x)) > 0
    everything = quick().fit(toy.x, toy.is_anomaly.astype(int))
    assert auroc(toy.is_anomaly, everything.anomaly_score(toy.x)) > 0.95


def test_constant_columns_and_duplicate_rows_are_no_trouble() -> None:
    x = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 6, axis=0)
    x[:, 1] = 4
    scores = quick().fit(x).anomaly_score(x).reshape(10, 6)
    np.testing.assert_allclose(scores, scores[:, :1].repeat(6, axis=1), rtol=1e-4, atol=1e-5)  # copies score alike
    assert len(np.unique(scores[:, 0].round(4))) == 10


def test_save_and_load(tmp_path: Path, toy: Sample, fitted: SOEL) -> None:
    fitted.save(tmp_path / "model")
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
        "README.md",
        "manifest.json",
        "weights.safetensors",
    ]
    loaded = SOEL.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.anomaly_score(toy.x), fitted.anomaly_score(toy.x))
    np.testing.assert_array_equal(loaded.predict(toy.x), fitted.predict(toy.x))
    assert loaded.contamination_interval_ == fitted.contamination_interval_
    assert loaded.get_params()["random_state"] == 0


def test_own_backbone_is_needed_again_for_loading(tmp_path: Path, toy: Sample) -> None:
    detector = quick(backbone=TinyAutoencoder).fit(toy.x, toy.labels())
    detector.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="own backbone"):
        SOEL.load(tmp_path / "model")
    loaded = SOEL.load(tmp_path / "model", backbone=TinyAutoencoder)
    np.testing.assert_array_equal(loaded.anomaly_score(toy.x), detector.anomaly_score(toy.x))


def test_a_spot_check_proves_what_the_model_says() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    x[:12] += 5
    truth = np.arange(120) < 12
    detector = SOEL(random_state=0)
    y = np.full(120, -1)
    rows = detector.query(x, 6)
    y[rows] = truth[rows]
    detector.fit(x, y)
    with pytest.raises(ConfigError, match="no spot check"):
        detector.quality(y)
    checked = detector.spot_check(20)
    interval = detector.contamination_interval_
    with pytest.raises(SoelError, match="None of the 20 drawn rows has a label yet; label them in y first"):
        detector.quality(y)
    assert detector.contamination_interval_ == interval
    assert not hasattr(detector, "quality_")
    assert len(set(checked)) == 20
    assert not set(checked) & set(rows)
    assert (detector.spot_check(20) == checked).all()
    y[checked] = truth[checked]
    quality = detector.quality(y)
    assert detector.quality_ is quality
    assert quality.n_checked == 20
    assert quality.share.low <= 0.1 <= quality.share.high
    assert detector.contamination_interval_ == (quality.share.low, quality.share.high)
    detector.fit(x, y)
    assert detector.quality(y) == quality  # of the model that stood when the rows were drawn
    assert detector.predict_proba(x).sum(axis=1) == pytest.approx(1)
    p_values = detector.p_values(x)
    assert ((p_values > 0) & (p_values <= 1)).all()
    assert p_values[:12].max() < np.median(p_values)
    low, high = detector.contamination_estimate_.low, detector.contamination_estimate_.high
    assert detector.not_sure(x).mean() == pytest.approx(high - low, abs=0.02)
    assert not detector.not_sure(np.zeros((5, 3))).any()
    unsure = np.flatnonzero(detector.not_sure(x) & (y == -1))
    assert len(unsure)
    assert set(detector.query(x, min(3, len(unsure)), y, not_sure=True)) <= set(unsure)
    n = len(unsure) + 3  # more than there are: all of them, then others
    asked = detector.query(x, n, y, not_sure=True)
    assert set(asked[: len(unsure)]) == set(unsure)
    assert len(set(asked)) == n
    assert (y[asked] == -1).all()
    far = np.full((40, 3), 30.0)
    assert detector.list_anomalies(far, 0.2).tolist() == list(range(40))
    assert len(detector.list_anomalies(rng.normal(size=(40, 3)), 0.2)) <= 4


def test_who_wants_to_find_meets_more_anomalies_than_who_wants_to_learn() -> None:
    x = np.random.default_rng(0).normal(size=(80, 3))
    x[:8] += 5
    n_found = {goal: int((SOEL(goal=goal, random_state=0).query(x, 8) < 8).sum()) for goal in ("learn", "find")}
    assert n_found["find"] > n_found["learn"]
    with pytest.raises(ConfigError, match="a strategy of its own, got 'random' too"):
        SOEL(goal="find", strategy="random").query(x, 2)
    with pytest.raises(ConfigError, match="no goal called 'win'"):
        SOEL(goal="win").query(x, 2)
