"""Without torch everything runs but networks that are trained here, and these say what to install.

Each test is a process in which torch cannot be imported.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from soel import PROFILES, SOEL

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
from importlib import metadata
version = metadata.version
def version_of_others(name):
    if name == "torch":
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = version_of_others
import numpy as np
import soel
from soel import SOEL
rng = np.random.default_rng(0)
"""
LOOP = """
y = np.full(len(x), -1)
detector = SOEL(random_state=0)
asked = detector.query(x, 8, y)
y[asked] = asked < 4
y[:2] = 1
scores = detector.fit(x, y).anomaly_score(x)
detector.save(sys.argv[1])
assert np.array_equal(SOEL.load(sys.argv[1]).anomaly_score(x), scores)
print(detector.kind_, scores[:4].mean() > scores[4:].mean(), "torch" in sys.modules)
"""


def run_blocked(code: str, *arguments: Path) -> str:
    """The last line that a process without torch prints."""
    done = subprocess.run([sys.executable, "-c", BLOCKED + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_table_is_asked_about_learnt_scored_and_kept(tmp_path: Path) -> None:
    code = "x = rng.normal(size=(80, 5)).astype('f4'); x[:4] += 4" + LOOP
    assert run_blocked(code, tmp_path / "model") == "table True False"


def test_vectors_are_learnt_by_the_detector_alone(tmp_path: Path) -> None:
    code = "x = rng.normal(size=(80, 320)).astype('f4'); x[:4] += 1" + LOOP
    assert run_blocked(code, tmp_path / "model") == "vectors True False"


def test_pictures_are_looked_at_through_onnxruntime(tmp_path: Path) -> None:
    code = "x = rng.integers(100, 140, (24, 64, 64, 3), np.uint8); x[:4, 20:44, 20:44] = 250" + LOOP
    assert run_blocked(code, tmp_path / "model") == "vectors True False"


def test_the_page_and_the_demonstration_run(tmp_path: Path) -> None:
    code = """
import soel.web.app, soel.testing
from soel.cli.main import main
assert main(["demo", "--out", sys.argv[1]]) == 0
print("torch" in sys.modules)
"""
    assert run_blocked(code, tmp_path / "demo") == "False"


def test_what_needs_torch_says_so_in_one_sentence(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    paper = PROFILES["paper"]
    short = replace(paper, tables=replace(paper.tables, epochs=1))
    SOEL(short, random_state=0).fit(x, [1, 1, 0, 0, *[-1] * 36]).save(tmp_path / "model")
    code = """
x = rng.normal(size=(40, 3)).astype("f4")
y = np.r_[1, 1, 0, 0, np.full(36, -1)]
said = []
for attempt in (
    lambda: SOEL("paper").fit(x, y),
    lambda: SOEL(backbone="deep-svdd").fit(x, y),
    lambda: soel.Backbone,
    lambda: SOEL.load(sys.argv[1]),
):
    try:
        attempt()
    except soel.ConfigError as error:
        said.append(str(error))
print(len(said), set(said))
"""
    said = run_blocked(code, tmp_path / "model")
    assert said == """4 {"Networks need torch, which is not installed: pip install 'soel[deep]'."}"""
