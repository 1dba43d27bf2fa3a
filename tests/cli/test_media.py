"""Pictures from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.cli.arguments import Exit
from soel.images import __main__ as extractors, picture_pool
from soel.tables.rows import read_rows
from tests.cli.conftest import Run
from tests.images.makers import ColourExtractor, make_clip, make_folder


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: ColourExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))


def test_init_on_a_folder_says_what_was_chosen_and_left_out(run: Run, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "pictures", 8)
    (folder / "broken.jpg").write_bytes(b"x")
    said = run("init", tmp_path / "s", "--data", folder, "--budget", 3)
    assert said.code == 0, said.err
    assert "Features by efficientnet-lite2" in said.out
    assert "broken.jpg" in said.out
    assert run("ask", tmp_path / "s").code == 0
    assert "name" in (tmp_path / "s" / "round-0001.csv").read_text().splitlines()[0]


def test_strict_stops_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "pictures", 4)
    (folder / "broken.jpg").write_bytes(b"x")
    said = run("init", tmp_path / "s", "--data", folder, "--columns", "strict=yes")
    assert said.code == 2
    assert "broken.jpg" in said.err
    assert not (tmp_path / "s").exists()


def test_a_clip_thinned(run: Run, tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", 20)
    said = run("init", tmp_path / "s", "--data", clip, "--columns", "every=4", "--budget", 2, "--json")
    assert said.document["n_items"] == 5


def test_alarms_of_a_clip_come_as_events(run: Run, tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "a.mp4", 30)
    session = tmp_path / "s"
    assert run("init", session, "--data", clip, "--budget", 2).code == 0
    assert run("fit", session).code == 0
    (event,) = run("score", session, "--threshold", "alarms=30", "--json").document["intervals"]
    assert (event["start"], round(event["end"], 3), event["n_alarms"]) == (0, 2.9, 30)
    assert [row["n_alarms"] for row in read_rows(session / "scores.intervals.csv")] == ["30"]
    assert "They make 1 event," in run("score", session, "--threshold", "alarms=30").out


def test_scoring_names_every_picture_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    session, out = tmp_path / "s", tmp_path / "out.csv"
    assert run("init", session, "--data", make_folder(tmp_path / "pictures", 8), "--budget", 2).code == 0
    assert run("fit", session).code == 0
    new = make_folder(tmp_path / "new", 3)
    (new / "header.jpg").write_bytes(b"x")
    whole = (new / "plain" / "picture1.png").read_bytes()
    (new / "plain" / "cut.png").write_bytes(whole[: len(whole) // 2])
    said = run("score", session, "--data", new, "--out", out)
    assert said.code == Exit.INCOMPLETE
    assert "Not scored: header.jpg cannot be read (" in said.out
    assert "Not scored: plain/cut.png cannot be read (" in said.out
    document = run("score", session, "--data", new, "--out", out, "--json").document
    assert document["n_items"] == 3
    assert [file["name"] for file in document["left_out"]] == ["header.jpg", "plain/cut.png"]
    rows = read_rows(out)
    assert [(row["file"], row["score"]) for row in rows[3:]] == [("header.jpg", ""), ("cut.png", "")]
    assert all(row["left_out"] for row in rows[3:])
    assert not any(row["left_out"] for row in rows[:3])


def test_one_picture_is_scored(run: Run, tmp_path: Path) -> None:
    session, pictures = tmp_path / "s", make_folder(tmp_path / "pictures", 8)
    assert run("init", session, "--data", pictures, "--budget", 2).code == 0
    assert run("fit", session).code == 0
    said = run("score", session, "--data", pictures / "odd" / "picture0.png", "--json")
    assert said.code == Exit.DONE, said.err
    assert [row["file"] for row in said.document["top"]] == ["picture0.png"]
    (tmp_path / "broken.png").write_bytes(b"x")
    assert "broken.png" in run("score", session, "--data", tmp_path / "broken.png").err


def test_the_extractors_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert extractors.main(["list"]) == 0
    named = [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert named == ["efficientnet-lite2", "resnet152", "MODEL.onnx", "MODEL.onnx?pixels=unit"]


def test_exporting_an_unknown_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extractors.main(["export", "vgg", "--out", str(tmp_path / "a.onnx")]) == 2
    assert "torchvision:NAME" in capsys.readouterr().err
