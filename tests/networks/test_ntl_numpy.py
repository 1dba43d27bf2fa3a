"""The network for tables without torch: the same losses, on a few rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from soel.learner import Learner
from soel.networks import losses
from soel.networks.ntl_numpy import looks_normal
from soel.settings import PAPER
from soel.tables.frame import as_frame
from soel.types import Kind


@pytest.mark.parametrize("n_features", [1, 5, 40, 310])
@pytest.mark.parametrize("n_rows", [1, 7])
def test_losses_are_those_of_torch(n_features: int, n_rows: int) -> None:
    learner = Learner(PAPER.settle(Kind.TABLE, n_features).with_parts(backbone="ntl"), seed=3)
    model = learner.new_model(n_features, 2)
    rng = np.random.default_rng(n_features)
    for name, buffer in model.backbone.named_buffers():  # statistics as after a training
        drawn = rng.uniform(0.5, 2, buffer.shape) if name.endswith("variance") else rng.normal(size=buffer.shape)
        buffer.copy_(type(buffer)(drawn.astype(np.float32)))
    x = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    weights = {name: value.detach().numpy() for name, value in model.backbone.state_dict().items()}
    wanted = losses(model, x)[0]
    found = looks_normal(weights, x)
    assert found.shape == wanted.shape == (2, n_rows)
    assert np.ptp(wanted) > 0
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_a_row_without_a_direction_is_scored_too() -> None:
    model = Learner(PAPER.settle(Kind.TABLE, 4).with_parts(backbone="ntl"), seed=0).new_model(4, 1)
    weights = {name: value.detach().numpy() for name, value in model.backbone.state_dict().items()}
    x = np.zeros((1, 4), np.float32)
    np.testing.assert_allclose(looks_normal(weights, x), losses(model, x)[0], rtol=1e-4, atol=1e-6)


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from soel.model_folder import load_model
folder, rows = Path(sys.argv[1]), np.load(sys.argv[2])
few = load_model(folder, few_rows=True).fitted
scores = few.score(rows)
assert "torch" not in sys.modules, "torch was loaded"
assert few.blend.listens
whole = load_model(folder).fitted
np.testing.assert_allclose(scores, whole.score(rows), rtol=1e-4, atol=1e-5)
many = np.tile(rows, (400, 1))
np.testing.assert_array_equal(few.score(many), whole.score(many))  # too many to go without torch
assert len(few.blend.history) > 0
"""


def test_a_stored_model_scores_a_few_rows_without_torch(tmp_path: Path) -> None:
    from soel import SOEL

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4))
    x[:5] += 6
    y = np.full(80, -1)
    y[:3], y[40:45] = 1, 0
    detector = SOEL("paper", random_state=0)
    detector.fit(x, y)
    detector.save(tmp_path / "model")
    np.save(tmp_path / "rows.npy", detector.detector_.encoder.encode(as_frame(x[:3])))
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "model"), str(tmp_path / "rows.npy")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
