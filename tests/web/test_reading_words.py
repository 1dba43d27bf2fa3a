"""What a reading says of columns comes in the language of the page, without what to type on a command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.tables.look import look_at
from soel.tables.schema import Schema, notes_of
from soel.text import ENGLISH, texts_in
from soel.web.prepare import ColumnQuestion, ask_about
from soel.web.sentences import reading_words

COLUMNS = {
    "code": [f"{row % 7:04d}" for row in range(60)],
    "nr": [str(row) for row in range(60)],
    "huge": [str(2**60 + 999 * row) for row in range(60)],
    "who": [f"{'abcdefghij'[row // 10]} {'abcdefghij'[row % 10]}x" for row in range(60)],
    "one": ["x"] * 60,
    "none": [""] * 60,
    "few": ["1.5" if row == 3 else "2" if row == 4 else "" for row in range(60)],
    "target": [str(int(row > 40)) for row in range(60)],
    "day": [f"0{1 + row % 9}/0{1 + row % 5}/2024" for row in range(60)],
    "odd unit": [f"{row} blup" for row in range(60)],
    "money": [f"{row} {'EUR' if row % 2 else 'USD'}" for row in range(60)],
    "some": [f"{row} kg" if row % 2 else f"{row}" for row in range(60)],
    "limit": [f"{'<' * (row == 5)}{row}.5" for row in range(60)],
    "sign": [f"{1 + row % 9},{100 + row}" for row in range(60)],
    "gone": ["-999" if row % 20 == 7 else f"{row}.5" for row in range(60)],
    "again": ["x" if row % 3 else "y" for row in range(60)],
    "twin": ["x" if row % 3 else "y" for row in range(60)],
    "name": [f"{chr(97 + row % 26)}{chr(97 + row // 26)}{'z' * (row % 5)}" for row in range(60)],
}


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    path = tmp_path_factory.mktemp("read") / "a.csv"
    rows = "\n".join(";".join(row) for row in zip(*COLUMNS.values(), strict=True))
    path.write_bytes(f"Größe der Pumpen\n\n{';'.join(COLUMNS)}\n{rows}\n\n".encode("windows-1252"))
    return look_at(path)


def sentences(reading: Schema) -> list[str]:
    doubts = [each.doubt for each in reading.doubtful]
    return [*doubts, *(odd for each in reading.columns for odd in each.seen.oddities), *reading.layout.notes]


def test_the_table_has_doubts_of_many_kinds(reading: Schema) -> None:
    assert len({words[:12] for words in sentences(reading)}) >= 14


@pytest.mark.parametrize("language", ["de", "fr"])
def test_every_sentence_is_translated(reading: Schema, language: str) -> None:
    texts = texts_in(language)
    for sentence in sentences(reading):
        words = reading_words(sentence, texts)
        assert words != reading_words(sentence, ENGLISH), sentence
        assert "--" not in words


def test_what_is_not_known_stays_as_it_is() -> None:
    assert reading_words("it is green; <<paint>> changes it", texts_in("de")) == "it is green"


def test_what_was_left_out_of_a_file_is_asked_about(reading: Schema) -> None:
    question = ask_about(None, reading)  # type: ignore[arg-type]
    assert isinstance(question, ColumnQuestion)
    notes = [reading_words(note, texts_in("de")) for note in notes_of(question.reading)]
    assert "Vor der Tabelle weggelassen: 'Größe der Pumpen'." in notes


def test_a_share_of_empty_cells_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{row},{row if row < 2 else ''}\n" for row in np.arange(60)))
    odd = [odd for each in look_at(path).columns for odd in each.seen.oddities]
    assert "meist leer: 97 % der Zellen fehlen" in [reading_words(each, texts_in("de")) for each in odd]
