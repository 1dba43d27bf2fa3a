"""A session on a Ray cluster that loses a worker and a node, beside the same session on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from soel.cli.main import main
from soel.errors import ConfigError, DataError
from soel.images.picture_pool import MediaOptions
from soel.scoring import stream
from soel.scoring.ray import Cluster, import_ray
from soel.session import Session, SessionOptions, as_answers, create as sessions, pictures, pool as pools, score_file
from tests.images.makers import make_folder, residual_network
from tests.scoring.ray_nodes import (
    Gate,
    GatedDrawPart,
    GatedScorePart,
    Nodes,
    kill,
    start_nodes,
    wait_until,
)

N_FILES, FILE_ROWS, N_ANOMALIES, POOL_ROWS, N_ASKED = 4, 3_000, 300, 1_500, 4
pytestmark = [
    pytest.mark.xdist_group("ray"),  # the modules share what a machine has
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),  # Ray warns of settings of its own
]


@dataclass(frozen=True)
class Story:
    """What came out of a session. killed: the process that was killed in each phase."""

    session: Path
    asked: tuple[str, ...]
    scores: bytes
    killed: dict[str, int]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with start_nodes() as found:
        yield found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12,000 rows in four files; the first 300 rows are anomalies."""
    x = np.random.default_rng(7).normal(size=(N_FILES * FILE_ROWS, 5))
    x[:N_ANOMALIES, :3] += 3
    folder = tmp_path_factory.mktemp("table") / "rows"
    folder.mkdir()
    for number, part in enumerate(np.split(x, N_FILES)):
        columns = {f"c{column}": part[:, column] for column in range(5)}
        parquet.write_table(arrow.table(columns), folder / f"{number}.parquet")
    return folder


def create(folder: Path, data: Path, cluster: Cluster | None = None) -> Session:
    return sessions.create_session(folder, data, SessionOptions(pool_rows=POOL_ROWS, seed=3), cluster=cluster)


def ask_and_fit(session: Session) -> tuple[str, ...]:
    asked = tuple(session.ask(N_ASKED).items)
    answers = {item: "anomaly" if int(item) < N_ANOMALIES else "normal" for item in asked}
    session.tell(as_answers(answers), "expert")
    session.fit()
    return asked


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """On this machine."""
    folder = tmp_path_factory.mktemp("alone") / "session"
    session = create(folder, data)
    asked = ask_and_fit(session)
    score_file.score_file(session, None, folder.parent / "scores.csv")
    session.close()
    return Story(folder, asked, (folder.parent / "scores.csv").read_bytes(), {})


