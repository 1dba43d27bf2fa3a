"""The default profile on a cluster: its pretrained network reads the pool here and scores rows there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from soel.detect.incontext.detector import LARGE_POOL, Pretrained
from soel.scoring.ray.clusters import ClusterOptions
from soel.session import SessionOptions, as_answers, create, scores
from soel.tables.csv_cells import read_rows
from tests.scoring.engines.conftest import Nodes

N_FILES, FILE_ROWS, N_ANOMALIES, POOL_ROWS, N_ASKED = 2, 2_600, 150, 4_200, 4
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),  # Ray warns of settings of its own
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """5,200 rows in two files; the first 150 are anomalies."""
    x = np.random.default_rng(7).normal(size=(N_FILES * FILE_ROWS, 4))
    x[:N_ANOMALIES, :2] += 3
    folder = tmp_path_factory.mktemp("table") / "rows"
    folder.mkdir()
    for number, part in enumerate(np.split(x, N_FILES)):
        columns = {f"c{column}": part[:, column] for column in range(4)}
        parquet.write_table(arrow.table(columns), folder / f"{number}.parquet")
    return folder


def tell_story(folder: Path, data: Path, cluster: ClusterOptions | None) -> tuple[tuple[str, ...], np.ndarray]:
    """What is asked, and the scores of all rows."""
    session = create.create_session(folder, data, SessionOptions(pool_rows=POOL_ROWS, seed=3), cluster=cluster)
    asked = tuple(session.ask(N_ASKED).items)
    answers = {item: "anomaly" if int(item) < N_ANOMALIES else "normal" for item in asked}
    session.tell(as_answers(answers), "expert")
    session.fit()
    fitted: Any = session.fitted()[1]
    detector = fitted.blend.detector
    assert isinstance(detector, Pretrained)
    assert POOL_ROWS > LARGE_POOL, "a student answers for most rows"
    assert detector.student is not None
    scores.score_file(session, None, folder / "scores.csv")
    session.close()
    return asked, np.array([float(row["score"]) for row in read_rows(folder / "scores.csv")])


def test_the_default_asks_and_scores_on_a_cluster_as_on_one_machine(data: Path, nodes: Nodes, tmp_path: Path) -> None:
    asked, alone = tell_story(tmp_path / "alone", data, None)
    there, spread = tell_story(tmp_path / "cluster", data, ClusterOptions(nodes.address, n_workers=2))
    assert there == asked
    assert len(spread) == N_FILES * FILE_ROWS
    np.testing.assert_allclose(spread, alone, atol=1e-4)
    is_anomaly = np.arange(len(alone)) < N_ANOMALIES
    assert alone[is_anomaly].mean() > alone[~is_anomaly].mean() + 1
