"""Experiments and the splits that they are run on."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.ask.by_distance import Diverse
from soel.errors import ConfigError
from soel.oracle import SimulatedExpert
from soel.settings import DEFAULT, Schedule
from soel_paper import methods as m
from soel_paper.artefacts import ARTEFACTS, Artefact
from soel_paper.catalogue import ClassSets, LabelledRows
from soel_paper.cell import Cell, CellSetting, Expert
from soel_paper.experiment import _start, equal_scores, run_cells
from soel_paper.methods import Variant
from soel_paper.protocols import contaminate, frames, make_split, natural, one_vs_rest
from soel_paper.runner import Measures
from soel_paper.sources import DataSource

ABLATIONS = (
    m.UNSUPERVISED,
    m.LOE,
    m.QUERY_ONLY,
    m.TRUE_SHARE,
    m.GRADIENT,
    m.CLASSIFIER,
    m.NEIGHBOUR_LABELS,
    m.PROCESS_LABELS,
)
HERE = tuple(method for method in m.PEERS if (method.peer or "").partition("-")[0] not in ("pyod", "deepod"))


def measured(source: DataSource, cells: list[Cell]) -> list[Measures]:
    return run_cells(cells, source.protocol(cells[0].dataset), source.load(cells[0].dataset))


def cell(variant: Variant, method: m.Method = m.SOEL, seed: int = 40, **setting: object) -> Cell:
    return Cell("breastw", method, variant, CellSetting(**setting), seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*m.NINE, *ABLATIONS, *m.DEEP_SVDD, m.CLEAN, *HERE], ids=lambda method: method.name)
def test_every_method_detects_something(source: DataSource, quick: Variant, method: m.Method) -> None:
    schedule = Schedule(epochs=40, learning_rate=1e-3)  # after two epochs some are at chance still
    variant = replace(quick, profile=replace(quick.profile, tables=schedule, vectors=schedule))
    (found,) = measured(source, [cell(variant, method, budget=20)])
    assert found["auroc"] is not None
    assert found["f1"] is not None
    assert found["auroc"] > 0.65  # by chance 0.5, give or take 0.06
    assert found["f1"] > 0.6  # by chance 0.5


def test_it_is_training_that_detects(source: DataSource, quick: Variant) -> None:
    found = []
    for epochs in (0, 40):
        schedule = Schedule(epochs=epochs, learning_rate=1e-3)
        variant = replace(quick, profile=replace(quick.profile, tables=schedule, vectors=schedule))
        found.append(measured(source, [cell(variant, budget=20)])[0]["auroc"] or 0)
    assert found[1] > found[0] + 0.1


def test_seeds_together_are_seeds_alone(source: DataSource, quick: Variant) -> None:
    cells = [cell(quick, seed=seed) for seed in (40, 41, 42)]
    alone = [measured(source, [one])[0] for one in cells]
    for one, other in zip(measured(source, cells), alone, strict=True):
        assert one["auroc"] == pytest.approx(other["auroc"], abs=1e-3)
        assert one["alpha_cover"] == other["alpha_cover"]


def test_classes_together_are_classes_alone(source: DataSource, quick: Variant) -> None:
    cells = [Cell("cifar10", m.SOEL, quick, CellSetting(budget=5), seed, n) for seed in (40, 41) for n in (0, 2)]
    alone = [measured(source, [one])[0] for one in cells]
    for one, other in zip(measured(source, cells), alone, strict=True):
        assert one["auroc"] == pytest.approx(other["auroc"], abs=1e-3)


OWN = """
import numpy as np

def fit(pool, ask, budget, seed):
    rows = np.random.default_rng(seed).permutation(len(pool))[:budget + {more}]
    centre = pool[rows[ask(rows) == 0]].mean(axis=0)
    return lambda x: np.linalg.norm(x - centre, axis=1)
