from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from soel.errors import ConfigError, DataError, LabelError, SessionError, UnknownItemError
from soel.oracle import SimulatedExpert
from soel.session import Answer, Session
from soel.session.labelling import OverwrittenError, version_of
from soel.settings import PAPER
from soel.types import Kind, Verdict
from tests.session.conftest import IDS, N_ITEMS, TRUTH, MakeSession
from tests.session.fake_learner import FakeLearner, calls_of


def settings(strategy: str) -> dict[str, object]:
    return PAPER.with_parts(strategy=strategy).settle(Kind.TABLE, 3).to_json()


def finish_round(session: Session, n: int | None = None) -> None:
    session.tell(SimulatedExpert(TRUTH).answer(session.ask(n).items))


def test_ask_writes_the_round_before_it_shows_it(session: Session) -> None:
    asked = session.ask(5)
    (stored,) = session.state.rounds
    assert asked.items == tuple(draw.item for draw in stored.asked)
    assert (asked.round, asked.drawn, len(stored.asked), len(stored.reserve)) == (1, True, 5, 10)
    assert len({draw.item for draw in stored.draws}) == 15
    assert all(0 < draw.odds <= 1 for draw in stored.draws)
    assert stored.model.folder == "models/warm-up"
    assert len(stored.model.fingerprint) == 16
    record = session.record(stored)
    scores = [record.scores[IDS.index(draw.item)] for draw in stored.draws]
    assert scores == pytest.approx([draw.score for draw in stored.draws])


def test_asking_again_shows_the_open_round(session: Session, make_session: MakeSession) -> None:
    asked = session.ask(5)
    again = make_session().ask(9)
    assert (again.items, again.round, again.drawn) == (asked.items, 1, False)
    with pytest.raises(DataError, match="At least one"):
        session.ask(0)
    assert len(session.state.rounds) == 1


def test_the_same_seed_asks_the_same_and_another_seed_others(make_session: MakeSession) -> None:
    first, same, other = (make_session(f"s{i}", seed=seed).ask(8).items for i, seed in enumerate((1, 1, 2)))
    assert first == same != other


def test_a_skip_brings_the_next_reserve_item(session: Session) -> None:
    asked = session.ask(3)
    session.tell({asked.items[0]: "skip"})
    reserve = session.state.rounds[0].reserve
    assert session.ask().items == (*asked.items[1:], reserve[0].item)


def test_labels_are_there_for_another_process_when_tell_returns(session: Session, make_session: MakeSession) -> None:
    session.tell({"item 3": "anomaly", "item 9": "n"})
    assert make_session().state.labels == {"item 3": 1, "item 9": 0}


