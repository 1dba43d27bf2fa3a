"""The network that the package carries: orders that play no part, labels that do, wide and large pools."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from soel import numeric as cores
from soel.assess.metrics import auroc
from soel.detect.incontext import pretrained, weights
from soel.detect.incontext.pretrained import Pretrained
from soel.detect.incontext.samples import (
    MOST_COLUMNS,
    choose_context,
    choose_rows,
    column_order,
    keys,
)
from soel.errors import ModelFileError

LARGEST_FILE = 20_000_000


@pytest.fixture(scope="module")
def fitted_toy() -> tuple[np.ndarray, np.ndarray, Pretrained]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 6)).astype(np.float32)
    labels = np.full(150, -1, np.int8)
    labels[:8] = [1, 1, 0, 0, 0, 1, 0, 0]
    return x, labels, Pretrained.fit(x, labels, 0)


def test_permuted_rows_and_columns_give_the_same_scores(fitted_toy: tuple[np.ndarray, np.ndarray, Pretrained]) -> None:
    x, labels, fitted = fitted_toy
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(x)), rng.permutation(x.shape[1])
    again = Pretrained.fit(x[rows][:, columns], labels[rows], 0)
    new = rng.normal(size=(40, 6)).astype(np.float32)
    np.testing.assert_allclose(again.score(new[:, columns]), fitted.score(new), atol=1e-5)
    np.testing.assert_allclose(again.score(x[rows][:, columns]), fitted.score(x)[rows], atol=1e-5)


@pytest.mark.parametrize("n_rows", [150, 1100])
def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    """The work is divided in the same way however many share it, and matrices are multiplied in one thread each."""
    x = np.random.default_rng(5).normal(size=(n_rows, 6)).astype(np.float32)
    labels = np.full(n_rows, -1, np.int8)
    labels[:8] = [1, 1, 0, 0, 0, 1, 0, 0]
    labels[100:150] = 0  # of the larger pool some are beyond the sample
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(cores, "n_cores", lambda n_threads=n_threads: n_threads)
        with threadpool_limits(n_threads, user_api="blas"):
            cores.forget()
            fitted = Pretrained.fit(x, labels, 0)
            found.append(
                np.concatenate([fitted.score(x * np.float32(1.01)), fitted.score(x), fitted._with_labels.shares()])
            )
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_parts_have_the_scores_of_the_whole(fitted_toy: tuple[np.ndarray, np.ndarray, Pretrained]) -> None:
    x, _, fitted = fitted_toy
    new = x * np.float32(0.9)
    parts = np.concatenate([fitted.score(new[:11]), fitted.score(new[11:])])
    np.testing.assert_allclose(parts, fitted.score(new), atol=1e-4)


def test_a_minority_class_is_learnt_from_labels() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(400, 4)).astype(np.float32)
    is_anomaly = (x[:, 1] > 0.4) & (x[:, 1] < 0.5)  # nothing about them is unusual
    labels = np.full(400, -1, np.int8)
    without = auroc(is_anomaly[200:], Pretrained.fit(x[:200], labels[:200], 0).score(x[200:]))
    asked = np.r_[np.flatnonzero(is_anomaly[:200])[:8], np.flatnonzero(~is_anomaly[:200])[:22]]
    labels[asked] = is_anomaly[asked]
    with_labels = auroc(is_anomaly[200:], Pretrained.fit(x[:200], labels[:200], 0).score(x[200:]))
    assert without < 0.8
    assert with_labels > 0.9


def test_large_pools_are_represented_by_labelled_rows_and_a_sample() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3)).astype(np.float32)
    labels = np.full(len(x), -1, np.int8)
    labels[rng.choice(len(x), 30, replace=False)] = 0
    rows = choose_rows(keys(x, 0), labels, 1000)
    assert len(rows) == len(set(rows.tolist())) == 1000
    assert set(np.flatnonzero(labels >= 0)) <= set(rows.tolist())
    order = rng.permutation(len(x))
    np.testing.assert_array_equal(x[order][choose_rows(keys(x[order], 0), labels[order], 1000)], x[rows])
    assert not np.array_equal(choose_rows(keys(x, 1), labels, 1000), rows)


def test_no_answer_changes_the_sample_and_labelled_rows_beyond_it_come_after_it() -> None:
    rng = np.random.default_rng(0)
    key, labels = keys(rng.normal(size=(500, 3)).astype(np.float32)), np.full(500, -1, np.int8)
    before, n_beyond = choose_context(key, labels, 100)
    assert (len(before), n_beyond) == (100, 0)
    asked = rng.choice(500, 60, replace=False)
    labels[asked] = rng.integers(0, 2, 60)
    rows, n_beyond = choose_context(key, labels, 100)
    np.testing.assert_array_equal(rows[:100], before)
    assert set(rows[100:]) == set(asked) - set(before)
    assert n_beyond == len(rows) - 100 > 30
    order = rng.permutation(500)
    np.testing.assert_array_equal(key[order][choose_context(key[order], labels[order], 100)[0]], key[rows])
    labels[:] = 0
    assert choose_context(key, labels, 100)[1] == 50
    assert choose_context(key, labels, 500)[1] == 0


@pytest.fixture(scope="module")
def with_labels_beyond() -> tuple[np.ndarray, np.ndarray, Pretrained]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 5)).astype(np.float32)
    labels = np.full(300, -1, np.int8)
    labels[:12] = [1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0]
    fitted = Pretrained.fit(x, labels, 0, None, {"context_rows": 100})
    assert fitted.context.n_beyond > 3
    return x, labels, fitted


def test_labelled_rows_beyond_the_sample_keep_the_laws(
    with_labels_beyond: tuple[np.ndarray, np.ndarray, Pretrained],
) -> None:
    x, labels, fitted = with_labels_beyond
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(x)), rng.permutation(x.shape[1])
    again = Pretrained.fit(x[rows][:, columns], labels[rows], 0, None, {"context_rows": 100})
    np.testing.assert_allclose(again.score(x[rows][:, columns]), fitted.score(x)[rows], atol=1e-5)
    np.testing.assert_allclose(fitted.score(x[:7]), fitted.score(x)[:7], atol=1e-4)
    opened = Pretrained.from_arrays({name: array.copy() for name, array in fitted.arrays().items()})
    np.testing.assert_array_equal(opened.score(x), fitted.score(x))
    known = fitted.find_known(x)
    assert len(known) == len(fitted.context.values) == 100 + fitted.context.n_beyond
    assert set(np.flatnonzero(labels >= 0)) <= set(known)


def test_a_label_beyond_the_sample_is_heard() -> None:
    """What stands for the pool is the same; rows around the labelled one are raised or lowered."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    x[:10] = 2 + 0.1 * rng.normal(size=(10, 3))
    found = []
    for label in (1, 0):
        labels = np.full(300, -1, np.int8)
        sample = choose_context(keys(x[:, column_order(x)], 0), labels, 100)[0]
        row = next(row for row in range(10) if row not in sample)
        labels[[row, *sample[sample >= 10][:5]]] = [label, 0, 0, 0, 0, 0]
        fitted = Pretrained.fit(x, labels, 0, None, {"context_rows": 100})
        assert fitted.context.n_beyond == 1
        found.append(fitted.query_score(np.delete(x[:10], row, axis=0)).mean())
    assert found[0] > found[1] + 0.5


