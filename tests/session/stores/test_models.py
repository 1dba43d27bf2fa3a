"""Model folders: whole or not at all, and never code."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel import SOEL, ModelFileError
from soel.model_folder import read_model, write_model

TENSORS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3)}


class Trap:
    """Writes a file when unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.target,))


def edit(folder: Path, vouch: bool = True, **changes: object) -> None:
    """Change a manifest. vouch: with a fingerprint that fits, as somebody would who knows how it is made."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text()) | changes
    if vouch:
        text = json.dumps(manifest["content"], sort_keys=True)
        manifest["fingerprint"] = hashlib.sha256((manifest["weights_sha256"] + text).encode()).hexdigest()[:16]
    path.write_text(json.dumps(manifest))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "model", TENSORS, {"x": 1})
    return tmp_path / "model"


def test_round_trip(folder: Path) -> None:
    tensors, content = read_model(folder)
    np.testing.assert_array_equal(tensors["a"], TENSORS["a"])
    assert content == {"x": 1}


def test_the_fingerprint_follows_the_content(tmp_path: Path) -> None:
    prints = {write_model(tmp_path / str(i), TENSORS, {"x": x}) for i, x in enumerate((1, 1, 2))}
    assert len(prints) == 2


def test_a_model_is_replaced_whole(folder: Path) -> None:
    write_model(folder, {"b": np.zeros(1, np.float32)}, {"x": 2})
    assert list(read_model(folder)[0]) == ["b"]
    assert [p.name for p in folder.parent.iterdir()] == ["model"]


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(ModelFileError, match="not a model folder"):
        write_model(tmp_path / "photos", TENSORS, {})
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"cat"


def test_half_written_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"no manifest\.json"):
        read_model(tmp_path / "nothing")
    (folder / "weights.safetensors").unlink()
    with pytest.raises(ModelFileError, match="incomplete"):
        read_model(folder)


def test_truncated_weights_are_noticed(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelFileError, match="checksum"):
        read_model(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "manifest.json"])
def test_a_pickle_in_the_folder_is_never_run(folder: Path, tmp_path: Path, name: str) -> None:
    sprung = tmp_path / "sprung"
    payload = pickle.dumps(Trap(sprung))
    (folder / name).write_bytes(payload)
    if name == "weights.safetensors":  # even with a manifest that vouches for it
        edit(folder, weights_sha256=hashlib.sha256(payload).hexdigest())
    with pytest.raises(ModelFileError):
        SOEL.load(folder)
    assert not sprung.exists()


def test_extra_pickles_beside_the_model_are_ignored(folder: Path, tmp_path: Path) -> None:
    (folder / "model.pkl").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    read_model(folder)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"content": None}, "not a soel manifest"),
        ({"content": {}}, "does not fit"),
    ],
)
def test_lying_manifests(folder: Path, change: dict[str, object], message: str) -> None:
    edit(folder, True, **change)
    with pytest.raises(ModelFileError, match=message):
        SOEL.load(folder)


def test_a_manifest_that_claims_a_huge_network_costs_no_memory(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    SOEL("paper", random_state=0).fit(x).save(tmp_path / "model")
    content = json.loads((tmp_path / "model" / "manifest.json").read_text())["content"]
    edit(tmp_path / "model", content=content | {"n_features": 10**6})
    with pytest.raises(ModelFileError, match="1000000 features"):
        SOEL.load(tmp_path / "model")


@pytest.mark.parametrize("part", ["columns", "schema"])
def test_a_manifest_whose_columns_cannot_be_read_is_named(tmp_path: Path, part: str) -> None:
    table = pd.DataFrame({"a": np.arange(30.0) % 7, "b": ["x", "y", "z"] * 10})
    SOEL("paper", random_state=0).fit(table).save(tmp_path / "model")
    content = json.loads((tmp_path / "model" / "manifest.json").read_text())["content"]
    edit(tmp_path / "model", content=content | {"encoder": content["encoder"] | {part: [{}]}})
    with pytest.raises(ModelFileError, match=r"The manifest of .*model cannot be used\. The description of .*columns"):
        SOEL.load(tmp_path / "model")


@pytest.mark.parametrize("change", [{"content": {"x": 1.0000001}}, {"content": {"x": 1, "y": 2}}, {"fingerprint": "0"}])
def test_a_manifest_that_was_changed_by_hand_is_refused(folder: Path, change: dict[str, object]) -> None:
    """A threshold is a number in there, and nothing else would notice another one."""
    edit(folder, False, **change)
    with pytest.raises(ModelFileError, match=r"manifest\.json is not what it was when the model was saved"):
        read_model(folder)
