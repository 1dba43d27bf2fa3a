"""How messy files are read, and what that costs: AUROC with the automatic reading and with a table cleaned by hand.

Floors: the share of files whose special columns are read as they should be, and how far the automatic reading may fall
behind (in points of AUROC, counted from 100).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.messy_files import careless, make_files
from benchmarks.messy_items import Messy
from soel import SOEL
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.tables.open import read_table
from soel.tables.schema import describe_kind

REAL = ("cardio", "thyroid", "pima")
FLOORS = {"read_as_meant": 1.0, "hundred_less_worst_loss": 98.0, "files": 25.0}
SEEDS = (0, 1)


def measure() -> dict[str, float]:
    """Print a line a file; the figures are over all of them."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        files = [*make_files(Path(folder)), *_real(Path(folder))]
        meant, losses = [], []
        known: dict[bytes, float] = {}
        print(f"{'file':24s} {'by hand':>8s} {'read':>8s}  how its columns are read")
        for messy in files:
            frame = read_table(messy.path).frame
            assert frame.schema is not None
            kinds = {name: frame.schema[name].kind for name in messy.kinds}
            key = messy.clean.tobytes()
            by_hand = known[key] if key in known else known.setdefault(key, auroc(read_frame(messy.clean), messy.truth))
            automatic = auroc(frame, messy.truth)
            meant.append(kinds == dict(messy.kinds))
            losses.append(100 * (by_hand - automatic))
            described = "; ".join(f"{each.name}: {describe_kind(each)}" for each in frame.schema.columns[:6])
            mark = " " if meant[-1] and losses[-1] <= 2 else "!"
            print(f"{messy.path.name:24s} {by_hand:8.3f} {automatic:8.3f}{mark} {described}", flush=True)
    figures["files"] = float(len(files))
    figures["read_as_meant"] = float(np.mean(meant))
    figures["hundred_less_worst_loss"] = 100 - max(losses)
    return figures


def _real(folder: Path) -> list[Messy]:
    """Real tables, where their folder is known."""
    tables = Path(os.environ.get("SOEL_DATA", "data")) / "tables"
    return [careless(tables / f"{name}.npz", folder) for name in REAL if (tables / f"{name}.npz").exists()]


def auroc(frame: object, truth: np.ndarray) -> float:
    """Of the default detector without labels, over a few seeds."""
    matrix = Encoder.fit(frame, "standard").encode(frame)  # type: ignore[arg-type]
    scores = [SOEL(random_state=seed).fit(matrix).anomaly_score(matrix) for seed in SEEDS]
    return float(np.mean([roc_auc_score(truth, each) for each in scores]))
