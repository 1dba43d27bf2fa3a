"""Columns that experts name beside a label: why it is an anomaly."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel import SOEL, LabelError, SessionOptions, Verdict, create_session
from soel.assess.metrics import auroc
from soel.session import Answer
from soel.types import Rows


def make_table(n_rows: int = 300, n_anomalies: int = 15) -> tuple[pd.DataFrame, np.ndarray]:
    """Twelve columns of noise; anomalies are large in the last."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 12))
    x[:n_anomalies, -1] += 2.5
    return pd.DataFrame(x, columns=list("abcdefghijkl")), np.arange(n_rows) < n_anomalies


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    return make_table()


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    known = np.full(300, -1)
    known[0], known[[50, 90, 130, 200]] = 1, 0
    return known


@pytest.fixture(scope="module")
def named(table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray) -> SOEL:
    return SOEL(random_state=0).fit(table[0], labels, because={0: ["l"]})


def test_a_named_column_finds_more_anomalies(
    table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray, named: SOEL
) -> None:
    x, truth = table
    free = labels == -1
    without = SOEL(random_state=0).fit(x, labels).anomaly_score(x)
    assert auroc(truth[free], named.anomaly_score(x)[free]) > auroc(truth[free], without[free]) + 0.03


def test_no_names_change_no_score_and_what_is_fine_changes_it(
    table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray
) -> None:
    x, _ = table
    plain = SOEL(random_state=0).fit(x, labels).anomaly_score(x)
    assert np.array_equal(plain, SOEL(random_state=0).fit(x, labels, because={}).anomaly_score(x))
    assert not np.array_equal(plain, SOEL(random_state=0).fit(x, labels, because={50: ["a"]}).anomaly_score(x))


def test_positions_name_columns_and_a_saved_model_keeps_the_names(
    table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray, named: SOEL, tmp_path: Path
) -> None:
    x, _ = table
    array = x.to_numpy()
    by_position = SOEL(random_state=0).fit(array, labels, because={0: [11]})
    assert np.allclose(by_position.anomaly_score(array), named.anomaly_score(x))
    named.save(tmp_path / "model")
    assert np.array_equal(SOEL.load(tmp_path / "model").anomaly_score(x), named.anomaly_score(x))


def test_reasons_say_a_named_column(table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray, named: SOEL) -> None:
    def first_reasons(detector: SOEL) -> list[str]:
        return [row.reasons[0].columns[0] for row in detector.explain(table[0][:15]) if row.reasons]

    with_names, without = first_reasons(named), first_reasons(SOEL(random_state=0).fit(table[0], labels))
    assert with_names.count("l") >= 0.8 * len(with_names) > 0
    assert with_names.count("l") > without.count("l")


def test_an_expert_may_return_names(table: tuple[pd.DataFrame, np.ndarray]) -> None:
    x, truth = table

    def ask(rows: Rows) -> tuple[np.ndarray, dict[int, list[str]]]:
        return truth[rows].astype(int), {int(row): ["l"] for row in rows if truth[row]}

    told = SOEL(random_state=0).fit_with_expert(x, ask, 10, at_once=5)
    rows = np.flatnonzero(told.detector_.fitted.pool_labels != -1)
    assert truth[rows].any()
    y = np.full(len(x), -1)
    y[rows] = truth[rows]
    because = {int(row): ["l"] for row in rows if truth[row]}
    assert np.array_equal(told.anomaly_score(x), SOEL(random_state=0).fit(x, y, because=because).anomaly_score(x))


@pytest.mark.parametrize(
    ("because", "words"), [({0: ["z"]}, "'z' for row 0"), ({7: ["a"]}, "no label"), ({-1: ["a"]}, "no label")]
)
def test_a_name_of_nothing_is_refused(
    table: tuple[pd.DataFrame, np.ndarray], labels: np.ndarray, because: dict[int, list[str]], words: str
) -> None:
    with pytest.raises(LabelError, match=words):
        SOEL(random_state=0).fit(table[0], labels, because=because)


def test_a_group_of_columns_is_called_by_a_named_one() -> None:
    x, _ = make_table()
    for name, noise in (("j", 0.2), ("k", 0.1)):
        x[name] = x["l"] + noise * np.random.default_rng(1).normal(size=len(x))
    labels = np.full(len(x), -1)
    labels[[0, 60]] = 1, 0
    central = SOEL(random_state=0).fit(x, labels).explain(x[:1]).groups
    (group,) = (group for group in central if "j" in group)
    assert group[0] != "j"
    called = SOEL(random_state=0).fit(x, labels, because={0: ["j"]}).explain(x[:1])
    (group,) = (group for group in called.groups if "l" in group)
    assert group[0] == "j"
    assert [reason.columns[0] for reason in called[0].reasons if "l" in reason.columns] in ([], ["j"])


def test_a_session_learns_from_names_and_says_what_they_changed(
    table: tuple[pd.DataFrame, np.ndarray], tmp_path: Path
) -> None:
    x, _ = table
    x.to_csv(tmp_path / "table.csv", index=False)
    with closing(
        create_session(tmp_path / "session", tmp_path / "table.csv", SessionOptions(seed=0, budget=20))
    ) as session:
        answers = {0: Verdict.ANOMALY, 50: Verdict.NORMAL, 90: Verdict.NORMAL}
        session.tell([Answer(session.ids[row], verdict) for row, verdict in answers.items()])
        assert "named" not in session.fit().note
        without = session.score().scores
        session.tell([Answer(session.ids[0], Verdict.ANOMALY, because=("l",))])
        assert not session.state.fit_is_current
        note = session.fit().note
        assert session.state.fit is not None
        effect = session.state.fit.named
        assert effect is not None
        assert effect.n_answers == 1
        assert 0 < effect.n_moved <= effect.n_alarms
        assert f"Without them {effect.n_moved} of the {effect.n_alarms} alarms would be others" in note
        assert not np.array_equal(session.score().scores, without)