def test_a_wide_table_is_seen_along_its_axes_and_in_groups_of_columns() -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(120, 3)) @ rng.normal(size=(3, 2 * MOST_COLUMNS))).astype(np.float32)
    x[:6] += rng.normal(scale=3, size=(6, 2 * MOST_COLUMNS)).astype(np.float32)
    fitted = Pretrained.fit(x, np.full(120, -1, np.int8), 0)
    assert fitted.context.views.shape == (3, 2 * MOST_COLUMNS, MOST_COLUMNS)
    np.testing.assert_array_equal(fitted.context.views[1:].sum(axis=(0, 2)), 1)  # every column is in one group
    assert auroc(np.arange(120) < 6, fitted.score(x)) > 0.95
    assert fitted.chance(x).shape == (120,)
    assert fitted._with_labels.shares().sum() == pytest.approx(1, abs=1e-5)


def labelled_class(n_asked: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of which those with a large first value are anomalies, with labels that say so."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    is_anomaly = x[:, 0] > 1.2
    labels = np.full(300, -1, np.int8)
    asked = np.r_[np.flatnonzero(is_anomaly)[: n_asked // 2], np.flatnonzero(~is_anomaly)[: n_asked // 2]]
    labels[asked] = is_anomaly[asked]
    return x, labels, is_anomaly


def test_chances_are_those_of_the_rows_without_a_label() -> None:
    x, labels, _ = labelled_class(20)
    fitted, free = Pretrained.fit(x, labels, 0), labels < 0
    chances = fitted.chances()
    np.testing.assert_allclose(np.sort(chances.scores), np.sort(fitted.score(x[free])), atol=1e-4)
    np.testing.assert_allclose(np.sort(chances.probabilities), np.sort(fitted.chance(x[free])), atol=1e-5)


@pytest.mark.parametrize(("n_anomalies", "weight"), [(0, 1.0), (2, 1.0), (5, 0.5), (8, 0.0)])
def test_questions_leave_the_labels_as_more_of_them_are_anomalies(n_anomalies: int, weight: float) -> None:
    x, _, is_anomaly = labelled_class(0)
    labels = np.full(300, -1, np.int8)
    labels[np.flatnonzero(is_anomaly)[:n_anomalies]] = 1
    labels[np.flatnonzero(~is_anomaly)[: 10 - n_anomalies]] = 0
    fitted = Pretrained.fit(x, labels, 0)
    ordered = fitted._ordered(x)
    weight = min(1.0, 1.5 - 2 * (n_anomalies + 0.5) / 11) if weight else 0.0
    wanted = weight * fitted._mix(ordered, 1.0) + (1 - weight) * fitted._mix(ordered, 0.0)
    np.testing.assert_allclose(fitted.query_score(x), wanted, atol=1e-6)


def near_duplicates(x: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """Three, each value moved by a fiftieth of its column's deviation."""
    return np.asarray(x[row] + 0.02 * x.std(axis=0) * rng.normal(size=(3, x.shape[1])), np.float32)


def made_up_groups(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three groups of normal rows, a dense one among them, and a few rows of a fourth group."""
    centres, sizes = rng.normal(scale=3, size=(4, 6)), (150, 90, 40, 12)
    spreads = (1.0, 0.7, 0.1, 0.5)
    x = [c + s * rng.normal(size=(n, 6)) for c, s, n in zip(centres, spreads, sizes, strict=True)]
    return np.concatenate(x).astype(np.float32), np.repeat([0, 0, 0, 1], sizes)


def real_tables() -> list[tuple[np.ndarray, np.ndarray]]:
    """Cells, wines, and digits, which have more columns than the network sees at once."""
    tables = []
    for load, rare in ((load_breast_cancer, 0), (load_wine, 2), (load_digits, 8)):
        data, target = load(return_X_y=True)
        rows = np.r_[np.flatnonzero(target != rare)[:250], np.flatnonzero(target == rare)[:20]]
        spread = data.std(axis=0)
        x = ((data - data.mean(axis=0)) / np.where(spread > 0, spread, 1))[rows]
        tables.append((x.astype(np.float32), (target[rows] == rare).astype(int)))
    return tables


@pytest.mark.parametrize("label", [1, 0])
def test_near_duplicates_follow_the_one_label_there_is(label: int) -> None:
    """Of an anomaly they rank in the top 5 %; of the most suspicious normal rows they leave the top tenth."""
    rng, kept = np.random.default_rng(0), []
    tables = [made_up_groups(rng) for _ in range(3)] + real_tables()
    for x, truth in tables:
        suspicious = np.argsort(-Pretrained.fit(x, np.full(len(x), -1, np.int8), 0).score(x))
        for row in rng.permutation(np.flatnonzero(truth == 1))[:3] if label else suspicious[truth[suspicious] == 0][:3]:
            pool = np.concatenate([x, near_duplicates(x, row, rng)])
            labels = np.full(len(pool), -1, np.int8)
            labels[row] = label
            scores = Pretrained.fit(pool, labels, 0).score(pool)
            above = [(np.delete(scores, row) > score).mean() for score in scores[-3:]]
            kept += [share < 0.05 if label else share >= 0.1 for share in above]
    assert np.mean(kept) > 0.97


@pytest.mark.parametrize("n_labels", [0, 8])
def test_rows_that_come_again_with_one_value_changed_are_no_more_suspicious_than_others(n_labels: int) -> None:
    """Pumps that are read every night: a reading that is usual by itself, beside others that are the night's before."""
    rng = np.random.default_rng(0)
    pool, fresh = (rng.normal(size=(400, 6)).astype(np.float32) for _ in range(2))
    labels = np.full(400, -1, np.int8)
    labels[:n_labels] = 0
    fitted = Pretrained.fit(pool, labels, 0)
    highest = np.quantile(fitted.score(pool), 0.95)
    for column in range(6):
        again = pool.copy()
        again[:, column] = rng.normal(size=400)
        assert (fitted.score(again) > highest).mean() < 0.08
    assert 0.02 < (fitted.score(fresh) > highest).mean() < 0.08


def test_what_comes_again_is_still_an_alarm_for_a_wrong_value_and_for_its_label() -> None:
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(400, 6)).astype(np.float32)
    pool[:, 1] = pool[:, 0] + 0.1 * rng.normal(size=400)
    labels = np.full(400, -1, np.int8)
    fitted = Pretrained.fit(pool, labels, 0)
    again = pool[:50].copy()
    again[:, 1] = -np.sign(again[:, 0]) * 1.5  # against the other column, and usual by itself
    assert (fitted.score(again) > np.quantile(fitted.score(pool), 0.95)).mean() > 0.9
    odd = pool[np.argsort(np.abs(pool).max(axis=1))[:8]]  # usual rows, called anomalies
    labels[np.argsort(np.abs(pool).max(axis=1))[:8]] = 1
    fitted = Pretrained.fit(pool, labels, 0)
    odd[:, 5] += 0.5
    assert (fitted.score(odd) > np.quantile(fitted.score(pool), 0.9)).mean() > 0.9


@pytest.mark.parametrize("n_anomalies", [0, 1, 5])
def test_the_score_by_hand(n_anomalies: int) -> None:
    """What the network and the distances say with a labelled anomalies weighs a / (a + 0.5), without them the rest."""
    x, _, is_anomaly = labelled_class(0)
    far_out = np.argsort(-np.where(is_anomaly, 0, (x**2).sum(axis=1)))[:5]
    x[290:] = x[np.repeat(far_out, 2)] + 0.01  # two near-duplicates of each
    labels = np.full(300, -1, np.int8)
    labels[np.flatnonzero(is_anomaly[:290])[:n_anomalies]] = 1
    labels[far_out] = 0
    fitted, none = Pretrained.fit(x, labels, 0), Pretrained.fit(x, np.full(300, -1, np.int8), 0)
    free, ordered = labels < 0, x[:, fitted.columns]

    def deviations(values: np.ndarray) -> np.ndarray:
        return np.asarray((values - values[free].mean()) / values[free].std())

    def network(detector: Pretrained) -> np.ndarray:
        outputs = detector._with_labels.views[0].outputs
        place = {tuple(row): at for at, row in enumerate(detector.context.values.tolist())}
        return np.asarray(outputs.rank_by(detector is fitted)[0][[place[tuple(row)] for row in ordered.tolist()]])

    with_labels = deviations(network(fitted)) + 0.5 * deviations(fitted.with_labels.score(ordered))
    without_network = network(none)
    without = (without_network - without_network.mean()) / without_network.std()
    without = without + 0.25 * deviations(none.without.score(ordered))
    weight = n_anomalies / (n_anomalies + 0.5)
    wanted = weight * with_labels + (1 - weight) * without
    points = (ordered - ordered.mean(axis=0)) / ordered.std(axis=0, ddof=1)
    gaps = np.sqrt(np.square(points.clip(-4, 4)[:, None] - points.clip(-4, 4)[labels >= 0]).mean(axis=2))
    nearest, is_normal = gaps.min(axis=1), (labels[labels >= 0] == 0)[gaps.argmin(axis=1)]
    likeness = np.where(is_normal, np.exp(-((nearest / 0.1) ** 4)), 0)
    lowered = likeness * np.maximum(wanted - np.quantile(wanted[free], 0.8), 0)
    assert n_anomalies == 5 or lowered.max() > 0.1, "with many anomalies the network lowers them by itself"
    np.testing.assert_allclose(fitted.score(x), wanted - lowered, atol=2e-3)


@pytest.fixture
def with_surrogate(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray, Pretrained]:
    monkeypatch.setattr(pretrained, "LARGE_POOL", 200)
    x, labels, is_anomaly = labelled_class(20)
    return x, is_anomaly, Pretrained.fit(x, labels, 0)


def test_a_large_pool_has_a_student_that_asks_where_it_is_suspicious(
    with_surrogate: tuple[np.ndarray, np.ndarray, Pretrained],
) -> None:
    x, is_anomaly, fitted = with_surrogate
    assert fitted.surrogate is not None
    new = np.random.default_rng(9).normal(size=(400, 4)).astype(np.float32)
    scores, exact = fitted.score(new), fitted._score_exactly(fitted._ordered(new))
    rough = fitted.surrogate.score(fitted._ordered(new), fitted.rough_score(new))
    closer = rough > fitted.surrogate.border
    assert 0.01 < closer.mean() < 0.2
    np.testing.assert_allclose(scores[closer], exact[closer], atol=1e-4)
    np.testing.assert_array_equal(scores[~closer], rough[~closer])
    assert np.corrcoef(scores, exact)[0, 1] > 0.9
    assert auroc(is_anomaly, fitted.score(x)) > 0.95


def test_a_student_is_kept_and_rows_do_not_meet(with_surrogate: tuple[np.ndarray, np.ndarray, Pretrained]) -> None:
    x, _, fitted = with_surrogate
    again = Pretrained.from_arrays({name: array.copy() for name, array in fitted.arrays().items()})
    np.testing.assert_array_equal(again.score(x), fitted.score(x))
    np.testing.assert_allclose(fitted.score(x[:7]), fitted.score(x)[:7], atol=1e-4)


def test_the_file_is_small_and_its_card_says_what_it_is() -> None:
    card = json.loads((weights.HERE / "card.json").read_text(encoding="utf-8"))
    assert (weights.HERE / f"weights-{weights.VERSION}.safetensors").stat().st_size < LARGEST_FILE
    assert {"sha256", "trained_on", "trained_for", "bad_at"} <= set(card)


def test_damaged_and_unknown_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights.trained_network.cache_clear()
    for path in (*weights.HERE.glob("weights-*.safetensors"), weights.HERE / "card.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(weights, "HERE", tmp_path)
    file = tmp_path / f"weights-{weights.VERSION}.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x00")
    with pytest.raises(ModelFileError, match="is damaged"):
        weights.trained_network()
    with pytest.raises(ModelFileError, match="fit it again"):
        weights.trained_network(999)


def test_a_model_of_other_weights_is_refused_when_it_is_opened() -> None:
    pool = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    arrays = dict(Pretrained.fit(pool, np.full(40, -1, np.int8), 0).arrays())
    assert isinstance(Pretrained.from_arrays(arrays), Pretrained)
    for other in (0.0, np.inf, np.nan):
        with pytest.raises(ModelFileError, match="of the pretrained network, and this release has"):
            Pretrained.from_arrays(arrays | {"weights": np.array(other, np.float32)})
