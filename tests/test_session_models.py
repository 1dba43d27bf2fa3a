"""A session's model outside the session: `SOEL.load` opens the folder of either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soel import SOEL, Session, SessionError, SessionOptions, create_session, open_session
from tests.conftest import make_toy

COLUMNS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def frame() -> pd.DataFrame:
    toy = make_toy(n_rows=80, n_anomalies=8)
    return pd.DataFrame(toy.x.astype(np.float64).round(4), columns=COLUMNS).assign(
        name=[f"row {row}" for row in range(80)]
    )


@pytest.fixture
def session(tmp_path: Path, frame: pd.DataFrame) -> Iterator[Session]:
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = SessionOptions(id_column="name", budget=4, seed=3)
    with closing(create_session(tmp_path / "session", tmp_path / "rows.csv", options)) as opened:
        yield opened


def test_a_session_without_a_fit_says_what_to_do(session: Session) -> None:
    with pytest.raises(SessionError, match="no fitted model yet"):
        SOEL.load(session.folder.path)


def test_a_session_s_detector_scores_as_the_session_does(session: Session, frame: pd.DataFrame) -> None:
    items = session.ask(4).items
    session.tell({item: "anomaly" if int(item.split()[1]) < 8 else "normal" for item in items})
    fitted = session.fit()
    expected = session.score()
    for folder in (session.folder.path, session.folder.path / fitted.model.folder):
        detector = SOEL.load(folder)
        np.testing.assert_allclose(detector.anomaly_score(frame[COLUMNS]), expected.scores, rtol=1e-5)
        np.testing.assert_array_equal(detector.predict(frame[COLUMNS]) == -1, expected.alarms)
        assert detector.feature_names_in_.tolist() == COLUMNS
        assert (detector.kind_, detector.random_state) == ("table", 3)
        assert detector.contamination_ == fitted.estimate.value


def test_what_was_loaded_can_be_saved_and_loaded_again(session: Session, frame: pd.DataFrame, tmp_path: Path) -> None:
    session.fit()
    detector = SOEL.load(session.folder.path)
    detector.save(tmp_path / "model")
    again = SOEL.load(tmp_path / "model")
    np.testing.assert_array_equal(again.anomaly_score(frame[COLUMNS]), detector.anomaly_score(frame[COLUMNS]))


def test_a_session_opens_again_by_its_public_name(session: Session) -> None:
    with closing(open_session(session.folder.path)) as again:
        assert again.config.session == session.config.session
