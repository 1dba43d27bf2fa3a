"""What the demo says on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soel.report.text import format_table


def describe_demo(document: Mapping[str, Any]) -> str:
    """The answers, the estimate, the comparison and how to go on."""
    share = document["contamination"]
    asked = [[n, entry["item"], entry["answer"]] for n, entry in enumerate(document["asked"], start=1)]
    results = [[row["method"], f"{row['auroc']:.3f}", f"{row['f1']:.3f}"] for row in document["results"]]
    return "\n".join(
        [
            f"{document['n_items']} cells, some of them malignant. A simulated expert was asked about {len(asked)}:",
            "",
            format_table(["", "item", "answer"], asked),
            "",
            f"Share of anomalies: {share['estimate']:.1%} estimated (80 % between {share['low']:.1%} and "
            f"{share['high']:.1%}), {share['true']:.1%} true.",
            "",
            "On rows the detector has not seen, at its own threshold:",
            "",
            format_table(["", "AUROC", "F1"], results),
            "",
            f"Report:  {document['report']}   (open it in a browser)",
            "Now your own table:",
            "    soel init my-session --data FILE.csv",
            "    soel ask my-session        # writes a sheet of questions; fill in the column 'label'",
            "    soel tell my-session my-session/round-0001.csv",
            "    soel fit my-session && soel score my-session && soel report my-session",
        ]
    )
