"""Data sets that are pictures: features by a frozen network, pixels for MHRot, augmentations for FixMatch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import DataError
from soel.settings import AUTHORS, PAPER, Schedule
from soel_paper.artefacts import ARTEFACTS
from soel_paper.catalogue import ClassSets, LabelledRows
from soel_paper.cell import Cell, CellSetting
from soel_paper.methods import FIXMATCH, MHROT, NINE, SOEL, VARIANTS, Variant, with_paper_settings
from soel_paper.peers import GREY, N_DRAWS, learn_fixmatch, strong, weak
from soel_paper.reproduce import Plan, reproduce
from soel_paper.runner import CellStore, compute
from soel_paper.sources import DataSource, network, thin
from tests.conftest import make_learner, make_toy
from tests.images.makers import make_clip, residual_network


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pneumonia's file with 8 x 8 pictures: bright ones of class 0, dark ones of class 1; and three clips."""
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    arrays = {}
    for part, n in (("train", 40), ("val", 4), ("test", 10)):
        codes = np.arange(n) % 2
        arrays[f"{part}_images"] = rng.integers(0, 60, (n, 8, 8)).astype(np.uint8) + (150 * (1 - codes))[:, None, None]
        arrays[f"{part}_labels"] = codes[:, None]
    np.savez(tmp_path / "pneumoniamnist.npz", **{k: v.astype(np.uint8) for k, v in arrays.items()})  # type: ignore[arg-type]
    for number in range(3):
        make_clip(tmp_path / "video" / "ucsd_peds1" / f"Test00{number}.mp4", 20 + number)
    labels = {f"Test00{number}": "0" * 14 + "1" * (6 + number) for number in range(3)}
    (tmp_path / "video" / "ucsd_peds1" / "labels.json").write_text(json.dumps(labels))
    residual_network(tmp_path / "net.onnx")
    return tmp_path


@pytest.fixture
def pictures(folder: Path) -> DataSource:
    network.cache_clear()
    return DataSource(folder, extractor=str(folder / "net.onnx"))


@pytest.fixture
def quick_pixels() -> Variant:
    pictures = Schedule(1, 1e-3, batch_size=10)
    options = {"depth": 10, "widen": 1}
    profile = replace(AUTHORS, pictures=pictures, backbone="mhrot", backbone_options=options)
    return replace(VARIANTS["authors"], profile=profile)


def test_pictures_become_features_once(pictures: DataSource, folder: Path) -> None:
    seen: list[int] = []
    pictures.prepare("pneumoniamnist", lambda done, total: seen.append(done))
    sets = pictures.load("pneumoniamnist")
    assert isinstance(sets, ClassSets)
    assert sets.x_train.ndim == 2
    assert (len(sets.x_train), len(sets.x_test), sets.classes) == (40, 10, (0, 1))
    assert sets.pictures is not None
    assert sets.pictures.shape == (40, 8, 8)
    n_seen = len(seen)
    pictures.prepare("pneumoniamnist", lambda done, total: seen.append(done))
    assert (n_seen > 0, len(seen)) == (True, n_seen)


def test_frames_become_rows_with_the_truth_of_their_clip(pictures: DataSource) -> None:
    rows = pictures.load("ucsd-peds1")
    assert isinstance(rows, LabelledRows)
    assert (len(rows.x), int(rows.is_anomaly.sum())) == (63, 21)
    assert rows.is_anomaly[14:20].all()
    assert not rows.is_anomaly[20:34].any()


def test_clips_without_all_labels_are_no_copy(pictures: DataSource, folder: Path) -> None:
    (folder / "video" / "ucsd_peds1" / "labels.json").write_text(json.dumps({"Test000": "0" * 20}))
    with pytest.raises(DataError, match="43 frames have no label"):
        pictures.load("ucsd-peds1")


