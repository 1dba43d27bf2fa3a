"""What MLflow runs to load a model that `mlflow_model` wrote: it reads the model's folder and scores frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from soel.serve.served import ServedModel
from soel.tables.raw_table import raw_from


class ScoringModel(PythonModel):
    """A model's folder as MLflow calls it."""

    def load_context(self, context: Any) -> None:
        """Read the folder."""
        self._served = ServedModel.load(Path(context.artifacts["model"]))

    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]  # MLflow reads type hints
        """A frame with score, probability, p-value, alarm and not sure of each row."""
        import pandas as pd

        batch = self._served.read(raw_from(model_input))
        return pd.DataFrame(self._served.judge(self._served.fitted.score(batch.features)))


set_model(ScoringModel())
