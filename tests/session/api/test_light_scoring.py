"""What work on tables loads: torch for a network that is trained, its compiler never, pandas not for plain numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel import PROFILES, SOEL, Profile, create_session
from soel.session import SessionOptions
from soel.types import Kind
from tests.variants import BESIDE_A_NETWORK

HEAVY = ("torch", "torch._dynamo", "sklearn", "pandas")


def modules_after(code: str) -> dict[str, bool]:
    """Which heavy packages a process of its own has loaded after this code."""
    ending = f"import json, sys; print(json.dumps({{name: name in sys.modules for name in {HEAVY}}}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{ending}"], capture_output=True, text=True, check=True)
    loaded: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    return loaded


@pytest.fixture
def rows() -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(60, 3))
    values[:4] += 5
    return pd.DataFrame(values, columns=["a", "b", "c"])


def test_the_command_scores_without_torch_and_pandas_where_no_network_was_trained(
    tmp_path: Path, rows: pd.DataFrame
) -> None:
    rows.to_csv(tmp_path / "rows.csv", index=False)
    session = create_session(tmp_path / "work", tmp_path / "rows.csv", SessionOptions())
    session.fit()
    session.close()
    rows[:1].to_csv(tmp_path / "one.csv", index=False)
    words = ["score", str(tmp_path / "work"), "--data", str(tmp_path / "one.csv")]
    loaded = modules_after(f"from soel.cli.main import main; assert main({words!r}) == 0")
    assert loaded == dict.fromkeys(HEAVY, False)


def test_the_estimator_too_where_the_network_has_no_weight(tmp_path: Path, rows: pd.DataFrame) -> None:
    silent = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, deep_weight=0.0))
    y = np.full(60, -1)
    y[:8] = [1, 1, 1, 1, 0, 0, 0, 0]
    SOEL(silent, random_state=0).fit(rows, y).save(tmp_path / "model")
    rows.to_pickle(tmp_path / "rows.pkl")
    code = f"""
import pandas as pd
from soel import SOEL
SOEL.load({str(tmp_path / "model")!r}).anomaly_score(pd.read_pickle({str(tmp_path / "rows.pkl")!r}))
"""
    loaded = modules_after(code)
    assert (loaded["torch"], loaded["torch._dynamo"]) == (False, False)


@pytest.mark.parametrize("profile", [PROFILES["default"], BESIDE_A_NETWORK])
def test_torch_is_loaded_for_a_network_that_was_trained_here_and_its_compiler_never(
    tmp_path: Path, rows: pd.DataFrame, profile: Profile
) -> None:
    y = np.full(60, -1)
    y[:8] = [1, 1, 1, 1, 0, 0, 0, 0]
    detector = SOEL(profile, random_state=0).fit(rows, y)
    assert detector.kind_ == Kind.TABLE
    assert bool(detector.history_) == (profile is BESIDE_A_NETWORK), "networks are trained there alone"
    detector.save(tmp_path / "model")
    rows.to_pickle(tmp_path / "rows.pkl")
    code = f"""
import pandas as pd
from soel import SOEL
SOEL.load({str(tmp_path / "model")!r}).anomaly_score(pd.read_pickle({str(tmp_path / "rows.pkl")!r}))
"""
    loaded = modules_after(code)
    assert (loaded["torch"], loaded["torch._dynamo"]) == (profile is BESIDE_A_NETWORK, False)


def test_a_table_is_asked_about_and_fitted_without_torch(tmp_path: Path, rows: pd.DataFrame) -> None:
    rows.to_pickle(tmp_path / "rows.pkl")
    code = f"""
import numpy as np
import pandas as pd
from soel import SOEL
rows, y = pd.read_pickle({str(tmp_path / "rows.pkl")!r}), np.full(60, -1)
detector = SOEL(random_state=0)
for _ in range(3):
    asked = detector.query(rows, 1, y)
    y[asked] = asked < 4
detector.fit(rows, y).predict(rows)
detector.save({str(tmp_path / "model")!r})
"""
    loaded = modules_after(code)
    assert (loaded["torch"], loaded["torch._dynamo"]) == (False, False)
