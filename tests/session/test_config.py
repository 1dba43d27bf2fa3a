from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import ConfigError, DamagedError, SessionError
from soel.session import SessionFolder, SessionOptions, lay_out
from soel.session.config import _seal, read_config, write_config
from tests.session.conftest import IDS, make_config, make_points


def edit(path: Path, seal: bool = False, **changes: Any) -> None:
    content = json.loads(path.read_text()) | changes
    content.pop("seal")
    old = json.loads(path.read_text())["seal"]
    path.write_text(json.dumps({**content, "seal": _seal(content) if seal else old}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_config(tmp_path / "config.json", make_config())
    return tmp_path / "config.json"


def test_what_is_written_is_read_back(path: Path) -> None:
    assert read_config(path) == make_config()


def test_it_is_written_once(path: Path) -> None:
    with pytest.raises(SessionError, match="exists already"):
        write_config(path, make_config(seed=8))
    assert read_config(path).seed == 7


def test_an_edited_config_is_refused(path: Path) -> None:
    edit(path, seed=8)
    with pytest.raises(SessionError, match="was changed after it was written"):
        read_config(path)


def test_another_format_is_refused(path: Path) -> None:
    edit(path, seal=True, format=2)
    with pytest.raises(SessionError, match="has format 2"):
        read_config(path)


@pytest.mark.parametrize("changes", [{"surprise": 1}, {"session": 3}, {"budget": "20"}, {"settings": []}])
def test_settings_of_another_kind_are_refused(path: Path, changes: dict[str, Any]) -> None:
    edit(path, seal=True, **changes)
    with pytest.raises(SessionError, match="makes no sense"):
        read_config(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"contamination": [1]},
        {"contamination": 0.9},
        {"budget": -1},
        {"threshold": "often"},
        {"settings": {"kind": "table"}},
        {"settings": {**make_config().settings, "objectWve": "soel"}},
        {"settings": {**make_config().settings, "kind": "song"}},
    ],
)
def test_settings_that_make_no_sense_are_the_file_s_fault(path: Path, changes: dict[str, Any]) -> None:
    edit(path, seal=True, **changes)
    with pytest.raises(DamagedError, match=r"config\.json holds a setting that makes no sense \(.+\); restore it"):
        read_config(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00", "[" * 100_000])
def test_a_broken_file_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(SessionError, match="restore it"):
        read_config(path)


def test_a_folder_without_a_config_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="not a session folder"):
        read_config(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "at least one label"),
        ({"budget": 61}, "61 labels but the data has 60"),
        ({"seed": -1}, "must not be negative"),
        ({"contamination": 0.7}, "between 0 and 0.5"),
        ({"answers_per_item": 0}, "at least one annotator"),
        ({"lease_minutes": 0.0}, "more than 0 minutes"),
    ],
)
def test_choices_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(**changes)


def test_the_pool_is_mapped_not_loaded(tmp_path: Path) -> None:
    lay_out(tmp_path, make_config(), IDS, make_points())
    pool = SessionFolder(tmp_path).pool
    assert isinstance(pool, np.memmap)
    assert np.array_equal(pool, make_points())
    pool[0, 0] = 99
    assert np.array_equal(SessionFolder(tmp_path).pool, make_points()), "the file stays as it is"
    assert SessionFolder(tmp_path).ids == IDS


def test_repeated_ids_and_other_lengths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="ids repeat"):
        lay_out(tmp_path, make_config(), [IDS[0], *IDS[:-1]], make_points())
    with pytest.raises(SessionError, match="59 ids and 60 rows"):
        lay_out(tmp_path, make_config(), IDS[:-1], make_points())
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_of_a_session_without_digests_say_so(tmp_path: Path) -> None:
    lay_out(tmp_path, make_config(), IDS, make_points())
    edit(tmp_path / "config.json", seal=True, digests={})
    (tmp_path / "ids.json").write_text("[1]")
    with pytest.raises(SessionError, match="list of items"):
        _ = SessionFolder(tmp_path).ids
    (tmp_path / "ids.json").write_text("[")
    with pytest.raises(SessionError, match="cannot be read"):
        _ = SessionFolder(tmp_path).ids
    np.save(tmp_path / "features.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(SessionError, match="cannot be read"):
        _ = SessionFolder(tmp_path).pool
    np.save(tmp_path / "features.npy", np.zeros((3, 3)))
    with pytest.raises(SessionError, match="not 60 rows"):
        _ = SessionFolder(tmp_path).pool


def test_a_goal_is_learn_or_find() -> None:
    assert SessionOptions().goal == "learn"
    with pytest.raises(ConfigError, match="no goal called 'win'"):
        SessionOptions(goal="win")
