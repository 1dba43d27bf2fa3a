"""`SOEL.explain` as a data scientist uses it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel import SOEL, ConfigError
from soel.detect.incontext import pretrained
from soel.detect.incontext.pretrained import Pretrained
from soel.types import UNLABELLED
from tests.variants import BESIDE_A_NETWORK


@pytest.fixture(scope="module")
def machines() -> pd.DataFrame:
    """Pressure follows the temperature; row 0 has too much of it, row 1 a colour of its own, row 2 a late hour."""
    rng = np.random.default_rng(0)
    n = 400
    heat = rng.normal(60, 5, n)
    table = pd.DataFrame(
        {
            "temperature": heat,
            "pressure": heat / 10 + rng.normal(0, 0.05, n),
            "colour": rng.choice(["red", "blue"], n),
            "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, n) * 24 + 10, "h"),
            "weight": rng.normal(size=n),
            "empty": 1.0,
        }
    )
    table.loc[0, "pressure"] = 12.5
    table.loc[1, "colour"] = "green"
    table.loc[2, "when"] = pd.Timestamp("2024-04-01 23:00")
    return table


@pytest.fixture(scope="module", params=[BESIDE_A_NETWORK, "default"], ids=["beside a network", "default"])
def detector(request: pytest.FixtureRequest, machines: pd.DataFrame) -> SOEL:
    return SOEL(request.param, random_state=0).fit(machines)


def test_the_wrong_value_is_named_whatever_its_kind(detector: SOEL, machines: pd.DataFrame) -> None:
    found = detector.explain(machines[:3])
    first = [reasons[0] for reasons in found.reasons]
    assert [{column for each in reasons for column in each.columns} for reasons in found.reasons] == [
        {"pressure"},
        {"colour"},
        {"when"},
    ]
    assert (first[0].values, first[1].values) == ((12.5,), ("green",))
    assert first[1].usual[0] in ("red", "blue")
    assert [reason.direction for reason in first[:2]] == [1, 0]
    assert all(row.suffices and row.changed_rank > row.rank for row in found)


def test_the_change_makes_a_row_ordinary_to_the_detector(detector: SOEL, machines: pd.DataFrame) -> None:
    """Typed into the table, the usual value takes the row below the threshold."""
    usual = machines[:2].copy()
    for row, why in enumerate(detector.explain(machines[:2])):
        for reason in why.reasons:
            for column, value in zip(reason.columns, reason.usual, strict=True):
                usual.loc[row, column] = value
    assert (detector.predict(machines[:2]) == -1).all()
    assert (detector.anomaly_score(usual) < detector.anomaly_score(machines[:2])).all()


def test_contributions_add_up_to_the_score(detector: SOEL, machines: pd.DataFrame) -> None:
    found = detector.explain(machines[:50])
    np.testing.assert_allclose(
        found.baseline + found.contributions.sum(axis=1) + found.remainder, detector.anomaly_score(machines[:50])
    )
    assert "empty" not in found.columns  # it gives no feature
    assert {"temperature", "pressure"} in map(set, found.groups)


def test_an_explanation_is_read_as_sentences(detector: SOEL, machines: pd.DataFrame) -> None:
    lines = str(detector.explain(machines[:3])).splitlines()
    words = [
        r"row 0: most like row \d+, but for pressure 12\.5, usually \d\.\d+: with that as there it would be ordinary",
        r"row 1: most like row \d+, but for colour green, usually (red|blue): ",
        r"row 2: most like row \d+, but for when 2024-04-01 23:00:00, usually 2024-\d\d-\d\d 10:00:00: ",
    ]
    assert len(lines) == 3
    assert all(re.match(*each) for each in zip(words, lines, strict=True)), lines


def test_a_loaded_detector_needs_rows_that_are_ordinary(detector: SOEL, machines: pd.DataFrame, tmp_path: Path) -> None:
    detector.save(tmp_path / "model")
    loaded = SOEL.load(tmp_path / "model")
    with pytest.raises(ConfigError, match=r"loaded without the rows .*explain\(X, pool\)"):
        loaded.explain(machines[:1])
    again, first = loaded.explain(machines[:3], machines), detector.explain(machines[:3])
    np.testing.assert_allclose(again.contributions, first.contributions, atol=1e-4)


def test_vectors_have_no_columns_to_name() -> None:
    x = np.random.default_rng(0).normal(size=(60, 20))
    detector = SOEL(kind="vectors", random_state=0).fit(x)
    with pytest.raises(ConfigError, match="those of vectors mean nothing each"):
        detector.explain(x[:1])


def test_a_changed_row_is_scored_without_the_one_it_was_made_of() -> None:
    """Put right, a wrong row of the context is ordinary, and so is it where nobody says what it was made of."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(200, 6)).astype(np.float32)
    pool[0, 2] = 9
    detector = Pretrained.fit(pool, np.full(200, UNLABELLED, np.int8), 0)
    right = pool[:1].copy()
    right[0, 2] = 0
    own, apart, beside = detector.score(pool[:1]), detector.score_changed(right, pool[None, :1]), detector.score(right)
    usual, highest = np.quantile(detector.score(pool), [0.5, 0.98])
    assert apart < usual < highest < own
    np.testing.assert_allclose(beside, apart)
    new = rng.normal(size=(5, 6)).astype(np.float32)
    np.testing.assert_allclose(detector.score_changed(new, new[:, None] + 1), detector.score(new), atol=1e-5)


@pytest.mark.parametrize("large_pool", [4000, 100])
def test_rows_as_they_are_and_changed_ones_are_scored_together_as_apart(
    monkeypatch: pytest.MonkeyPatch, large_pool: int
) -> None:
    """Rows of the context among them, and new ones; with a surrogate, and without."""
    monkeypatch.setattr(pretrained, "LARGE_POOL", large_pool)
    rng = np.random.default_rng(0)
    pool, labels = rng.normal(size=(200, 6)).astype(np.float32), np.full(200, UNLABELLED, np.int8)
    pool[:4] += 3
    labels[[0, 50]] = [1, 0]
    detector = Pretrained.fit(pool, labels, 0)
    rows = np.concatenate([pool[:3], rng.normal(size=(4, 6)).astype(np.float32) + 2, pool[60:62]])
    changed, sources = pool[2:5] + np.float32(0.5), np.stack([pool[2:5], pool[7:10]], axis=1)
    own, others = detector.score_both(rows, changed, sources)
    np.testing.assert_allclose(own, detector.score(rows), atol=1e-4)
    np.testing.assert_allclose(others, detector.score_changed(changed, sources), atol=1e-4)
    assert (detector.surrogate is None) == (large_pool == 4000)


def test_of_equal_rows_only_the_one_that_a_row_was_made_of_is_left_out() -> None:
    """Half of the context is one row: as common as it is, it stays ordinary when it is what a row was made of."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(200, 6)).astype(np.float32)
    pool[:100] = 0.5
    detector = Pretrained.fit(pool, np.full(200, UNLABELLED, np.int8), 0)
    own, apart = detector.score(pool[:1]), detector.score_changed(pool[:1], pool[None, :1])
    np.testing.assert_allclose(apart, own, atol=0.05)
    wrong = pool[:1].copy()
    wrong[0, 2] = 9.5
    both = np.stack([wrong, pool[:1]], axis=1)
    ordinary, odd = (float(detector.score_changed(row, both)[0]) for row in (pool[:1], wrong))
    assert ordinary < 0
    assert odd - ordinary > 2.5
    assert (detector.score(pool) < odd).mean() > 0.95
