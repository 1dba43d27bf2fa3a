"""A session on a cluster of three nodes that loses a process in every phase, and at last a node, beside the same one
on this machine.

The two stories take about a minute: processes that import torch are started a dozen times.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from soel.errors import DataError, SessionError
from soel.networks import Model
from soel.scoring import cluster_scoring
from soel.scoring.ray import clusters
from soel.scoring.ray.clusters import ClusterOptions
from soel.scoring.ray.compute import RayCompute
from soel.scoring.ray.workers import Workers
from soel.session import Session, SessionOptions, as_answers, cluster_drawing, scores
from soel.session.create import create_session, open_session
from soel.settings import DISTANCES, Schedule
from soel.tables.csv_cells import read_rows
from soel.types import Pool, Progress
from tests.scoring.engines.conftest import Nodes
from tests.scoring.engines.gates import (
    Gate,
    GatedDrawPart,
    GatedFeatureFile,
    GatedScorePart,
    ScorePartOnFullDisk,
    kill,
    processes,
    wait_until,
)

N_FILES, FILE_ROWS, N_ANOMALIES, POOL_ROWS, N_ASKED = 4, 6_000, 400, 18_000, 6
# A small rate: at 1e-3 the last digit of an input changes scores by 0.02 in as many steps, on one machine too.
SCHEDULE = replace(DISTANCES.tables, epochs=12, warm_up_epochs=12, batch_size=2048, learning_rate=1e-4)
PROFILE = replace(DISTANCES, name="quick", n_members=2, tables=SCHEDULE)
pytestmark = [
    pytest.mark.xdist_group("ray"),  # one story is told, by one process
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),  # Ray warns of settings of its own
]
PHASES = {"drawing", "features", "query", "warm-up", "training", "scoring"}


@dataclass
class Story:
    """What came out of a session. killed: the process that was killed in each phase."""

    folder: Path
    asked: tuple[str, ...]
    scores: np.ndarray
    history: list[list[float]]
    killed: dict[str, int]


class Harm:
    """Kills one worker in each phase, once, by a real signal."""

    def __init__(self, place: Path, raylets: Sequence[int]) -> None:
        self._place, self._raylets = place, raylets
        self.killed: dict[str, int] = {}

    @contextmanager
    def at_gate(self, phase: str, module: Any, name: str, gated: type, raylets: Sequence[int] = ()) -> Iterator[None]:
        """One who works on a part of this phase, in the middle of it; or the whole node of one, of these nodes."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, gated)
            killer = Gate(self._place / f"gate-{phase}").kill_one_who_waits(raylets)
            yield
            killer.join(1)
        self.killed[phase] = killer.pid

    def after_an_epoch(self, phase: str) -> Callable[[int, int], None]:
        """One of those who train, as soon as an epoch is done."""

        def progress(done: int, total: int) -> None:
            if phase not in self.killed:
                assert done < total, "the training was over before anybody could be killed"
                self.killed[phase] = processes("RayTrainWorker", self._raylets)[0]
                kill(self.killed[phase])

        return progress

    @contextmanager
    def in_the_warm_up(self) -> Iterator[None]:
        """One of those who warm up, which the first `fit` does before it learns from labels."""
        warm_up = RayCompute.warm_up

        def harmed(compute: RayCompute, model: Model, pool: Pool, schedule: Schedule, _: Progress | None) -> None:
            warm_up(compute, model, pool, schedule, self.after_an_epoch("warm-up"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RayCompute, "warm_up", harmed)
            yield

    @contextmanager
    def between_draws(self) -> Iterator[None]:
        """One of those who have the embeddings, before the third draw."""
        ask, draws = Workers.ask, []

        def harmed(workers: Workers, what: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
            if what == "query" and given[0][0] == "farthest":
                draws.append(what)
                if len(draws) == 3:
                    self.killed["query"] = processes("Worker", self._raylets)[0]
                    kill(self.killed["query"])
            return ask(workers, what, given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Workers, "ask", harmed)
            yield


def write_table(folder: Path) -> Path:
    """24,000 rows in four files; the first 400 rows are anomalies."""
    x = np.random.default_rng(7).normal(size=(N_FILES * FILE_ROWS, 6))
    x[:N_ANOMALIES, 3:] *= 4
    folder.mkdir()
    for number, part in enumerate(np.split(x, N_FILES)):
        columns = {f"c{column}": part[:, column] for column in range(6)}
        parquet.write_table(arrow.table(columns), folder / f"{number}.parquet")
    return folder


def create(folder: Path, data: Path, cluster: ClusterOptions | None = None) -> Session:
    return create_session(folder, data, SessionOptions(profile=PROFILE, pool_rows=POOL_ROWS, seed=3), cluster=cluster)


def tell(session: Session, items: Sequence[str]) -> None:
    session.tell(as_answers({item: "anomaly" if int(item) < N_ANOMALIES else "normal" for item in items}), "expert")


def end(session: Session, out: Path, asked: Sequence[str], killed: dict[str, int]) -> Story:
    scores = np.array([float(row["score"]) for row in read_rows(out)])
    fitted: Any = session.fitted()[1]
    session.close()
    return Story(session.folder.path, tuple(asked), scores, fitted.blend.history, killed)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("table") / "rows")


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """On this machine."""
    session = create(tmp_path_factory.mktemp("alone") / "session", data)
    asked = session.ask(N_ASKED).items
    tell(session, asked)
    session.fit()
    out = session.folder.path / "scores.csv"
    scores.score_file(session, None, out)
    return end(session, out, asked, {})


@pytest.fixture(scope="module")
def harmed(data: Path, nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """On a cluster that loses a worker in every phase."""
    place = tmp_path_factory.mktemp("cluster")
    harm, cluster = Harm(place, nodes.raylets), ClusterOptions(nodes.address, n_workers=2)
    with harm.at_gate("drawing", cluster_drawing, "DrawPart", GatedDrawPart):
        session = create(place / "session", data, cluster)
    with harm.at_gate("features", clusters, "FeatureFile", GatedFeatureFile), harm.between_draws():
        asked = session.ask(N_ASKED).items
    tell(session, asked)
    with harm.in_the_warm_up():
        session.fit(harm.after_an_epoch("training"))
    with harm.at_gate("scoring", cluster_scoring, "ScorePart", GatedScorePart, nodes.raylets[1:]):
        scores.score_file(session, None, place / "scores.csv")
    return end(session, place / "scores.csv", asked, harm.killed)


def test_a_process_died_in_every_phase(harmed: Story) -> None:
    assert set(harmed.killed) == PHASES
    assert all(harmed.killed.values())
    assert len(set(harmed.killed.values())) == len(PHASES)


def test_the_same_items_are_asked(harmed: Story, alone: Story) -> None:
    assert harmed.asked == alone.asked


def test_the_same_scores_come_out(harmed: Story, alone: Story) -> None:
    np.testing.assert_allclose(harmed.history, alone.history, rtol=1e-3)
    difference = np.abs(harmed.scores - alone.scores)
    assert np.quantile(difference, 0.99) < 1e-3
    assert difference.max() < 0.05  # see tests/networks/test_ranks.py


def test_what_was_begun_beside_the_session_is_gone(harmed: Story) -> None:
    place = harmed.folder.parent
    assert sorted(path.name for path in place.iterdir() if not path.name.startswith("gate")) == [
        "scores.csv",
        "session",
    ]
    assert not list((harmed.folder / "shards" / "runs").iterdir())


def test_a_full_disk_is_named(harmed: Story, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_scoring, "ScorePart", ScorePartOnFullDisk)
    session = open_session(harmed.folder, cluster=ClusterOptions(nodes.address, n_workers=1))
    with pytest.raises(SessionError, match=r"cannot be written to .*scores\.parquet\.parts: File too large.* kept"):
        scores.score_file(session, None, tmp_path / "scores.parquet")
    session.close()


def test_an_unreadable_shard_is_named(harmed: Story, nodes: Nodes) -> None:
    shard = harmed.folder / "shards" / "part-000001.parquet"
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    session = open_session(harmed.folder, cluster=ClusterOptions(nodes.address, n_workers=1))
    engine: Any = session.engine
    compute, model = engine.loop.compute, engine.load(session.folder.path / session.fitted()[0].folder)
    with pytest.raises(DataError, match=f"{shard} cannot be read: .*Remove it"):
        compute.score(model.blend, session.pool)
    compute.dismiss()
    shard.unlink()
    np.testing.assert_allclose(compute.score(model.blend, session.pool), model.pool_scores, atol=1e-5)
    assert shard.read_bytes() == content
    compute.close()


def test_a_lost_head_says_how_to_go_on(harmed: Story, nodes: Nodes) -> None:
    """The last one: nothing is left of the cluster after it."""
    before = open_session(harmed.folder).events
    command = [sys.executable, "-m", "soel.cli.main", "ask", str(harmed.folder), "--engine", "ray", "--workers", "1"]
    former = set(processes("ray::Worker", nodes.raylets))  # one that was dismissed may not have ended yet
    run = subprocess.Popen([*command, "--address", nodes.address], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: set(processes("ray::Worker", nodes.raylets)) - former, "nobody looked at the pool")
    kill(nodes.head)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 2, said
    assert re.search(rf"soel: The head .* does not answer any more.*--engine ray --address {nodes.address}", said)
    assert open_session(harmed.folder).events == before
