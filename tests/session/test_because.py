"""Columns that annotators name beside an answer: stored with it, taken back with it, in files, blind, learnt from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.errors import LabelError
from soel.session import Answer, Session
from soel.session.events import join_names, read_names
from soel.session.labels import export_labels, import_labels, take_labels
from soel.session.pool_records import pool_of
from soel.tables.rows import read_rows, write_rows
from soel.types import Verdict
from soel.web.auth import view_for
from tests.session.conftest import MakeSession
from tests.table_session import Make, make

__all__ = ["make"]


def say(session: Session, item: str, *names: str, verdict: Verdict = Verdict.ANOMALY, who: str = "ann") -> None:
    session.tell([Answer(item, verdict, because=names)], who)


def named(session: Session, item: str) -> tuple[str, ...]:
    return session.state.answers[item].because


def test_names_are_kept_with_the_answer_and_go_with_it(make: Make) -> None:
    session = make()
    item, name = session.ids[0], columns(session)[0]
    say(session, item, name)
    assert session.state.named == {item: (name,)}
    assert session.tell([Answer(item, Verdict.ANOMALY)], "ann").n_stored == 0, "says nothing new"
    session.tell([Answer(item, Verdict.ANOMALY, "odd")], "ann")
    assert named(session, item) == (name,), "a note leaves them"
    say(session, item)
    assert named(session, item) == ()
    session.undo("ann")
    assert named(session, item) == (name,)
    session.tell([Answer(item, Verdict.NORMAL)], "ann")
    assert named(session, item) == (), "they were said of an anomaly"


def columns(session: Session) -> list[str]:
    from soel.session.item_tables import read_encoder

    return list(read_encoder(session.folder).used_columns)


def test_a_model_that_did_not_know_the_names_is_stale(make: Make) -> None:
    session = make()
    item = session.ids[0]
    session.tell([Answer(item, Verdict.ANOMALY)], "ann")
    before = session.state.labels_digest
    say(session, item, columns(session)[0])
    assert session.state.labels_digest != before


def test_the_names_that_count_are_those_of_who_says_what_holds(make: Make) -> None:
    session = make(answers_per_item=3)
    first, second = columns(session)[:2]
    item = session.ids[0]
    say(session, item, first, who="ann")
    say(session, item, second, verdict=Verdict.NORMAL, who="bob")
    say(session, item, second, who="eve")
    assert named(session, item) == (first, second)
    assert view_for(session.state, "ann").answers[item].because == (first, second)
    other = session.ids[1]
    say(session, other, first, who="bob")
    assert view_for(session.state, "ann").named == {item: (first, second)}, "blind before an own answer"


def test_a_column_that_is_not_there_is_refused_with_its_item(make: Make, make_session: MakeSession) -> None:
    session = make()
    with pytest.raises(LabelError, match=f"'{session.ids[0]}' names the columns 'colour'"):
        say(session, session.ids[0], "colour")
    assert not session.state.answers


@pytest.mark.parametrize("form", ["labels.csv", "labels.json", "labels.xlsx", "label-studio.json"])
def test_files_of_labels_hold_them(make: Make, tmp_path: Path, form: str) -> None:
    session, again = make("one"), make("two")
    names = columns(session)[:2]
    say(session, session.ids[0], *names)
    session.tell([Answer(session.ids[1], Verdict.NORMAL)], "ann")
    path, _ = export_labels(session, "label-studio" if "studio" in form else None, tmp_path / form)
    assert import_labels(again, path).n_stored == 2
    assert again.state.named == {session.ids[0]: tuple(names)}
    assert take_labels(make("three"), session.folder.path).n_stored == 2


def test_a_file_of_scores_comes_back_with_them(make: Make, tmp_path: Path) -> None:
    session = make()
    header = ["id", "rank", "score", "alarm", "label", "who", "because"]
    name = columns(session)[0]
    write_rows(tmp_path / "scores.csv", header, [[session.ids[3], 1, 2.5, "yes", "anomaly", "ann", f" {name} ;"]])
    import_labels(session, tmp_path / "scores.csv")
    assert named(session, session.ids[3]) == (name,)
    import_labels(session, tmp_path / "scores.csv")
    assert len([event for event in session.events if event.kind == "label"]) == 1
    assert read_rows(tmp_path / "scores.csv")


def test_text_holds_any_names() -> None:
    names = ("a;b", 'say "x"', "c d")
    assert read_names(join_names(names)) == names
    assert read_names(" amount; hour ;") == ("amount", "hour")
    assert read_names("") == ()
    with pytest.raises(LabelError, match="separated by"):
        read_names(7)


def test_a_fit_learns_from_the_features_of_named_columns(make: Make) -> None:
    session = make()
    item, name = session.ids[2], columns(session)[1]
    say(session, item, name)
    pool = pool_of(session.folder, session.state)
    from soel.session.item_tables import read_encoder

    encoder = read_encoder(session.folder)
    assert set(pool.named) == {2}
    assert {encoder.used_columns[encoder.column_of[at]] for at in pool.named[2]} == {name}
    assert not pool_of(session.folder).named
    session.fit()
    fit = session.state.fit
    assert fit is not None
    assert fit.named is not None
    assert (fit.named.n_answers, fit.named.n_moved) == (1, 0), "this learner heeds no names, and that is said"
    assert "would be the same without them" in str(fit.named.message)
    assert np.isfinite(fit.named.n_alarms)
