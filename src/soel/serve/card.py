"""A model's card: Markdown with a YAML head, made from its manifest."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from soel.serve.served import ServedModel
from soel.text import percent


def model_card(served: ServedModel) -> str:
    """What the model is, what it reads, what its alarms promise, and what it was made with."""
    fitted, content = served.fitted, served.manifest["content"]
    n_pool, labels = len(fitted.pool_scores), fitted.pool_labels
    n_anomalies, n_normal = int((labels == 1).sum()), int((labels == 0).sum())
    made = datetime.fromtimestamp(served.made, UTC).isoformat(timespec="seconds")
    head = {
        "library_name": "soel",
        "tags": ["anomaly-detection", "tabular"],
        "version": served.version,
        "created": made,
        "n_pool": n_pool,
        "n_labels": n_anomalies + n_normal,
        "threshold": content["threshold_rule"],
        "libraries": dict(served.manifest["libraries"]),
    }
    estimate = fitted.estimate
    alarms = int(fitted.alarms(fitted.pool_scores).sum())
    lines = [
        "---",
        *(f"{name}: {json.dumps(value)}" for name, value in head.items()),  # JSON is YAML, too
        "---",
        "",
        "# Anomaly detector",
        "",
        f"It gives rows of a table a score; higher is more anomalous. It learnt from {n_pool:,} rows, of which "
        f"{n_anomalies} were labelled anomaly and {n_normal} normal.",
        "",
        "## Columns",
        "",
        "| column | read as |",
        "|---|---|",
        *(f"| {_cell(each['name'])} | {each['kind']} |" for each in served.columns),
        "",
        "## Alarms",
        "",
        f"Scores above {fitted.threshold:.6g} are alarms: {alarms} of the pool's rows. {served.promise['lines'][0]}",
        f"The share of anomalies in the pool is estimated at {percent(estimate.value)} "
        f"({percent(estimate.low)} to {percent(estimate.high)}).",
        "",
        "## Limits",
        "",
        "What is promised holds for rows like the pool's; where rows have drifted, label some and fit again. The model "
        "keeps rows of the data that it learnt from: give it only to whom you would give those.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A name as it may stand in a table: it holds no markup and no end of a line."""
    return "`" + " ".join(text.split()).replace("|", "\\|").replace("`", "'") + "`"
