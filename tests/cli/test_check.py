"""`soel check`: every file and event is compared, damage is explained, what follows from the table is made again."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.session.fake_learner import use_fake_learner


@pytest.fixture
def fitted(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session with a round, labels and a fit."""
    use_fake_learner(monkeypatch)
    items = run("ask", folder, "-n", 4, "--json").document["items"]
    run("tell", folder, *(f"{item}=normal" for item in items))
    assert run("fit", folder).code == 0
    return folder


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def found(run: Run, folder: Path, *words: str) -> dict[str, Any]:
    said = run("check", folder, "--json", *words)
    assert said.code == (0 if said.document["whole"] else 3)
    return {finding["name"]: finding for finding in said.document["findings"] if not finding["is_whole"]}


def test_a_whole_session_is_whole(run: Run, fitted: Path) -> None:
    assert found(run, fitted) == {}
    assert "are whole." in run("check", fitted).out
    assert (found(run, fitted, "--repair"), run("check", fitted, "--repair").code) == ({}, 0)


@pytest.mark.parametrize(
    ("name", "means", "can_rebuild"),
    [
        ("features.npy", "other rows than the table's", True),
        ("ids.json", "go to other items", True),
        ("encoder.json", "New rows cannot be scored", False),
        ("source.csv", "Items cannot be shown", False),
    ],
)
@pytest.mark.parametrize("harm", [damage, Path.unlink])
def test_each_file_that_is_damaged_or_lost_is_named_with_what_it_means(
    run: Run, fitted: Path, name: str, means: str, can_rebuild: bool, harm: Callable[[Path], object]
) -> None:
    whole = hashlib.sha256((fitted / name).read_bytes()).hexdigest()
    harm(fitted / name)
    damaged = found(run, fitted)
    assert list(damaged) == [name]
    assert means in damaged[name]["means"]
    assert damaged[name]["can_rebuild"] is can_rebuild
    assert ("--repair" in damaged[name]["remedy"]) is can_rebuild
    assert name in run("check", fitted).out
    after = found(run, fitted, "--repair")
    assert list(after) == ([] if can_rebuild else [name])
    if can_rebuild:
        assert hashlib.sha256((fitted / name).read_bytes()).hexdigest() == whole
        assert run("status", fitted).code == 0


def test_a_damaged_config_is_named(run: Run, fitted: Path) -> None:
    damage(fitted / "config.json")
    damaged = found(run, fitted)
    assert list(damaged) == ["config.json"]
    assert "Nothing else can be compared" in damaged["config.json"]["means"]
    assert damaged["config.json"]["can_rebuild"] is False


def test_what_cannot_be_made_as_it_was_is_left_as_it_is(run: Run, fitted: Path) -> None:
    damage(fitted / "features.npy")
    kept = (fitted / "features.npy").read_bytes()
    damage(fitted / "source.csv")
    assert list(found(run, fitted, "--repair")) == ["features.npy", "source.csv"]
    assert (fitted / "features.npy").read_bytes() == kept


def test_records_and_models_are_compared_too(run: Run, fitted: Path) -> None:
    record = next((fitted / "rounds").iterdir())
    damage(record)
    damage(fitted / "models" / "warm-up" / "weights.safetensors")
    path = fitted / "models" / "fit-0001" / "manifest.json"
    path.write_text(path.read_text().replace('"seed": ', '"seed": 1'))
    damaged = found(run, fitted)
    assert set(damaged) == {f"rounds/{record.name}", "models/warm-up", "models/fit-0001"}
    assert "Labels of round 1" in damaged[f"rounds/{record.name}"]["means"]
    assert "makes it again by itself" in damaged["models/warm-up"]["remedy"]
    assert f"soel fit {fitted}" in run("check", fitted).out


def test_another_model_in_the_place_of_one_is_noticed(run: Run, fitted: Path) -> None:
    shutil.rmtree(fitted / "models" / "fit-0001")
    shutil.copytree(fitted / "models" / "warm-up", fitted / "models" / "fit-0001")
    assert "another model" in found(run, fitted)["models/fit-0001"]["means"]


def test_damaged_events_are_said_to_hold_every_answer(run: Run, fitted: Path) -> None:
    with sqlite3.connect(fitted / "events.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("UPDATE events SET body = '{' WHERE number = 2")
    connection.close()
    assert "Every answer is in there" in found(run, fitted)["events"]["means"]
    (fitted / "events.sqlite").write_bytes(b"no database" * 1000)
    assert "is damaged" in found(run, fitted)["events"]["means"]


def test_a_folder_that_is_no_session_is_an_error(run: Run, tmp_path: Path) -> None:
    said = run("check", tmp_path)
    assert said.code == 2
    assert "not a session folder" in said.err
