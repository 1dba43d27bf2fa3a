"""Watching what comes in: every input once, whatever dies; answers teach; the worse model does not score."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from soel.cli.main import main
from soel.errors import ConfigError, LockedError, SessionError, UnknownItemError
from soel.files import take_lock
from soel.session import Session, SessionOptions
from soel.session.alarms import FOLDER, open_questions, read_kept
from soel.session.create import create_session, open_session
from soel.session.labels import import_labels
from soel.session.notify import notify
from soel.session.pool_records import pool_of
from soel.session.refit import compare, labels_until_due, refit
from soel.session.state import Comparison
from soel.session.watch import LOCK, MANY_OUTSIDE, prove, watch, write_questions

N_NIGHT = 300


def rows(seed: int, n: int = N_NIGHT, share: float = 0.05) -> pd.DataFrame:
    """Normal rows on a plane, anomalies off it; a name says which they are, and no column does."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=(n, 2)), 0.1 * rng.normal(size=(n, 2))], axis=1)
    odd = rng.random(n) < share
    x[odd] = 1.5 * x[odd][:, ::-1]
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame.insert(0, "name", [f"{'odd' if is_odd else 'row'}-{seed}-{at}" for at, is_odd in enumerate(odd)])
    return frame


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    rows(0).to_csv(tmp_path / "pool.csv", index=False)
    made = create_session(tmp_path / "work", tmp_path / "pool.csv", SessionOptions(id_column="name", budget=10))
    items = made.ask(10).items
    made.tell({item: truth(item) for item in items})
    made.fit()
    (tmp_path / "inbox").mkdir()
    yield made
    made.close()


def truth(name: str) -> str:
    return "anomaly" if name.startswith("odd") else "normal"


def arrive(tmp_path: Path, seed: int, frame: pd.DataFrame | None = None) -> None:
    (rows(seed) if frame is None else frame).to_csv(tmp_path / "inbox" / f"night-{seed:03}.csv", index=False)


def inbox(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "inbox").iterdir())


def fill(session: Session, n: int | None = None) -> Path:
    """Answer the sheet's rows, or the first so many of them."""
    path = write_questions(session)
    assert path is not None
    sheet = pd.read_csv(path, dtype=str)
    sheet.loc[: len(sheet) if n is None else n - 1, "label"] = sheet["name"].map(truth)
    sheet.to_csv(path, index=False)
    return path


def test_each_input_is_watched_once(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1)
    first = watch(session, inbox(tmp_path))
    (night,) = first.nights
    assert (night.input, night.n_rows, first.verdict) == ("night-001.csv", N_NIGHT, "look")
    kept = read_kept(session.folder, [night]).to_pydict()
    assert sum(kept["alarm"]) == night.n_alarms > 0
    assert all(why for why, alarm in zip(kept["why"], kept["alarm"], strict=True) if alarm)
    assert all(session.state.fit.model.fingerprint == model for model in kept["model"])  # type: ignore[union-attr]
    (tmp_path / "inbox" / "copy.csv").write_bytes(inbox(tmp_path)[0].read_bytes())
    os.utime(inbox(tmp_path)[0])
    n_events = len(session.events)
    again = watch(session, inbox(tmp_path))
    assert not again.nights
    assert again.verdict == "fine"
    assert len(session.events) == n_events


def test_what_cannot_be_scored_is_named_and_the_others_are_done(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1)
    arrive(tmp_path, 2, pd.DataFrame({"x": [1.0], "y": [2.0]}))
    (tmp_path / "inbox" / "empty.csv").write_bytes(b"")
    (tmp_path / "inbox" / "head.csv").write_text("name,a,b,c,d\n")
    (tmp_path / "inbox" / "torn.parquet").write_bytes(b"PAR1 and no more")
    watched = watch(session, inbox(tmp_path))
    assert [night.input for night in watched.nights] == ["night-001.csv"]
    assert {night.input for night in watched.refused} == {"night-002.csv", "empty.csv", "head.csv", "torn.parquet"}
    assert all(night.refused for night in watched.refused)
    assert not watch(session, inbox(tmp_path)).refused, "it was named"
    arrive(tmp_path, 2)
    assert [night.input for night in watch(session, inbox(tmp_path)).nights] == ["night-002.csv"]