@pytest.fixture(scope="module")
def harmed(data: Path, nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """On a cluster that loses a worker while the pool is drawn, and a whole node while rows are scored."""
    place, cluster = tmp_path_factory.mktemp("cluster"), Cluster(nodes.address, n_workers=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "DrawPart", GatedDrawPart)
        drawing = Gate(data.parent / "gate-drawing").kill_one_who_waits()
        session = create(place / "session", data, cluster)
        asked = ask_and_fit(session)
        patch.setattr(stream, "ScorePart", GatedScorePart)
        scoring = Gate(data.parent / "gate-scoring").kill_one_who_waits(nodes.raylets[1:])
        score_file.score_file(session, None, place / "scores.csv", cluster=cluster)
    session.close()
    killed = {"drawing": drawing.pid, "scoring": scoring.pid}
    return Story(place / "session", asked, (place / "scores.csv").read_bytes(), killed)


def test_processes_that_die_change_neither_pool_nor_questions_nor_scores(harmed: Story, alone: Story) -> None:
    assert all(harmed.killed.values()), "a process died in each phase"
    drawn = [next(story.session.glob("source*")).read_bytes() for story in (harmed, alone)]
    assert drawn[0] == drawn[1]
    assert harmed.asked == alone.asked
    assert harmed.scores == alone.scores
    assert sorted(path.name for path in harmed.session.parent.iterdir()) == ["scores.csv", "session"]


def test_a_fault_of_the_data_is_named(alone: Story, nodes: Nodes, data: Path, tmp_path: Path) -> None:
    for file in data.iterdir():
        (tmp_path / "rows").mkdir(exist_ok=True)
        (tmp_path / "rows" / file.name).write_bytes(file.read_bytes())
    damaged = tmp_path / "rows" / "2.parquet"
    content = bytearray(damaged.read_bytes())
    content[20:4000] = bytes(3980)
    damaged.write_bytes(content)
    session = sessions.open_session(alone.session)
    with pytest.raises(DataError, match=r"2\.parquet cannot be read as a table"):
        score_file.score_file(session, tmp_path / "rows", tmp_path / "scores.csv", cluster=Cluster(nodes.address))
    session.close()


def test_features_of_pictures_are_the_same(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "PART_PICTURES", 16)
    data, network = make_folder(tmp_path / "pictures", 40), residual_network(tmp_path / "network.onnx")
    (data / "broken.png").write_bytes(b"no picture")
    found = []
    for name, cluster in (("alone", None), ("cluster", Cluster(nodes.address, n_workers=2))):
        monkeypatch.setenv("SOEL_CACHE", str(tmp_path / f"cache-{name}"))
        session = sessions.create_session(tmp_path / name, data, media=MediaOptions(str(network)), cluster=cluster)
        found.append((session.ids, np.array(session.folder.pool), session.folder.media_note["skipped"]))
        session.close()
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    assert found[0][2] == found[1][2]


def test_a_lost_head_says_how_to_go_on(alone: Story, nodes: Nodes, data: Path, tmp_path: Path) -> None:
    """The last one with these nodes: nothing is left of the cluster after it."""
    gate = Gate(data.parent / "gate-lost")
    code = (
        "import sys; from soel.cli.main import main; from soel.scoring import stream; "
        "from tests.scoring import ray_nodes; "
        "stream.ScorePart = ray_nodes.LostScorePart; sys.exit(main(sys.argv[1:]))"
    )
    gate.folder.mkdir()
    out = str(tmp_path / "scores.csv")
    words = ["score", str(alone.session), "--out", out, "--engine", f"ray:{nodes.address}"]
    run = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True)
    wait_until(gate.who_waits, "nobody scored anything")
    kill(nodes.head)
    _, said = run.communicate(timeout=90)
    assert run.returncode == 2, said
    assert re.search(rf"soel: The head .* does not answer any more.*--engine ray:{nodes.address}", said)


def test_a_cluster_of_its_own_scores_alike_and_leaves_no_folder(
    alone: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_for_sockets()
    monkeypatch.setenv("RAY_TMPDIR", str(place))
    out = tmp_path / "scores.csv"
    words = ["score", str(alone.session), "--out", str(out), "--engine", "ray", "--workers", "2"]
    subprocess.run([sys.executable, "-m", "soel.cli.main", *words], check=True, capture_output=True)
    assert out.read_bytes() == alone.scores
    assert list(place.iterdir()) == []
    place.rmdir()


def tmp_path_for_sockets() -> Path:
    """A folder with a short name: pytest's own are too long for sockets."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="soel-test-", dir="/tmp"))


@pytest.mark.parametrize("address", ["localhost:1", "ray://head:10001", "head"])
def test_an_address_without_a_cluster_is_named(address: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no Ray cluster at {address} .*ray start --head"):
        Cluster(address).connected().__enter__()


def test_ray_is_imported_by_those_who_ask_for_it_only() -> None:
    code = "import sys, soel.cli.main, soel.session.create, soel.session.score_file; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'soel\[ray\]'"):
        import_ray()


def test_an_address_alone_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(tmp_path), "--workers", "2"]) == 2
    assert "say --engine ray" in capsys.readouterr().err


def test_no_workers_are_too_few() -> None:
    with pytest.raises(ConfigError, match="workers=0"):
        Cluster(n_workers=0)