def test_published_frames_become_rows(tmp_path: Path, pictures: DataSource) -> None:
    folder = tmp_path / "new" / "UCSD_Anomaly_Dataset.v1p2" / "UCSDped1"
    for clip in ("Train/Train001", "Test/Test001"):
        (folder / clip).mkdir(parents=True)
        for number in range(1, 5):
            grey = np.full((16, 16), 40 * number + len(clip), np.uint8)
            Image.fromarray(grey).save(folder / clip / f"{number:03d}.tif")
    (folder / "Test" / "UCSDped1.m").write_text("TestVideoFile{end+1}.gt_frame = [3:4];")
    rows = replace(pictures, data_dir=tmp_path / "new").load("ucsd-peds1")
    assert isinstance(rows, LabelledRows)
    assert np.flatnonzero(rows.is_anomaly).tolist() == [2, 3]  # Test comes before Train


def test_a_cell_knows_the_network_and_how_many_pictures(pictures: DataSource, folder: Path) -> None:
    fewer, artefact = replace(pictures, per_class=5), ARTEFACTS["table2"]
    forms = [source.form("pneumoniamnist", pixels) for source in (pictures, fewer) for pixels in (False, True)]
    assert len(set(forms)) == 4
    assert forms[3] == "pixels, 5 a class"
    assert (pictures.form("pima"), pictures.title("pneumoniamnist")) == ("", "Pneumonia")
    assert fewer.title("pneumoniamnist") == "Pneumonia (5 a class)"
    (cell, *_) = replace(artefact, datasets=("pneumoniamnist",)).cells(VARIANTS["authors"], [40], pictures, (0,))
    assert cell.form == forms[0]


def test_so_many_of_each_class() -> None:
    codes = np.repeat([0, 1, 2], [50, 3, 20])
    sets = ClassSets(np.arange(73), codes, np.arange(73), codes)
    few = thin(sets, 10)
    assert np.bincount(few.y_train).tolist() == np.bincount(few.y_test).tolist() == [10, 3, 10]
    assert (codes[few.x_train] == few.y_train).all()
    assert (thin(sets, 10).x_train == few.x_train).all()


@pytest.mark.parametrize("name", ["robust-ratio", "sequential", "deep-svdd"])
def test_artefacts_of_images_run_on_pictures(name: str, pictures: DataSource, quick: Variant, tmp_path: Path) -> None:
    longer = Schedule(epochs=30, learning_rate=5e-3)  # after two epochs some see bright and dark the wrong way round
    quick = replace(quick, profile=replace(quick.profile, vectors=longer))
    plan = Plan(quick, (), ("pneumoniamnist",), (4,), (0,), 1)
    outcome = reproduce(ARTEFACTS[name], plan, tmp_path / "out", pictures, 1)
    wanted = len(ARTEFACTS[name].methods) * len(ARTEFACTS[name].shares)
    assert len(outcome.results.points) == wanted
    assert min(point.mean for point in outcome.results.points) > 95  # bright pictures and dark ones


def test_the_video_artefact_runs_on_clips(pictures: DataSource, quick: Variant, tmp_path: Path) -> None:
    plan = Plan(quick, ("SOEL", "Rand1"), (), (4, 8), (), 1)
    outcome = reproduce(ARTEFACTS["video"], plan, tmp_path / "out", pictures, 1)
    assert len(outcome.results.points) == 4
    assert Path(outcome.files["picture"]).exists()
    alone = reproduce(ARTEFACTS["video"], replace(plan, budgets=(4,)), tmp_path / "out", pictures, 1)
    assert "| UCSD Peds1 |" in alone.text


def test_mhrot_learns_on_pixels(pictures: DataSource, quick_pixels: Variant, tmp_path: Path) -> None:
    artefact = replace(ARTEFACTS["mhrot"], datasets=("pneumoniamnist",), budgets=(4,), methods=MHROT[:1])
    (cell,) = artefact.cells(quick_pixels, [40], pictures, (0,))
    assert cell.form == "pixels"
    assert compute([cell], pictures, tmp_path / "cells") == 1
    found = CellStore(tmp_path / "cells").read(cell)
    assert 0 <= (found["auroc"] or -1) <= 1


