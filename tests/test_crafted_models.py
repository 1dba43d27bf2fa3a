"""Manifests of models that somebody changed by hand and gave fitting fingerprints: a model error, or a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from soel import SOEL
from soel.errors import SoelError
from soel.model_folder import MANIFEST, _fingerprint as fingerprint, load_model, read_manifest

STRANGE: tuple[Any, ...] = (None, -1, "x", {"x": None})


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
                made = load_model(saved)
                scores = made.fitted.score(np.zeros((2, made.encoder.n_features), np.float32))
                made.fitted.probabilities(scores)
                SOEL.load(saved)
        except Exception as error:
            crashes.append(f"{type(error).__name__}: {error}"[:200])
    (saved / MANIFEST).write_text(json.dumps(manifest))
    assert n_tried > 400
    assert "\n".join(sorted(set(crashes))) == ""
