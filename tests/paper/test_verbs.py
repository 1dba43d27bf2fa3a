from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel_paper.__main__ import main
from tests.cli.conftest import Run, Said, write_table
from tests.conftest import make_toy
from tests.images.makers import residual_network


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> Said:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "table.csv")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    toy = make_toy(n_rows=120, n_anomalies=40)
    (tmp_path / "data" / "tables").mkdir(parents=True)
    np.savez(tmp_path / "data" / "tables" / "pima.npz", X=toy.x, y=toy.is_anomaly.astype(np.uint8))
    return tmp_path / "data"


def test_artefacts_are_listed_with_what_they_need(run: Run) -> None:
    said = run("reproduce", "--list", "--json")
    entries = {entry["name"]: entry for entry in said.document["artefacts"]}
    assert entries["table3"]["label"] == "tab:tab_results"
    assert entries["table3"]["minutes"] > 0
    assert "table3" in run("reproduce", "--list").out


def test_data_sets_are_listed_with_what_is_present(run: Run, data_dir: Path) -> None:
    entries = {entry["name"]: entry for entry in run("datasets", "--data-dir", data_dir, "--json").document["datasets"]}
    assert entries["pima"]["present"].endswith("pima.npz")
    assert entries["satellite"]["present"] is None
    assert len(entries["cifar10"]["checksum"]) == 32
    assert "pima" in run("datasets", "--data-dir", data_dir).out


def test_an_artefact_is_computed_and_written(run: Run, data_dir: Path, tmp_path: Path) -> None:
    words = ("--data-dir", data_dir, "--out", tmp_path / "out", "--datasets", "pima", "--seeds", 1, "--jobs", 1)
    said = run("reproduce", "knn", "--methods", "kNN k=1,kNN k=5", *words)
    assert said.code == 0, said.err
    assert "| Pima |" in said.out
    again = run("reproduce", "tab:tab_knn", "--methods", "kNN k=1", *words, "--json", "--merge", tmp_path / "out")
    assert [point["paper"] for point in again.document["points"]] == [None, [34.4, 3.6]]
    assert Path(again.document["files"]["markdown"]).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table9",), "--list"),
        (("table3", "--methods", "Best"), "no method called 'Best'"),
        (("table3", "--budgets", "5;6"), "whole numbers"),
        (("table3", "--seeds", "0"), "At least one seed"),
        (("table2",), "needs cifar10"),
        (("table3", "--per-class", "1"), "At least two pictures"),
    ],
)
def test_mistakes_are_answered(run: Run, data_dir: Path, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    said = run("reproduce", *words, "--data-dir", data_dir, "--out", tmp_path / "out")
    assert said.code == 2
    assert message in said.err


def test_pictures_become_a_result_with_two_commands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    rng, codes = np.random.default_rng(0), np.arange(60) % 2
    images = (rng.integers(0, 60, (60, 8, 8)) + 150 * codes[:, None, None]).astype(np.uint8)
    arrays = {f"{part}_images": images for part in ("train", "val", "test")}
    labels = {f"{part}_labels": codes[:, None].astype(np.uint8) for part in ("train", "val", "test")}
    np.savez(tmp_path / "pneumoniamnist.npz", **arrays, **labels)  # type: ignore[arg-type]
    network = residual_network(tmp_path / "net.onnx")
    where = ("--data-dir", tmp_path, "--extractor", network)
    said = run("datasets", "--extract", "pneumoniamnist", *where)
    assert said.code == 0, said.err
    assert "Features of pneumoniamnist by net.onnx" in said.out
    assert len(list((tmp_path / "cache" / "features").iterdir())) == 1  # training and test pictures are the same here
    words = ("--datasets", "pneumoniamnist", "--methods", "Mar", "--budgets", 4, "--classes", 0, "--seeds", 1)
    said = run("reproduce", "table2", *words, *where, "--jobs", 1, "--out", tmp_path / "out", "--json")
    assert said.code == 0, said.err
    (point,) = said.document["points"]
    assert (point["at"]["dataset"], point["n"]) == ("Pneumonia", 1)
    assert said.document["made"]["n_old"] == 0


@pytest.mark.parametrize(("name", "option"), [("toy", "--seeds=2"), ("settings", "--narrow")])
def test_options_of_cells_are_refused_where_there_are_none(run: Run, name: str, option: str) -> None:
    said = run("reproduce", name, option)
    assert (said.code, f"{option.partition('=')[0]} does nothing for {name}" in said.err) == (2, True)


def test_a_comparison_needs_the_label_column(run: Run, table: Path, tmp_path: Path) -> None:
    assert "--label-column" in run("compare", table).err
    said = run("compare", table, "--label-column", "no-such", "--out", tmp_path / "out", "--jobs", 1)
    assert (said.code, "no-such" in said.err) == (2, True)
