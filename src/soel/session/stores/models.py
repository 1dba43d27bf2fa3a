"""Model folders: weights as safetensors, the rest as a JSON manifest. Loading one never runs code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from soel.durable import building, finish_exchange, write_whole
from soel.errors import ModelFileError

FORMAT = 1
WEIGHTS, MANIFEST = "weights.safetensors", "manifest.json"
LIBRARIES = ("soel", "torch", "numpy", "scikit-learn")


def write_model(folder: Path, tensors: Mapping[str, np.ndarray], content: Mapping[str, Any]) -> str:
    """Write a model folder, whole or not at all, and return its fingerprint.

    An existing model folder is replaced; any other existing folder is left alone with an error.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / MANIFEST).exists() and any(folder.iterdir()):
        raise ModelFileError(f"{folder} exists and is not a model folder; choose another place.")
    weights = save({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    manifest = _manifest(weights, content)
    with building(folder, private=True) as draft:  # a model holds rows of the data
        write_whole(draft / WEIGHTS, weights)
        write_whole(draft / MANIFEST, json.dumps(manifest, indent=1).encode())
    return str(manifest["fingerprint"])


def read_model(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors and content of a model folder, after checking that it is whole."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise ModelFileError(f"{folder} has no {WEIGHTS}: it is incomplete. Save the model again.")
    if _digest(weights) != manifest["weights_sha256"]:
        raise ModelFileError(f"{weights} is damaged or was changed: its checksum is not the manifest's.")
    try:
        tensors = load_file(weights)
    except SafetensorError as error:
        raise ModelFileError(f"{weights} is not a safetensors file ({error}); nothing was loaded.") from error
    return tensors, dict(manifest["content"])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a model folder, checked for form and version."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        finish_exchange(Path(folder))
    if not path.is_file():
        raise ModelFileError(f"{folder} is not a soel model: it has no {MANIFEST}. Pass a folder written by save().")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelFileError(
            f"{path} is not readable as JSON ({error}); the model is incomplete or foreign."
        ) from error
    wanted = {"format", "fingerprint", "weights_sha256", "content"}
    if not isinstance(manifest, dict) or not wanted <= set(manifest) or not isinstance(manifest["content"], dict):
        raise ModelFileError(f"{path} is not a soel manifest: it lacks some of {', '.join(sorted(wanted))}.")
    if manifest["format"] != FORMAT:
        raise ModelFileError(
            f"{path} has format {manifest['format']!r}, this version reads {FORMAT}. Load it with a newer soel."
        )
    text = json.dumps(manifest["content"], sort_keys=True)
    if manifest["fingerprint"] != _fingerprint(str(manifest["weights_sha256"]), text):
        raise ModelFileError(
            f"{path} is not what it was when the model was saved: it is damaged, or was changed by hand. "
            "Restore it from a copy, or fit again."
        )
    return manifest


def _manifest(weights: bytes, content: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(weights).hexdigest()
    text = json.dumps(content, sort_keys=True)
    return {
        "format": FORMAT,
        "fingerprint": _fingerprint(digest, text),
        "weights_sha256": digest,
        "libraries": {name: version(name) for name in LIBRARIES},
        "content": json.loads(text),
    }


def _fingerprint(weights: str, content: str) -> str:
    """Of the weights, by their digest, and of everything else: the threshold, the encoder, the settings."""
    return hashlib.sha256((weights + content).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