def test_tell_and_status_need_no_learner(make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make_session()

    monkeypatch.setattr("soel.session.session.make_learner", None)
    session.tell({"item 3": "anomaly"})
    session.undo()
    assert session.status().next == "ask"


def test_unknown_items_are_named_and_nothing_is_stored(session: Session) -> None:
    with pytest.raises(UnknownItemError, match="'nobody'"):
        session.tell({"item 3": "anomaly", "nobody": "normal"})
    assert session.state.answers == {}


def test_an_item_answered_two_ways_at_once_is_refused(session: Session) -> None:
    with pytest.raises(LabelError, match="anomaly and normal at once"):
        session.tell([Answer("item 3", Verdict.ANOMALY), Answer("item 3", Verdict.NORMAL)])
    assert session.state.answers == {}


def test_unknown_codes_are_refused(session: Session) -> None:
    with pytest.raises(LabelError, match="'maybe' is not an answer"):
        session.tell({"item 3": "maybe"})


def test_telling_the_same_twice_stores_it_once(session: Session) -> None:
    session.ask(3)
    told = session.tell({"item 3": "anomaly"})
    again = session.tell({"item 3": "a"})
    assert (told.n_stored, again.n_stored, again.n_repeated) == (1, 0, 1)
    assert session.tell([Answer("item 3", Verdict.ANOMALY, "look here")]).n_stored == 1
    assert session.state.answers["item 3"].note == "look here"


def test_undo_without_an_answer_is_an_error(session: Session) -> None:
    session.tell({"item 3": "anomaly"}, who="ann")
    with pytest.raises(SessionError, match="'expert' has no answer"):
        session.undo()
    session.undo("ann")
    assert session.state.labels == {}


def test_undo_by_number_takes_back_that_answer_once(session: Session) -> None:
    session.tell({"item 3": "anomaly"})
    first = session.state.undoable["expert"].number
    session.tell({"item 9": "normal"})
    with pytest.raises(SessionError, match="is not the newest answer"):
        session.undo(event=first)
    newest = session.state.undoable["expert"].number
    assert session.undo(event=newest) == "item 9"
    with pytest.raises(SessionError, match="taken back already"):
        session.undo(event=newest)
    assert session.state.labels == {"item 3": 1}


def test_a_corrected_verdict_keeps_the_note(session: Session) -> None:
    session.tell([Answer("item 3", Verdict.ANOMALY, "scratch")])
    session.tell({"item 3": "normal"})
    assert [note.text for note in session.state.notes_of("item 3")] == ["scratch"]
    session.tell([Answer("item 3", Verdict.NORMAL, "")])
    assert session.state.notes_of("item 3") == ()


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [(0, DataError, "At least one"), (-1, DataError, "At least one"), (21, SessionError, "budget leaves 20")],
)
def test_impossible_numbers_of_questions(session: Session, n: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        session.ask(n)
    assert session.state.rounds == ()


def test_a_used_up_budget_asks_nothing_more(make_session: MakeSession) -> None:
    session = make_session(budget=4)
    finish_round(session)
    assert session.status().n_left == 0
    with pytest.raises(SessionError, match="budget of 4 labels is used up"):
        session.ask()


def test_more_questions_than_items_left(make_session: MakeSession) -> None:
    session = make_session(budget=N_ITEMS)
    session.tell(dict.fromkeys(IDS[:57], "skip"))
    session.tell(dict.fromkeys(IDS[:57], "unsure"))
    with pytest.raises(SessionError, match="only 3 can still be asked"):
        session.ask(4)


def test_the_whole_pool_can_be_asked(make_session: MakeSession) -> None:
    session = make_session(budget=N_ITEMS)
    for _ in range(6):
        finish_round(session, 10)
    assert session.state.labels == TRUTH


def test_items_set_aside_wait_for_the_end_of_the_queue(make_session: MakeSession) -> None:
    session = make_session(budget=N_ITEMS)
    session.tell(dict.fromkeys(IDS[:5], "skip"))
    session.tell(dict.fromkeys(IDS[5:50], "normal"))
    first = session.ask(10)
    assert set(first.items) == set(IDS[50:]), "all others are asked before those set aside"
    session.tell(dict.fromkeys(first.items, "normal"))
    last = session.ask(5)
    assert set(last.items) == set(IDS[:5])
    session.tell(dict.fromkeys(last.items, "skip"))
    with pytest.raises(SessionError, match="nothing left to ask"):
        session.ask(1)


def test_every_fit_restarts_from_the_one_warm_up(session: Session) -> None:
    finish_round(session, 6)
    session.fit()
    session.fit()
    assert calls_of(session).count("prepare") == 1


def test_a_lost_or_damaged_warm_up_is_made_again(session: Session) -> None:
    finish_round(session, 6)
    first = session.state.warm_up
    assert first is not None
    (session.folder.path / first.folder / "manifest.json").unlink()
    session.fit()
    again = session.state.warm_up
    assert again is not None
    assert again.fingerprint == first.fingerprint
    assert session.status().fit_is_current


def test_later_rounds_query_with_the_newest_model(session: Session) -> None:
    finish_round(session, 6)
    fitted = session.fit()
    finish_round(session, 6)
    assert session.state.rounds[1].model == fitted.model
    assert session.state.rounds[1].seed == (7, 6)  # the seed, and six labels known


def test_the_estimate_uses_each_label_once_with_the_pool_of_its_round(session: Session) -> None:
    finish_round(session, 6)
    session.fit()
    finish_round(session, 6)
    drawn = {draw.item for each in session.state.rounds for draw in each.draws}
    session.tell({next(item for item in IDS if item not in drawn): "normal"})  # nobody asked about it
    session.fit()
    assert isinstance(session.learner, FakeLearner)
    first, second = session.learner.seen[-2]
    rounds = session.state.rounds
    assert [IDS[row] for row in first.rows] == [draw.item for draw in rounds[0].asked]
    assert [IDS[row] for row in second.rows] == [draw.item for draw in rounds[1].asked]
    assert not set(first.rows) & set(second.rows)
    assert not np.array_equal(first.scores, second.scores)
    assert first.labels.tolist() == [TRUTH[IDS[row]] for row in first.rows]


def test_a_fit_is_current_until_a_label_changes(session: Session) -> None:
    finish_round(session, 6)
    assert session.status().next == "fit"
    session.fit()
    assert session.status().fit_is_current
    session.undo()
    assert not session.status().fit_is_current


@pytest.mark.parametrize(
    ("answers", "note"),
    [
        ({}, "Nothing was labelled"),
        ({"item 1": "anomaly"}, "All labels say anomaly"),
        ({"item 20": "normal"}, "All labels say normal"),
        ({"item 1": "anomaly", "item 20": "normal"}, ""),
    ],
)
def test_labels_of_one_kind_are_learned_from_with_a_note(session: Session, answers: dict[str, str], note: str) -> None:
    session.tell(answers)
    fitted = session.fit()
    assert fitted.note.startswith(note)
    assert bool(fitted.note) == bool(note)


def test_score_ranks_the_pool_and_new_rows(session: Session) -> None:
    finish_round(session, 10)
    session.fit()
    scored = session.score()
    order = np.argsort(scored.ranks)
    assert sorted(scored.ranks) == list(range(1, N_ITEMS + 1))
    assert (np.diff(scored.scores[order]) <= 0).all()
    assert {IDS[row] for row in order[:8]} == set(IDS[:8])
    far = session.score(np.full((2, 3), 50.0), ["x", "y"])
    assert (far.ids, far.ranks.tolist(), far.alarms.tolist()) == (("x", "y"), [1, 2], [True, True])
    assert session.score(rule="share=0.5").alarms.sum() == N_ITEMS / 2


def test_scoring_needs_a_fit_and_whole_arguments(session: Session) -> None:
    with pytest.raises(SessionError, match="has no fitted model yet; fit before scoring"):
        session.score()
    session.fit()
    with pytest.raises(SessionError, match="belong together"):
        session.score(np.zeros((1, 3)))


def test_a_strategy_that_needs_the_share_gets_it(make_session: MakeSession) -> None:
    lost = make_session("lost", settings=settings("margin"))
    with pytest.raises(ConfigError, match="Margin needs the share of anomalies"):
        lost.ask(3)
    assert make_session("given", settings=settings("margin"), contamination=0.1).ask(3).drawn
    lost.tell({"item 1": "anomaly", "item 20": "normal"})
    lost.fit()
    assert lost.ask(3).drawn


def test_gradients_are_asked_with_the_share_and_the_record_keeps_embeddings(
    make_session: MakeSession,
) -> None:
    session = make_session(settings=settings("gradient-diverse"), contamination=0.1)
    session.ask(3)
    record = session.record(session.state.rounds[0])
    np.testing.assert_array_equal(record.embeddings, np.asarray(session.folder.pool, np.float32))


def test_a_changed_record_is_refused(session: Session) -> None:
    finish_round(session, 4)
    (stored,) = session.state.rounds
    path = session.folder.rounds / stored.record
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SessionError, match="not the file that the round recorded"):
        session.fit()
    path.unlink()
    with pytest.raises(SessionError, match="restore it"):
        session.fit()
    assert len(session.state.labels) == 4, "nothing told is lost"