def test_what_needs_pictures_is_left_out_where_there_are_none(
    source: DataSource, quick: Variant, tmp_path: Path
) -> None:
    outcome = reproduce(ARTEFACTS["mhrot"], Plan(quick, datasets=("breastw",)), tmp_path, source, 1)
    assert len(outcome.results.points) == 0
    assert "SOEL on MHRot on breastw, because it needs pictures" in outcome.text
    plan = Plan(quick, ("queries alone", "FixMatch"), ("breastw",), (5,), n_seeds=1, measures=("f1",))
    outcome = reproduce(ARTEFACTS["label-spreading"], plan, tmp_path, source, 1)
    assert [point.at.method for point in outcome.results.points] == ["queries alone"]
    assert "FixMatch on breastw, because it needs pictures" in outcome.text


def test_fixmatch_learns_on_augmented_pictures(pictures: DataSource, quick: Variant, tmp_path: Path) -> None:
    plan = Plan(quick, tuple(method.name for method in FIXMATCH), ("pneumoniamnist",), (6,), (0,), 1)
    outcome = reproduce(ARTEFACTS["label-spreading"], plan, tmp_path / "out", pictures, 1)
    assert [point.at.method for point in outcome.results.points] == [method.name for method in FIXMATCH]
    n_sets = len(list((tmp_path / "cache" / "features").iterdir()))
    assert n_sets == 2 + 2 * N_DRAWS  # training and test pictures, and those that were augmented


def test_fixmatch_guesses_on_weak_and_learns_on_strong_rows(quick: Variant) -> None:
    toy = make_toy(n_rows=120, n_anomalies=12)
    (learner, pool), labels = make_learner(quick.profile, toy.x), toy.labels(10)
    warm = learner.prepare(pool)
    slight = toy.x + 0.01
    draws = {"same": (slight, slight), "weak": (-slight, slight), "strong": (slight, -slight)}
    scores = {
        name: learn_fixmatch(learner, warm, pool, [], labels, [draw]).score(toy.x) for name, draw in draws.items()
    }
    assert np.abs(scores["weak"] - scores["same"]).max() > 1e-3
    assert np.abs(scores["strong"] - scores["same"]).max() > 1e-3
    assert (warm.score(toy.x) == learner.prepare(pool).score(toy.x)).all()  # a fit works on a copy


@pytest.mark.parametrize("shape", [(6, 16, 16), (6, 16, 16, 3)])
def test_augmented_pictures_keep_their_form(shape: tuple[int, ...]) -> None:
    pictures = np.random.default_rng(0).integers(0, 100, shape).astype(np.uint8)
    for change in (weak, strong):
        first, second, again = (change(pictures, np.random.default_rng(seed)) for seed in (1, 2, 1))
        assert first.shape == shape
        assert first.dtype == np.uint8
        assert (first == again).all()
        assert (first != second).any()
    assert np.isin(np.unique(weak(pictures, np.random.default_rng(1))), np.unique(pictures)).all()
    holes = (strong(pictures, np.random.default_rng(1)) == GREY).reshape(6, -1).mean(axis=1)
    assert (holes > 0.05).all()


def test_the_paper_s_settings_change_with_the_data() -> None:
    usual, long = (method.apply_to(PAPER) for method in (SOEL, NINE[6]))
    assert (
        with_paper_settings(usual, "ucsd-peds1").vectors.batch_size,
        with_paper_settings(usual, "ucsd-peds1").vectors.epochs,
    ) == (192, 3)
    assert with_paper_settings(long, "ucsd-peds1").vectors.epochs == 30
    assert with_paper_settings(usual, "cifar10") == usual
    ours = Cell("ucsd-peds1", SOEL, VARIANTS["default"], CellSetting(), 40)
    assert ours.settled == VARIANTS["default"].profile != replace(ours, variant=VARIANTS["paper"]).settled
    soel, hybrid = (method.apply_to(AUTHORS) for method in MHROT[:2])
    chosen = with_paper_settings(soel, "cifar10")
    assert (chosen.strategy, chosen.strategy_options) == ("k-means++", {"first": "largest"})
    assert with_paper_settings(soel, "cifar10").pictures.learning_rate == 1e-3
    clothes = with_paper_settings(soel, "fashion-mnist")
    assert (clothes.pictures.learning_rate, clothes.pictures.epochs) == (1e-4, 3)
    assert clothes.backbone_options == {"penalty": 0.0}
    assert with_paper_settings(hybrid, "fashion-mnist").pictures.epochs == 15
