"""Readers of what soel itself wrote: sessions, models, files of labels, sheets of answers."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.web.sample_data import write_pumps

from benchmarks.fuzz.mutation import edited, edited_json
from benchmarks.fuzz.target import Build, Step, Target, one_file, put_file
from soel.cli.sheet import tell_sheet, write_sheet
from soel.model_folder import load_model
from soel.session import Session, SessionOptions, create, score_file
from soel.session.check import check_session
from soel.session.folder import CHECKED
from soel.session.labels import FORMATS, export_labels, import_labels
from soel.session.store import digest_of
from soel.settings import DEFAULT
from soel.types import Verdict
from soel.web.launch import view_of

SCHEDULE = replace(DEFAULT.tables, epochs=1, warm_up_epochs=1)
PROFILE = replace(DEFAULT, name="quick", n_members=1, tables=SCHEDULE)
N_ITEMS, N_ASKED = 40, 4
DATABASE = "events.sqlite"


def make_session(folder: Path) -> Path:
    """A session with two rounds of answers, a note, a decision and a fit."""
    table = folder / "pumps.csv"
    write_pumps(table, N_ITEMS, 4)
    options = SessionOptions(id_column="pump", profile=PROFILE, budget=2 * N_ASKED)
    with closing(create.create_session(folder / "session", table, options)) as session:
        for number in range(2):
            items = session.ask(N_ASKED).items
            session.tell({item: Verdict.ANOMALY if at == 0 else Verdict.NORMAL for at, item in enumerate(items)}, "ann")
            if number == 0:
                session.fit()
        session.note(items[0], "sure", "ann")
        session.decide(items[1], Verdict.ANOMALY, "ann")
    return folder / "session"


@contextmanager
def _opened(folder: Path) -> Iterator[Session]:
    with closing(create.open_session(folder)) as session:
        yield session


def _use(folder: Path, step: Callable[[Session], object]) -> Step:
    def use(_changed: Path) -> object:
        with _opened(folder) as session:
            return step(session)

    return use


def _export(session: Session) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for form, name in FORMATS.items():
            export_labels(session, form, Path(scratch) / name)


def _score(session: Session) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        score_file.score_file(session, None, Path(scratch) / "scores.csv")


def _show(session: Session) -> None:
    """As the page does: a card, and what it is near to."""
    view, item = view_of(session), session.ids[0]
    view.card(item, session.state.labels)


def _explain(session: Session) -> None:
    for drawn in session.state.rounds:
        session.why(drawn.asked[0].item)
    session.evidence()


def _session(folder: Path) -> Target:
    place = make_session(folder)
    files = {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file() and path.suffix != ".lock"}
    files = {path: content for path, content in files.items() if content and path.name != CHECKED}
    steps = (lambda session: session.status(), _export, _show, _explain, _score)
    return Target(
        files,
        (*(_use(place, step) for step in steps), lambda _: check_session(place)),
        st.sampled_from(list(files)).flatmap(partial(_changed, files)),
        put_file,
        mend=lambda: _mend_session(place),
        names=(place.name, *(path.name for path in files)),
    )


def _changed(files: Mapping[Path, bytes], path: Path) -> st.SearchStrategy[tuple[Path, bytes]]:
    """A file with other content: JSON is changed as JSON, else bytes are."""
    if path.suffix == ".json":
        content = edited_json(json.loads(files[path])).map(lambda document: json.dumps(document).encode())
    else:
        content = edited(files[path])
    return st.tuples(st.just(path), content)


def _mend_session(place: Path) -> None:
    """Write the digests of files and events as they are now, and seal the config again, as somebody hostile would."""
    (place / CHECKED).unlink(missing_ok=True)
    _mend_events(place / DATABASE)
    for manifest in place.glob("models/*/manifest.json"):
        _mend_model(manifest.parent)
    try:
        config = json.loads((place / "config.json").read_bytes())
        digests = {name: _sha256(place / name) for name in config["digests"]}
    except (ValueError, LookupError, TypeError, OSError):
        return
    config["digests"] = digests
    config.pop("seal", None)
    plain = json.dumps(config, sort_keys=True, ensure_ascii=False)
    seal = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()
    (place / "config.json").write_text(json.dumps(config | {"seal": seal}))


def _mend_events(path: Path) -> None:
    """Give every event the digest of what it says now; a file that is no database any more stays as it is."""
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.Error):
        rows = connection.execute("SELECT number, at, kind, who, item, body FROM events").fetchall()
        digests = [(digest_of(*row), row[0]) for row in rows]
        connection.executemany("UPDATE events SET digest = ? WHERE number = ?", digests)
        connection.commit()


def _mend_model(folder: Path) -> None:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        digest = _sha256(folder / "weights.safetensors")
        text = json.dumps(manifest["content"], sort_keys=True)
    except (ValueError, LookupError, TypeError, OSError):
        return
    seal = hashlib.sha256((digest + text).encode("utf-8", "replace")).hexdigest()[:16]
    (folder / "manifest.json").write_text(json.dumps(manifest | {"weights_sha256": digest, "fingerprint": seal}))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _model(folder: Path) -> Target:
    place = next((make_session(folder) / "models").glob("fit-*"))
    files = {path: path.read_bytes() for path in place.iterdir()}

    def use(_changed: Path) -> None:
        saved = load_model(place)
        saved.fitted.score(np.zeros((2, saved.encoder.n_features), np.float32))

    return Target(
        files,
        (use,),
        st.sampled_from(list(files)).flatmap(partial(_changed, files)),
        put_file,
        mend=lambda: _mend_model(place),
        names=(place.name,),
    )


def _labels(form: str) -> Build:
    def build(folder: Path) -> Target:
        place, path = make_session(folder), folder / FORMATS[form]
        with _opened(place) as session:
            export_labels(session, form, path)
        use = _on(create.open_session(place), import_labels)
        if path.suffix != ".json":
            return one_file(path, use)
        made = edited_json(json.loads(path.read_bytes()))
        return one_file(path, use, made.map(lambda document: json.dumps(document).encode()))

    return build


def _sheet(folder: Path) -> Target:
    session = create.open_session(make_session(folder))
    path = folder / "round.csv"
    write_sheet(session, session.ids[:6], path)
    path.write_text(path.read_text().replace(",,,", ",normal,why,", 2))
    return one_file(path, _on(session, lambda open_one, file: tell_sheet(open_one, file, "ann")))


def _on(session: Session, use: Callable[[Session, Path], Any]) -> Callable[[Path], object]:
    return lambda path: use(session, path)


READERS: Mapping[str, Build] = {
    "session": _session,
    "model": _model,
    **{FORMATS[form]: _labels(form) for form in FORMATS},
    "sheet": _sheet,
}
