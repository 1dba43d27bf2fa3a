"""Saving and loading whole detectors: engine settings, encoder and weights in one folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from soel.assess.threshold import NEVER, parse_threshold
from soel.errors import DataError, MissingPackageError, ModelFileError
from soel.files import building, finish_exchange, parse_json, write_whole
from soel.learner import Learner
from soel.model import Blend, Fitted, restore, state_of
from soel.settings import Profile
from soel.tables.encoder import Encoder
from soel.tables.frame import frame_by
from soel.tables.raw_table import RawTable, from_objects
from soel.text import percent

if TYPE_CHECKING:
    from soel.networks.base import UserModule


@dataclass(frozen=True)
class SavedModel:
    """A model with what is needed to use it on a user's own table.

    extra: plain JSON of the face that saved it. probe: the score of one row that follows from the encoder alone, where
    it was saved; None for a model of pictures.
    """

    learner: Learner
    model: Blend
    encoder: Encoder
    extra: Mapping[str, Any] = field(default_factory=dict)
    probe: float | None = None

    @property
    def fitted(self) -> Fitted:
        if not isinstance(self.model, Fitted):
            raise ModelFileError("This model was only warmed up: it has no threshold yet. Fit first.")
        return self.model


def save_model(folder: Path, saved: SavedModel) -> str:
    """Write the model's folder, whole or not at all; returns its fingerprint."""
    arrays, notes = state_of(saved.model)
    learner = saved.learner
    content = {
        "detector": notes,
        "n_features": saved.encoder.n_features,
        "encoder": saved.encoder.to_json(),
        "profile": learner.profile.to_json(),
        "own_backbone": learner.backbone is not None,
        "seed": learner.seed,
        "threshold_rule": str(learner.threshold),
        "contamination": learner.contamination,
        "extra": dict(saved.extra),
        "probe": score_probe(saved),
    }
    return write_model(folder, arrays, content, lambda manifest: describe_model(saved, manifest))


