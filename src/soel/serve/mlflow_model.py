"""A model as MLflow keeps it: from code, without pickle, with the signature of the model's own columns."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soel.errors import MissingPackageError
from soel.serve.served import ServedModel

if TYPE_CHECKING:
    from mlflow.models import ModelSignature

CODE = Path(__file__).with_name("mlflow_code.py")
TYPES = {"number": "double", "flag": "boolean", "time": "datetime"}  # of columns by their kind; others are text
OUTPUTS = {"score": "double", "probability": "double", "p_value": "double", "alarm": "boolean", "not_sure": "boolean"}


def save_mlflow(model: str | Path, path: str | Path) -> None:
    """Write a model's folder as an MLflow model, which `mlflow.pyfunc.load_model` reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # MLflow misses type hints and an example; the signature is ours
        _pyfunc().save_model(path=str(path), **_described(Path(model)))


def log_mlflow(model: str | Path, name: str = "model", **options: Any) -> Any:
    """Log a model's folder to the MLflow run that is active; the options are those of `mlflow.pyfunc.log_model`."""
    return _pyfunc().log_model(name=name, **_described(Path(model)), **options)


def signature_of(served: ServedModel) -> ModelSignature:
    """What the model takes and gives, by its manifest: `infer_signature` would guess from a few rows."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    takes: list[Any] = [ColSpec(TYPES.get(each["kind"], "string"), each["name"]) for each in served.columns]
    return ModelSignature(Schema(takes), Schema([ColSpec(kind, name) for name, kind in OUTPUTS.items()]))


def _described(folder: Path) -> dict[str, Any]:
    return {
        "python_model": str(CODE),
        "artifacts": {"model": str(folder)},
        "signature": signature_of(ServedModel.load(folder)),
        "pip_requirements": [f"soel=={version('soel')}"],
    }


def _pyfunc() -> Any:
    try:
        from mlflow import pyfunc
    except ImportError as error:
        raise MissingPackageError(f"MLflow is not installed ({error}). Install soel[mlflow].") from error
    return pyfunc
