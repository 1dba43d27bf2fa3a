"""A session lives on: data are added and corrected, and labels stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.errors import DataError, SchemaError
from soel.session import Session, SessionOptions, create
from soel.session.growth import add_data, remove_items
from soel.session.item_tables import read_items, readable_rows
from soel.session.score_file import score_file
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from tests.session.again import differing, repeat
from tests.session.pools.conftest import HEADER, more_rows


def test_added_rows_are_items_and_labels_stay(grown: Session) -> None:
    state, status = grown.state, grown.status()
    assert status.n_items == grown.config.n_items + 6
    assert grown.ids[-6:] == tuple(f"=n{row}" for row in range(100, 106))
    assert (status.n_labels, status.pool, state.pool.n_added) == (4, 2, 6)
    assert not state.fit_is_current
    assert status.next == "fit"
    table = read_items(grown.folder)
    assert table.ids.tolist() == list(grown.ids)
    assert table.frame.n_rows == status.n_items
    assert len(readable_rows(grown.folder, ["=n100", "=n0"])[1]) == 2


def test_features_of_known_items_are_taken_as_they_are(grown: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    n_items = grown.config.n_items
    np.testing.assert_array_equal(grown.folder.pool[:n_items], np.load(grown.folder.path / "features.npy"))
    encoded = list[int]()
    real = Encoder.encode

    def count(encoder: Encoder, frame: Frame) -> Any:
        encoded.append(frame.n_rows)
        return real(encoder, frame)

    monkeypatch.setattr(Encoder, "encode", count)
    add_data(grown, more_rows(grown.folder.path.parent / "april.csv", 3, first=200))
    assert encoded == [3]


def test_the_last_fit_still_scores_and_questions_are_about_all(grown: Session, tmp_path: Path) -> None:
    summary = score_file(grown, None, tmp_path / "scores.csv")
    assert summary["n_items"] == grown.status().n_items
    far = more_rows(tmp_path / "far.csv", 2, first=300, shift=50.0)
    add_data(grown, far)
    asked = grown.ask(4).items
    assert grown.state.pools_of(grown.state.rounds[-1]) == grown.state.pools
    assert len(grown.record(grown.state.rounds[-1]).scores) == grown.status().n_items
    assert len(grown.record(grown.state.rounds[0]).scores) == grown.config.n_items, "an old round saw the old pool"
    grown.tell(dict.fromkeys(asked, "normal"), "ann")
    grown.fit()
    assert grown.state.fit_is_current
    assert len(grown.learner.seen[-1]) == 2, "both rounds are evidence, on the newest one's pool"  # type: ignore[attr-defined]
    assert {len(each.scores) for each in grown.learner.seen[-1]} == {grown.status().n_items}  # type: ignore[attr-defined]
    assert grown.why(asked[0]).item == asked[0]
    assert grown.why(grown.state.rounds[0].asked[0].item).round == 1


def test_the_warm_up_is_made_again_for_the_grown_pool(grown: Session) -> None:
    assert grown.state.warm_up is None
    grown.fit()
    assert grown.state.warm_up is not None
    assert [event.kind for event in grown.events].count("warm-up") == 2


def test_every_step_comes_out_the_same_on_the_pool_as_it_was(grown: Session) -> None:
    asked = grown.ask(4).items
    grown.tell(dict.fromkeys(asked, "normal"), "ann")
    grown.fit()
    remove_items(grown, ["=n5"])
    grown.fit()
    kinds = [event.kind for event, _ in repeat(grown)]
    assert (kinds.count("warm-up"), kinds.count("round")) == (3, 2)
    assert differing(grown) == []


def test_ids_that_are_there_are_an_error_or_replaced(grown: Session, tmp_path: Path) -> None:
    item = grown.state.rounds[0].asked[0].item
    fixed = tmp_path / "fixed.csv"
    fixed.write_text(f"{HEADER}{item},1.5,2.5,3.5,0\n=n500,0.1,0.2,0.3,0\n")
    with pytest.raises(
        DataError, match=r"1 of the 2 ids of fixed\.csv are in the session already, such as.*replace=True"
    ):
        add_data(grown, fixed)
    before, kept = grown.state.labels[item], grown.status().n_items
    pool = add_data(grown, fixed, replace=True)
    assert (pool.n_added, pool.n_replaced, grown.status().n_items) == (1, 1, kept + 1)
    assert grown.state.labels[item] == before
    assert readable_rows(grown.folder, [item])[1][0][:3] == [1.5, 2.5, 3.5]
    row = grown.ids.index(item)
    assert not np.array_equal(grown.folder.pool[row], grown.folder.part(2).pool[row])


def test_a_file_that_reads_differently_is_an_error_naming_the_column(grown: Session, tmp_path: Path) -> None:
    columns = HEADER.strip().split(",")
    odd = tmp_path / "odd.csv"
    odd.write_text(f"{HEADER}=n900,high,0.2,0.3,0\n")
    with pytest.raises(SchemaError, match=columns[1]):
        add_data(grown, odd)
    odd.write_text(f"{columns[0]},{columns[1]},{columns[2]}\n=n900,1,2\n")
    with pytest.raises(SchemaError, match=columns[3]):
        add_data(grown, odd)
    assert grown.status().pool == 2, "nothing was changed"
    assert len(list((grown.folder.path / "pools").iterdir())) == 1


def test_rows_without_ids_count_on_and_are_the_same_only_if_that_is_said(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{a},{b}\n" for a, b in np.random.default_rng(0).normal(size=(30, 2)).round(2)]
    first.write_text("x,y\n" + "".join(rows))
    second.write_text("x,y\n" + rows[0] + "7.5,8.5\n")
    session = create.create_session(tmp_path / "s", first, SessionOptions(budget=5))
    with pytest.raises(DataError, match=r"All of a\.csv is in the session already"):
        add_data(session, first)
    assert add_data(session, second, replace=True).n_added == 1
    assert add_data(session, tmp_path / "b.csv", replace=True).n_added == 0
    third = tmp_path / "c.csv"
    third.write_text("x,y\n" + rows[0] + rows[0] + "9.5,8.5\n")
    assert add_data(session, third).n_added == 3
    digest = session.ids[0].rpartition("-")[0]
    assert [item for item in session.ids if item.startswith(digest)] == [f"{digest}-{turn}" for turn in range(3)]
    assert read_items(session.folder).ids.tolist() == list(session.ids)
    session.close()


def test_the_events_say_what_changed(grown: Session) -> None:
    event = next(event for event in grown.events if event.kind == "pool")
    assert event.who == "owner"
    assert event.body["pool"]["data"] == "march.csv"
    assert json.loads(json.dumps(event.body["pool"]["digests"])).keys() >= {"ids.json", "features.npy", "source.csv"}