def load_model(folder: Path, backbone: UserModule | None = None, encoder: Encoder | None = None) -> SavedModel:
    """Read a model's folder. One that was trained with a user's own backbone needs it again.

    encoder: the model's, where it was read before.
    """
    arrays, content = read_model(Path(folder))
    if content.get("own_backbone") and backbone is None:
        raise ModelFileError(
            f"{folder} was trained with your own backbone: pass the same one as backbone=... to load it."
        )
    try:
        return _rebuild(arrays, content, backbone, encoder)
    except MissingPackageError:
        raise
    except ModelFileError as error:
        raise ModelFileError(f"The manifest of {folder} cannot be used. {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError) as error:
        raise ModelFileError(f"The manifest of {folder} does not fit its weights: {error}.") from error


def describe_model(saved: SavedModel, manifest: Mapping[str, Any]) -> str:
    """The model's card, Markdown with a YAML head: what it learnt from and reads, and what its alarms promise."""
    fitted, used = saved.model, set(saved.encoder.column_names)
    head: dict[str, Any] = {"library_name": "soel", "tags": ["anomaly-detection", "tabular"]}
    head |= {"version": manifest["fingerprint"], "threshold": manifest["content"]["threshold_rule"]}
    facts, alarms = "It was only warmed up, and has no threshold yet.", []
    if isinstance(fitted, Fitted):
        n_pool, labels = len(fitted.pool_scores), fitted.pool_labels
        n_anomalies, n_normal = int((labels == 1).sum()), int((labels == 0).sum())
        head |= {"n_pool": n_pool, "n_labels": n_anomalies + n_normal}
        facts = f"It learnt from {n_pool:,} rows; {n_anomalies} were labelled anomaly and {n_normal} normal."
        n_alarms, share = int(fitted.alarms(fitted.pool_scores).sum()), fitted.estimate
        promise = saved.learner.threshold.promise(fitted.threshold < NEVER)
        alarms = [
            "## Alarms",
            "",
            f"Scores above {fitted.threshold:.6g} are alarms: {n_alarms} of the pool's rows. {promise}",
            f"The share of anomalies in the pool is estimated at {percent(share.value)} "
            f"({percent(share.low)} to {percent(share.high)}).",
            "",
        ]
    columns = [] if saved.encoder.schema is None else saved.encoder.schema.columns
    lines = [
        "---",
        *(f"{name}: {json.dumps(value)}" for name, value in (head | {"libraries": manifest["libraries"]}).items()),
        "---",  # JSON is YAML, too
        "",
        "# Anomaly detector",
        "",
        f"It gives each row a score; higher is more anomalous. {facts}",
        "",
        *(["## Columns", "", "| column | read as |", "|---|---|"] if columns else []),
        *(f"| {_cell(each.name)} | {each.kind} |" for each in columns if each.name in used),
        *([""] if columns else []),
        *alarms,
        "## Limits",
        "",
        "What is promised holds for rows like the pool's; where rows have drifted, label some and fit again. The model "
        "keeps rows of the data that it learnt from: give it only to whom you would give those.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A name as it may stand in a table: it holds no markup and no end of a line."""
    return "`" + " ".join(text.split()).replace("|", "\\|").replace("`", "'") + "`"


def score_probe(saved: SavedModel) -> float | None:
    """The score of a row that has the first example of each column, or zeros where nothing is known of columns."""
    if saved.model.patches is not None:
        return None
    encoder, features = saved.encoder, np.zeros((1, saved.encoder.n_features), np.float32)
    if encoder.schema is not None:
        examples = {column.name: (*column.seen.examples, None)[:1] for column in encoder.schema.columns}
        cells = {name: from_objects(name, example) for name, example in examples.items()}
        with suppress(DataError):  # an example that is shortened
            features = encoder.encode(frame_by(RawTable(cells, named=True), encoder.schema))
    return float(saved.model.score(features)[0])


def matches_probe(saved: SavedModel) -> bool:
    """Whether this machine computes what the one did that saved the model, but for the last digits."""
    if saved.probe is None:
        return True
    found = score_probe(saved)
    return found is not None and bool(np.isclose(found, saved.probe, rtol=1e-3, atol=1e-3))


def _rebuild(
    arrays: Mapping[str, np.ndarray],
    content: Mapping[str, Any],
    backbone: UserModule | None,
    encoder: Encoder | None,
) -> SavedModel:
    width = int(content["n_features"])
    if backbone is None:
        _check_size(arrays, width)
    rule = parse_threshold(content["threshold_rule"])
    profile = Profile.from_json(content["profile"])
    learner = Learner(profile, content["seed"], rule, backbone, content["contamination"])
    model = restore(arrays, content["detector"], lambda: learner.new_model(width))
    if model.detector is None and model.network is None:
        raise ValueError("it names neither a detector nor a network")
    _try_out(model, width)
    encoder = encoder or Encoder.from_json(content["encoder"])
    probe = content.get("probe")
    return SavedModel(learner, model, encoder, content["extra"], None if probe is None else float(probe))


def _try_out(model: Blend, width: int) -> None:
    """Score one row, so that arrays that do not fit one another are refused now, and not with the first row.

    What has to be read for it, all later rows need, too. A network's tensors are compared when they are taken over.
    """
    if model.detector is not None:
        score = model.detector.score(np.zeros((1, width), np.float32))
        if score.shape != (1,) or not np.isfinite(score).all():
            raise ValueError(f"a row of zeros scores {score}")
    if isinstance(model, Fitted):
        scores = model.pool_scores
        if not scores.shape == model.pool_labels.shape == (scores.size,):
            raise ValueError(f"{scores.shape} scores of the pool and {model.pool_labels.shape} labels")
        model.p_values(scores[:1])


def _check_size(arrays: Mapping[str, np.ndarray], n_features: int) -> None:
    """A manifest that lies about its width must not make us build a huge network."""
    widest = max((size for array in arrays.values() for size in array.shape), default=0)
    if not 0 < n_features <= widest:
        raise ValueError(f"{n_features} features are claimed, the largest tensor axis is {widest}")


FORMAT = 1
WEIGHTS, MANIFEST, CARD = "weights.safetensors", "manifest.json", "README.md"
LIBRARIES = ("soel", "torch", "numpy", "scikit-learn")


def write_model(
    folder: Path,
    tensors: Mapping[str, np.ndarray],
    content: Mapping[str, Any],
    describe: Callable[[Mapping[str, Any]], str] | None = None,
) -> str:
    """Write a model folder, whole or not at all, and return its fingerprint. describe: makes its card of its manifest.

    An existing model folder is replaced; any other existing folder is left alone with an error.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / MANIFEST).exists() and any(folder.iterdir()):
        raise ModelFileError(f"{folder} exists and is not a model folder; choose another place.")
    weights = save({name: np.asarray(value, order="C") for name, value in tensors.items()})
    manifest = _manifest(weights, content)
    with building(folder, private=True) as draft:  # a model holds rows of the data
        write_whole(draft / WEIGHTS, weights)
        if describe is not None:
            write_whole(draft / CARD, describe(manifest).encode())
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
        manifest = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
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
        "libraries": _versions(),
        "content": json.loads(text),
    }


def _versions() -> dict[str, str]:
    """Of the libraries that a model may depend on, as far as they are installed."""
    found = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _fingerprint(weights: str, content: str) -> str:
    """Of the weights, by their digest, and of everything else: the threshold, the encoder, the settings."""
    return hashlib.sha256((weights + content).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
