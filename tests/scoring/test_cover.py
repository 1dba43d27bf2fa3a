"""What thinning costs in cover radius, against all distances at once. About 4 s: the real engine warms up."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from soel.assess.metrics import cover_radius
from soel.cli.main import main
from soel.session import Session, SessionOptions, create
from soel.session.item_tables import read_encoder
from soel.session.pool import find_space, measure_cover
from soel.settings import PAPER
from soel.tables.frame import read_frame
from tests.conftest import make_learner, make_toy
from tests.session.fake_learner import use_fake_learner

N_ROWS, N_POOL = 400, 50


def thinned(place: Path, pool_rows: int = N_POOL) -> Session:
    x = np.random.default_rng(4).normal(size=(N_ROWS, 4))
    np.save(place / "t.npy", x)
    return create.create_session(
        place / "session", place / "t.npy", SessionOptions(strategy="k-center", pool_rows=pool_rows, budget=10)
    )


def test_asking_says_both_radii_and_goes_on_without_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "session"
    thinned(tmp_path).close()
    assert main(["ask", str(folder), "-n", "5", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)
    with closing(create.open_session(folder)) as session:
        rows = np.array([session.ids.index(item) for item in asked["items"]])
        assert session.state.round is not None
        space = find_space(session.load_model(session.state.round.model))
        assert space is not None
        pool = space(np.asarray(session.folder.pool))
        whole = space(read_encoder(session.folder).encode(read_frame(np.load(tmp_path / "t.npy"))))
    cover = asked["cover"]
    assert (cover["n_queries"], cover["n_rows"]) == (5, N_ROWS)
    assert cover["pool"] == pytest.approx(cover_radius(pool, rows), rel=1e-5)
    numbers = np.array([int(item) for item in asked["items"]])
    assert cover["whole"] == pytest.approx(cover_radius(whole, numbers), rel=1e-5)
    assert cover["whole"] >= cover["pool"]

    (tmp_path / "t.npy").rename(tmp_path / "moved.npy")
    assert main(["tell", str(folder), *(f"{item}=normal" for item in asked["items"])]) == 0
    capsys.readouterr()
    assert main(["ask", str(folder), "-n", "2"]) == 0
    said = capsys.readouterr().out
    assert "Round 2: 2 items, drawn now" in said
    assert "could not be measured: " in said
    assert "t.npy does not exist" in said


def test_nothing_to_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_learner(monkeypatch)
    with closing(thinned(tmp_path, N_ROWS)) as session:  # the pool is everything
        session.ask(3)
        assert measure_cover(session, read_encoder(session.folder)) is None
    (tmp_path / "other").mkdir()
    with closing(thinned(tmp_path / "other")) as session:
        assert measure_cover(session, read_encoder(session.folder)) is None  # nothing was asked yet


def test_the_space_of_a_network_is_not_looked_at() -> None:
    learner, pool = make_learner(PAPER, make_toy().x)
    assert find_space(learner.prepare(pool)) is None
