"""Manifests of models that somebody changed by hand and gave fitting fingerprints: a model error, or a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save

from soel import SOEL
from soel.errors import ModelFileError, SoelError
from soel.model_folder import MANIFEST, WEIGHTS, _fingerprint as fingerprint, read_manifest

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::soel.errors.DataWarning")
STRANGE: tuple[Any, ...] = (None, -1, "x", {"x": None})
ROWS = pd.DataFrame({"a": [0.5, 9.0], "b": ["x", "new"]})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": [*"xyzw"] * 10})
    y = np.full(40, -1)
    y[:2], y[2:4] = 0, 1
    folder = tmp_path_factory.mktemp("saved") / "model"
    SOEL(random_state=0).fit(table, y).save(folder)
    return folder


def changed(value: Any, depth: int = 6) -> Iterator[Any]:
    """The value with one of its parts exchanged, or left out."""
    yield from STRANGE
    parts = value.items() if isinstance(value, Mapping) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in parts if depth else ():
        for other in changed(part, depth - 1):
            copy = dict(value) if isinstance(value, Mapping) else list(value)
            copy[key] = other
            yield copy
        if isinstance(value, Mapping):
            yield {name: kept for name, kept in value.items() if name != key}


def test_no_crafted_manifest_is_a_crash(saved: Path) -> None:
    manifest = read_manifest(saved)
    crashes, n_tried = list[str](), 0
    for content in changed(manifest["content"]):
        if not isinstance(content, dict):
            continue
        text = json.dumps(content, sort_keys=True)
        crafted = manifest | {"content": content, "fingerprint": fingerprint(manifest["weights_sha256"], text)}
        (saved / MANIFEST).write_text(json.dumps(crafted))
        n_tried += 1
        try:
            with suppress(SoelError):
                SOEL.load(saved).anomaly_probability(ROWS)
        except Exception as error:
            crashes.append(f"{type(error).__name__}: {error}"[:200])
    (saved / MANIFEST).write_text(json.dumps(manifest))
    assert n_tried > 400
    assert "\n".join(sorted(set(crashes))) == ""


def misfits(array: np.ndarray) -> Iterator[np.ndarray]:
    """The array in other shapes, and with values that mean nothing."""
    yield array.reshape(-1)[:0]
    yield array.reshape(-1) if array.ndim > 1 else array[..., None]
    yield np.zeros((), array.dtype)
    if array.ndim and len(array) > 1:
        yield array[:-1]
        yield np.concatenate([array, array[:1]])
    if array.ndim > 1:
        yield array[:, :-1]
    for value in (-1, 1e30, np.nan) if array.dtype.kind == "f" else (-1,):
        yield np.full(array.shape, value, array.dtype)


def test_no_crafted_tensor_is_a_crash(saved: Path) -> None:
    manifest, tensors = read_manifest(saved), load_file(saved / WEIGHTS)
    text, crashes, n_tried = json.dumps(manifest["content"], sort_keys=True), list[str](), 0
    for name, array in tensors.items():
        for other in (None, *misfits(array)):
            changed = {each: kept for each, kept in tensors.items() if each != name}
            weights = save(changed if other is None else changed | {name: np.ascontiguousarray(other)})
            digest = hashlib.sha256(weights).hexdigest()
            (saved / WEIGHTS).write_bytes(weights)
            crafted = manifest | {"weights_sha256": digest, "fingerprint": fingerprint(digest, text)}
            (saved / MANIFEST).write_text(json.dumps(crafted))
            n_tried += 1
            try:
                with suppress(SoelError):
                    detector = SOEL.load(saved)
                    detector.p_values(ROWS), detector.not_sure(ROWS), detector.anomaly_probability(ROWS)
            except Exception as error:
                crashes.append(f"{name}: {type(error).__name__}: {error}"[:200])
    (saved / WEIGHTS).write_bytes(save(tensors))
    (saved / MANIFEST).write_text(json.dumps(manifest))
    assert n_tried > 150
    assert "\n".join(sorted(set(crashes))) == ""


def test_a_manifest_that_is_nested_too_deeply_is_refused(saved: Path) -> None:
    kept = (saved / MANIFEST).read_text()
    (saved / MANIFEST).write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ModelFileError, match="nested too deeply"):
        SOEL.load(saved)
    (saved / MANIFEST).write_text(kept)
