"""What stands in `deploy` goes by the metrics and the settings that there are; a model goes to MLflow and back."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from starlette.testclient import TestClient

from soel import SOEL
from soel.cli.arguments import Exit
from soel.cli.main import build_parser
from tests.serve.conftest import make_rows
from tests.serve.test_endpoint import score

DEPLOY = Path(__file__).parents[2] / "deploy"
METRIC = re.compile(r"\bsoel_[a-z_]+")


@pytest.fixture
def metrics(client: TestClient) -> set[str]:
    score(client, make_rows(5).to_dict("records"))
    return set(METRIC.findall(client.get("/metrics").text)) | {"soel_labels_waiting"}  # that one is of sessions


def test_the_dashboard_and_the_alerts_know_only_metrics_that_there_are(metrics: set[str]) -> None:
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]] + [rule["expr"] for rule in rules]
    assert len(rules) == 4
    assert {name for text in expressions for name in METRIC.findall(text)} <= metrics
    page = set(METRIC.findall((DEPLOY.parent / "docs" / "serve.md").read_text()))
    assert page <= metrics | {"soel_score", "soel_request_seconds"}


def test_the_image_runs_without_rights_and_says_how_it_is() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER [1-9]\d+", text, re.MULTILINE)
    assert "HEALTHCHECK" in text
    assert "/health/ready" in text
    words = json.loads(re.findall(r"^CMD (\[.*\])", text, re.MULTILINE)[0])
    assert build_parser().parse_words(["serve", *words]).host == "0.0.0.0"
    assert "torch" not in (DEPLOY.parent / "lock" / "serve.txt").read_text()


@pytest.mark.parametrize("name", ["soel-serve.service", "soel-nightly.service"])
def test_units_call_verbs_that_there_are(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / name)
    words = shlex.split(unit["Service"]["ExecStart"].partition("soel ")[2])
    assert build_parser().parse_words(words).verb == words[0]
    if words[0] == "watch":  # its verdicts are no failures
        assert unit["Service"]["SuccessExitStatus"].split() == [str(int(code)) for code in (Exit.ALARMS, Exit.STALE)]
        assert shlex.join(words) in (DEPLOY / "crontab").read_text()


def test_a_model_goes_to_mlflow_and_back_without_pickle(model_folder: Path, model: SOEL, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    from soel.serve.mlflow_model import save_mlflow

    rows = make_rows(20, seed=7)
    save_mlflow(model_folder, tmp_path / "kept")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "kept"))
    said = loaded.predict(rows)
    assert np.allclose(said["score"], model.anomaly_score(rows))
    assert (said["alarm"] == (said["score"] > model.threshold_)).all()
    assert loaded.metadata.signature.inputs.input_names() == ["width", "height", "shop"]
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.suffix in (".pkl", ".pickle", ".cloudpickle")]