def test_a_folder_left_by_a_crash_is_not_overwritten(session: Session) -> None:
    orphan = session.folder.path / "models" / "warm-up"
    orphan.mkdir(parents=True)
    session.ask(3)
    assert session.state.warm_up is not None
    assert session.state.warm_up.folder == "models/warm-up-2"
    assert list(orphan.iterdir()) == []


def test_a_copied_folder_is_the_session(session: Session, make_session: MakeSession, tmp_path: Path) -> None:
    finish_round(session, 6)
    session.fit()
    session.close()
    shutil.copytree(session.folder.path, tmp_path / "copy")
    copy = make_session("copy")
    assert (copy.state.rounds, copy.state.answers) == (session.state.rounds, session.state.answers)
    assert copy.state.fit == session.state.fit is not None
    assert copy.score().scores.tolist() == session.score().scores.tolist()


def test_processes_that_ask_at_once_show_the_same_round(make_session: MakeSession) -> None:
    sessions = [make_session() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda session: session.ask(5), sessions))
    assert len({answer.items for answer in asked}) == 1
    assert len(sessions[0].state.rounds) == 1


def test_a_guideline_that_was_changed_meanwhile_is_not_overwritten(session: Session) -> None:
    session.write_guidelines("one", version_of(""))
    with pytest.raises(OverwrittenError, match="nothing was stored"):
        session.write_guidelines("another", version_of(""))
    assert session.guidelines == "one"