"""


def test_a_method_of_one_s_own_asks_within_the_budget(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    honest, greedy = tmp_path / "honest.py", tmp_path / "greedy.py"
    honest.write_text(OWN.format(more=0))
    greedy.write_text(OWN.format(more=1))
    (found,) = measured(source, [cell(quick, m.own_method(honest), budget=20)])
    assert found["auroc"] is not None
    assert found["auroc"] > 0.65
    with pytest.raises(ConfigError, match=r"greedy.py asked for 21 labels, and the budget is 20"):
        measured(source, [cell(quick, m.own_method(greedy), budget=20)])
    before = m.own_method(honest)
    honest.write_text(OWN.format(more=0) + "\n")
    assert m.own_method(honest) != before  # a changed file is another method
    honest.write_text("fit = 3")
    with pytest.raises(ConfigError, match="no function fit"):
        measured(source, [cell(quick, m.own_method(honest), budget=20)])


@pytest.mark.parametrize("artefact", ARTEFACTS.values(), ids=lambda artefact: artefact.name)
@pytest.mark.parametrize("variant", [m.VARIANTS["default"], m.narrow(m.VARIANTS["default"])], ids=lambda v: v.name)
def test_every_artefact_runs_the_paper_s_learner(artefact: Artefact, variant: Variant) -> None:
    chosen = variant if artefact.compares_profiles else m.as_paper(variant)
    for method in artefact.methods:
        settled = method.apply_to(chosen.profile)
        is_ours = artefact.compares_profiles and method.objective is None and method.backbone is None
        assert settled.name == ("default" if is_ours else "paper")
        assert method.backbone or (settled.backbone == "ntl-narrow") == ("narrow" in variant.name)


def test_a_clean_pool_gives_its_anomalies_to_the_test() -> None:
    split = contaminate(rows(40, 20), 0).clean()
    assert not split.pool_truth.any()
    assert int(split.test_truth.sum()) == 20
    codes = np.repeat([0, 1], 50)
    published = one_vs_rest(ClassSets(np.zeros((100, 2)), codes, np.zeros((100, 2)), codes), 0, 0)
    assert len(published.clean().test) == len(published.test)


@pytest.mark.parametrize("method", m.NINE, ids=lambda method: method.name)
def test_only_margin_rules_are_told_the_true_share(source: DataSource, quick: Variant, method: m.Method) -> None:
    run = _start(cell(quick, method), "contaminated", source.load("breastw"))
    assert (run.strategy_share is not None) == method.name.startswith(("Mar", "Hybr1"))
    assert run.learner.contamination is None


def test_the_budget_is_what_is_asked(source: DataSource, quick: Variant) -> None:
    for budget in (1, 20):
        with patch.object(SimulatedExpert, "ask", autospec=True, side_effect=SimulatedExpert.ask) as ask:
            (found,) = measured(source, [cell(quick, stage="query", budget=budget)])
        rows = [int(row) for call in ask.call_args_list for row in call.args[1]]
        assert len(set(rows)) == len(rows) == budget
        assert found["radius"] is not None


def test_a_budget_above_half_of_the_pool_is_no_experiment(source: DataSource, quick: Variant) -> None:
    assert measured(source, [cell(quick, budget=40)]) == [{}]


def test_a_lazy_expert_still_gives_the_budget(source: DataSource, quick: Variant) -> None:
    lazy = _start(cell(quick, budget=8, expert=Expert(skip=0.4), stage="query"), "contaminated", source.load("breastw"))
    from soel_paper.experiment import _ask

    _ask(lazy, lazy.learner.prepare(lazy.pool), 8)
    assert int((lazy.labels != -1).sum()) == 8
    assert lazy.expert.n_asked > 8


def test_a_wrong_expert_changes_the_labels(source: DataSource, quick: Variant) -> None:
    honest, liar = (cell(quick, budget=10, expert=Expert(wrong=wrong), stage="query") for wrong in (0.0, 1.0))
    found = [measured(source, [one])[0]["anomalies_found"] for one in (honest, liar)]
    assert sum(value or 0 for value in found) == 10


def test_rounds_use_what_was_learnt(source: DataSource, quick: Variant) -> None:
    with patch.object(Diverse, "select", autospec=True, side_effect=Diverse.select) as select:
        measured(source, [cell(quick, replace(m.SOEL, n_rounds=5), budget=10)])
    views = [call.args[1] for call in select.call_args_list]
    assert [len(view.labelled) for view in views] == [0, 2, 4, 6, 8]
    for before, after in pairwise(views):
        assert not np.allclose(before.scores, after.scores, atol=1e-6), "the round before taught the scores nothing"
        assert not np.allclose(before.embeddings, after.embeddings, atol=1e-6)


def test_scaled_columns_of_other_widths_are_trained_apart(source: DataSource, quick: Variant) -> None:
    scaled = replace(quick.profile, scaling="standard", n_members=DEFAULT.n_members)
    variant = replace(quick, profile=scaled)
    cells = [cell(variant, seed=seed) for seed in (40, 41)]
    for together, one in zip(measured(source, cells), cells, strict=True):
        assert together["auroc"] == pytest.approx(measured(source, [one])[0]["auroc"], abs=1e-3)


def test_assumptions_are_measured(source: DataSource, quick: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soel_paper.experiment.REPEATS", 12)
    (found,) = measured(source, [cell(quick, stage="assumptions", budget=5)])
    low, mean, high = (found[f"correlation_{name}"] for name in ("min", "mean", "max"))
    assert low is not None
    assert mean is not None
    assert high is not None
    assert -1 <= low <= mean <= high <= 1
    assert low != 0  # 0 is what no spread at all gives


def test_equal_scores_are_counted_by_hand() -> None:
    scores = np.array([1.0, 1.0, 1.0, 2.0, 3.0, 3.0])
    is_anomaly = np.array([True, False, False, True, True, True])
    assert equal_scores(scores, is_anomaly) == (4, 2)


def rows(n_normals: int, n_anomalies: int) -> LabelledRows:
    """Every row is its own number, so that it can be found again."""
    n = n_normals + n_anomalies
    return LabelledRows(np.arange(n, dtype=np.float32)[:, None], np.arange(n) >= n_normals)


@given(st.integers(4, 300), st.integers(4, 300), st.floats(0.01, 0.45), st.integers(0, 5))
def test_every_row_is_in_the_pool_or_in_the_test(n_normals: int, n_anomalies: int, share: float, seed: int) -> None:
    split = contaminate(rows(n_normals, n_anomalies), seed, share)
    everything = np.sort(np.concatenate([split.pool, split.test]).ravel())
    assert np.array_equal(everything, np.arange(n_normals + n_anomalies))
    assert split.test_truth.any()


def test_the_counts_are_those_of_the_paper() -> None:
    split = contaminate(rows(444, 239), 40)  # BreastW
    assert (len(split.pool), int(split.pool_truth.sum())) == (247, 24)
    assert split.test_truth.mean() == pytest.approx(0.493, abs=0.001)


def test_the_authors_take_the_first_anomalies() -> None:
    split = contaminate(rows(100, 50), 3, order="first")
    assert split.pool[split.pool_truth].ravel().tolist() == list(range(100, 105))


def test_a_share_beyond_the_anomalies_takes_fewer_normals() -> None:
    split = contaminate(rows(1000, 21), 0, share=0.2)
    assert (int(split.pool_truth.sum()), len(split.pool)) == (20, 100)


def test_natural_is_half_of_each_kind() -> None:
    split = natural(rows(101, 10), 0)
    assert (int((~split.pool_truth).sum()), int(split.pool_truth.sum())) == (51, 5)


def test_frames_have_the_paper_s_counts() -> None:
    split = frames(rows(9955, 4045), 0)
    assert (len(split.pool), int(split.pool_truth.sum())) == (6800 + 2914, 2914)


def test_one_class_is_normal_and_the_test_set_is_untouched() -> None:
    codes = np.repeat([0, 1, 2], 90)
    sets = ClassSets(np.zeros((270, 4)), codes, np.ones((30, 4)), np.repeat([0, 1, 2], 10))
    split = one_vs_rest(sets, 1, seed=0)
    assert (len(split.pool), int(split.pool_truth.sum())) == (100, 10)
    assert (len(split.test), int(split.test_truth.sum())) == (30, 20)


def test_a_given_share_overrides_the_natural_one() -> None:
    assert make_split("natural", rows(100, 80), 0, share=0.3).share == pytest.approx(0.3, abs=0.01)