def test_two_at_once_are_not(session: Session, tmp_path: Path) -> None:
    lock = take_lock(session.folder.path / LOCK)
    assert lock is not None
    with pytest.raises(LockedError, match="Another run watches"):
        watch(session, inbox(tmp_path))
    lock.release()


def test_kills_lose_no_input_and_score_none_twice(session: Session, tmp_path: Path) -> None:
    for seed in range(1, 6):
        arrive(tmp_path, seed)
    code = "import sys; from soel.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "watch", str(tmp_path / "work"), "--data", f"{tmp_path}/inbox/*"]
    for seconds in (1.5, 2.0, 2.5, 3.0):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
    with closing(open_session(tmp_path / "work")) as late:
        watch(late, inbox(tmp_path))
        nights = late.state.nights
        assert sorted(night.input for night in nights) == [path.name for path in inbox(tmp_path)]
        kept = read_kept(late.folder, nights, ["alarm_id"])["alarm_id"].to_pylist()
        assert len(set(kept)) == len(kept)


@pytest.mark.parametrize("phase", ["before", "between", "after"])
def test_a_death_in_each_phase_leaves_the_input_to_the_next_run(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    arrive(tmp_path, 1)
    arrive(tmp_path, 2)

    store = Session.store_night

    def die(*given: Any) -> None:
        if phase == "after":
            store(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        if phase == "before":
            dying.setattr("soel.session.watch.write_kept", die)
        else:
            dying.setattr(Session, "store_night", die)
        with pytest.raises(KeyboardInterrupt):
            watch(session, inbox(tmp_path))
    n_left = 1 if phase == "after" else 2
    assert len(watch(session, inbox(tmp_path)).nights) == n_left
    assert [night.input for night in session.state.nights] == ["night-001.csv", "night-002.csv"]


def test_a_moved_column_makes_it_stale_and_is_named(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1, rows(1).assign(b=lambda frame: frame["b"] + 9))
    watched = watch(session, inbox(tmp_path))
    assert watched.verdict == "stale"
    assert any(text.startswith("b:") for text in watched.nights[0].moved)
    assert watched.nights[0].n_outside > MANY_OUTSIDE * N_NIGHT


def test_answers_outlive_their_files_and_prove_figures(session: Session, tmp_path: Path) -> None:
    for seed in range(1, 9):
        arrive(tmp_path, seed)
    watch(session, inbox(tmp_path))
    for path in inbox(tmp_path):
        path.unlink()
    budget, sheet = session.state.n_left, fill(session)
    stored = import_labels(session, sheet, "ann")
    assert stored.n_stored == len(pd.read_csv(sheet))
    assert session.state.n_left == budget, "the budget is for questions"
    assert not open_questions(session.folder, session.state)
    nights, proven = session.state.nights, prove(session)
    assert proven is not None
    assert proven.precision is not None
    kept = read_kept(session.folder, nights, ["name", "alarm"]).to_pylist()
    precision = np.mean([truth(row["name"]) == "anomaly" for row in kept if row["alarm"]])
    assert float(precision) in proven.precision
    assert proven.n_rows == 8 * N_NIGHT
    with pytest.raises(UnknownItemError):
        session.tell({"0123456789ab-1": "anomaly"})


def test_a_refit_learns_from_answers_and_keeps_the_share(session: Session, tmp_path: Path) -> None:
    for seed in range(1, 7):
        arrive(tmp_path, seed)
    watch(session, inbox(tmp_path))
    import_labels(session, fill(session), "ann")
    n_before, before = len(session.ids), session.state.fit
    comparison = refit(session)
    state = session.state
    assert comparison.n_labels == len(state.labels) - 10
    assert comparison.candidate is not None
    assert comparison.candidate > 0.9
    assert state.fit is not before
    assert state.fit is not None
    assert state.fit.comparison == comparison
    assert state.fit_is_current
    assert len(session.ids) <= n_before + len(state.labels)
    _, model = session.fitted()
    n_odd = sum(state.labels[item] for item in state.labels)
    assert n_odd / len(session.ids) > 0.08, "answered alarms are many in the pool"
    drawn = np.mean([truth(name) == "anomaly" for name in rows(0)["name"]])  # 8 %: answered alarms were not drawn
    assert abs(model.estimate.value - drawn) < 0.03, "and say nothing of the share"
    assert model.estimate.low < drawn < model.estimate.high
    arrive(tmp_path, 9)
    (night,) = watch(session, inbox(tmp_path)).nights
    assert 5 <= night.n_alarms <= 30


def test_nights_are_compared_with_the_pool_without_answered_alarms(session: Session, tmp_path: Path) -> None:
    """Each refit takes alarms into the pool: a quiet night that is compared with these, too, looks drifted."""
    for seed in range(1, 9):
        arrive(tmp_path, seed)
    watch(session, inbox(tmp_path))
    import_labels(session, fill(session), "ann")
    refit(session)
    state, place = session.state, session.folder
    selected = pool_of(place, state).selected
    assert selected is not None
    assert selected.sum() > 50
    scorer = session.scorer()
    n_above, n_rows = scorer.count_pool()
    assert n_rows == (~selected).sum()
    assert n_above / n_rows < scorer.model.alarms(scorer.pool_scores).mean() / 1.5
    arrive(tmp_path, 20, rows(20, n=3_000))
    watched = watch(session, inbox(tmp_path))
    assert watched.nights[0].moved == ()
    assert watched.verdict == "look"


@pytest.mark.parametrize("step", ["fit", "promote"])
def test_a_death_while_it_learns_loses_no_answer(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    import_labels(session, fill(session), "ann")
    before, answers = session.state.fit, dict(session.state.answers)
    with monkeypatch.context() as dying:
        dying.setattr(Session, step, die)
        with pytest.raises(KeyboardInterrupt):
            refit(session)
    with closing(open_session(tmp_path / "work")) as late:
        assert late.state.fit == before, "what scored goes on scoring"
        assert dict(late.state.answers) == answers
        assert refit(late).n_labels == len(late.state.labels) - 10
        assert late.state.fit_is_current


def test_alarms_come_back_with_the_columns_that_are_why(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    path = fill(session)
    sheet = pd.read_csv(path, dtype=str)
    sheet.loc[sheet["label"] == "anomaly", "because"] = "c; d"
    sheet.to_csv(path, index=False)
    import_labels(session, path, "ann")
    told = set(session.state.named)
    assert len(told) == (sheet["label"] == "anomaly").sum() > 0
    assert set(session.state.named.values()) == {("c", "d")}
    refit(session)
    place = session.folder
    learnt = pool_of(place, session.state).named
    assert {place.ids[row] for row in learnt} == told
    assert {columns.tolist() == [2, 3] for columns in learnt.values()} == {True}
    assert session.state.fits[-1].named is not None


def test_a_plain_fit_learns_from_watched_rows_as_well(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    n_pools = len(session.state.pools)
    assert main(["fit", str(tmp_path / "work")]) == 0
    assert len(session.state.pools) == n_pools, "nothing was answered"
    import_labels(session, fill(session), "ann")
    assert main(["fit", str(tmp_path / "work")]) == 0
    assert set(session.state.labels) <= set(session.ids)


def test_a_worse_candidate_does_not_score(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    import_labels(session, fill(session), "ann")
    before = session.state.fit
    monkeypatch.setattr("soel.session.refit.compare", lambda _: Comparison(12, 0.95, 0.7))
    assert not refit(session).is_promoted
    assert session.state.fit is before
    assert len(session.state.fits) == 2
    session.promote(2)
    assert session.state.fit is session.state.fits[1]
    session.promote(1)
    assert session.state.fit == before
    with pytest.raises(SessionError, match="no model 3"):
        session.promote(3)


def test_one_kind_of_label_compares_nothing(session: Session, tmp_path: Path) -> None:
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    kept = read_kept(session.folder, session.state.nights, ["alarm_id", "name"]).to_pylist()
    session.tell({row["alarm_id"]: "normal" for row in kept if truth(row["name"]) == "normal"})
    assert compare(session) == Comparison(0, None, None)


@pytest.mark.parametrize(
    ("pattern", "message"), [("inbox", "is a folder; name"), ("inbxo/*.csv", "inbxo does not exist")]
)
def test_a_pattern_that_can_match_nothing_is_refused(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str, message: str
) -> None:
    assert main(["watch", str(tmp_path / "work"), "--data", str(tmp_path / pattern)]) == 2
    assert message in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "work"), "--data", str(tmp_path / "inbox" / "*.csv")]) == 0, "a quiet night"


class Hook(BaseHTTPRequestHandler):
    received: list[dict[str, Any]]
    codes: list[int]
    wait = 0.0  # seconds before an answer

    def do_POST(self) -> None:
        time.sleep(self.wait)
        type(self).received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.codes.pop(0) if self.codes else 200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    class Own(Hook):
        received: list[dict[str, Any]] = []  # noqa: RUF012 - of this test alone
        codes: list[int] = []  # noqa: RUF012

    server = HTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Own, f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()


def test_each_group_of_alarms_is_told_once(session: Session, tmp_path: Path, hook: tuple[type[Hook], str]) -> None:
    told, url = hook
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    assert notify(session.folder, session.state.nights, url, "pumps", "http://page:8000/") == []
    for incident in told.received:
        links = [f"http://page:8000/watched?item={item}" for item in incident["items"][:5]]
        assert incident["links"] == links
        assert incident["text"].endswith(links[-1])
    n_alarms = sum(incident["n_alarms"] for incident in told.received)
    assert n_alarms == session.state.nights[0].n_alarms
    assert all(incident["text"].startswith("pumps: ") for incident in told.received)
    groups = [incident["group"] for incident in told.received]
    assert len(set(groups)) == len(groups)
    notify(session.folder, session.state.nights, url, "pumps")
    assert len(told.received) == len(groups)
    arrive(tmp_path, 2)
    watch(session, inbox(tmp_path))
    notify(session.folder, session.state.nights, url, "pumps")
    assert len({incident["group"] for incident in told.received}) == len(told.received), "a group is quiet for a day"


def test_an_address_that_fails_is_tried_again_later(
    session: Session, tmp_path: Path, hook: tuple[type[Hook], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, url = hook
    monkeypatch.setattr("soel.session.notify.time.sleep", lambda _: None)
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    (problem,) = notify(session.folder, session.state.nights, "http://127.0.0.1:9/", "pumps")
    assert "127.0.0.1 was not told" in problem
    told.codes += [503, 200]
    assert notify(session.folder, session.state.nights, url, "pumps") == []
    assert len(told.received) > 1
    with pytest.raises(ConfigError, match="http"):
        notify(session.folder, session.state.nights, "file:///etc/passwd", "pumps")


def test_a_slow_address_holds_nothing_up(
    session: Session, tmp_path: Path, hook: tuple[type[Hook], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, url = hook
    told.wait = 1.0
    monkeypatch.setattr("soel.session.notify.SECONDS", 0.1)
    monkeypatch.setattr("soel.session.notify.TRIES", 1)
    arrive(tmp_path, 1)
    watch(session, inbox(tmp_path))
    (problem,) = notify(session.folder, session.state.nights, url, "pumps")
    assert "timed out" in problem
    monkeypatch.setattr("soel.session.notify.SECONDS", 60.0)
    told.wait = 0.0
    assert notify(session.folder, session.state.nights, url, "pumps") == [], "the next run tells it"


def test_how_many_answers_make_a_refit_worth_it(session: Session) -> None:
    assert labels_until_due(session.state) == 10
    free = [item for item in session.ids if item not in session.state.labels]
    session.tell({item: truth(item) for item in free[:4]})
    assert labels_until_due(session.state) == 6


def test_the_command_line_says_how_it_is(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrive(tmp_path, 1)
    words = [
        "watch",
        str(tmp_path / "work"),
        "--data",
        f"{tmp_path}/inbox/*.csv",
        "--metrics",
        str(tmp_path / "m.prom"),
    ]
    assert main([*words, "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "look"
    assert said["n_alarms"] == session.state.nights[0].n_alarms
    assert f"soel_watch_alarms {said['n_alarms']:.1f}" in (tmp_path / "m.prom").read_text()
    assert main(words) == 0
    assert "Nothing new came in: fine." in (text := capsys.readouterr().out)
    assert "After 10 more labels a refit is worth it." in text
    arrive(tmp_path, 2, rows(2).assign(a=99.0))
    assert main(words) == 4
    (tmp_path / "inbox" / "empty.csv").write_bytes(b"")
    assert main(words) == 1
    assert "Not scored: empty.csv" in capsys.readouterr().out
    assert main(["tell", str(tmp_path / "work"), str(fill(session))]) == 0
    assert main([*words, "--refit", "auto"]) == 0
    assert "AUROC" in capsys.readouterr().out
    assert main(["models", str(tmp_path / "work"), "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [model["is_current"] for model in models] == [False, True]
    assert main(["models", str(tmp_path / "work"), "--promote", "1"]) == 0
    assert (session.folder.path / FOLDER).is_dir()
