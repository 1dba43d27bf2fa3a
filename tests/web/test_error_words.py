"""The errors that files cause most often come in the language of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.errors import SoelError
from soel.tables.encoder import Encoder
from soel.tables.frame import read_frame
from soel.tables.open import read_table
from soel.tables.read_options import ReadOptions
from soel.text import ENGLISH, texts_in
from soel.web.sentences import error_words
from tests.web.conftest import Page
from tests.web.test_data_page import UPLOAD, send
from tests.web.test_texts import client_in

NUMBERS = "\n".join(f"{row}.5" for row in range(30))
FILES = {
    "words.csv": f"a\n{NUMBERS}\nhuge\n",
    "dates.csv": "a\n31.12.2024\n30.12.2024\nsoon\n",
    "orders.csv": "a\n31.12.2024\n12/31/2024\n",
    "twice.csv": "id,a\n1,2\n1,3\n",
    "gap.csv": "id,a\n1,2\n,3\n",
    "none.csv": "",
    "short.csv": "a,b,c\n1,2,3\n4,5\n6,7,8\n9,1,2\n",
    "book.pdf": "nothing",
}


@pytest.mark.parametrize("language", ["de", "fr"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_is_told_in_the_language(tmp_path: Path, name: str, language: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    with pytest.raises(SoelError) as refused:
        read_table(tmp_path / name, "id" if name in ("twice.csv", "gap.csv") else None)
    said = str(refused.value)
    words = error_words(said, texts_in(language))
    assert words != said
    assert name in words
    assert error_words(said, ENGLISH) == said


@pytest.mark.parametrize(
    ("options", "id_column"),
    [(ReadOptions(numeric=("b",)), None), (ReadOptions(time=("b",)), None), (ReadOptions(), "pump")],
)
def test_a_wrong_choice_is_told_in_the_language(tmp_path: Path, options: ReadOptions, id_column: str | None) -> None:
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{row},{'xyz'[row % 3]}\n" for row in range(30)))
    with pytest.raises(SoelError) as refused:
        read_table(tmp_path / "a.csv", id_column, options=options)
    assert error_words(str(refused.value), texts_in("de")).count("Spalte") >= 1


def test_new_rows_that_read_otherwise_are_told_in_the_language() -> None:
    pool = read_frame(_frame(["1,5", "2,5", "3,5"]))
    encoder = Encoder.fit(pool, "standard")
    with pytest.raises(SoelError) as refused:
        read_frame(_frame(["1.5", "2.5", "x"]), schema=encoder.how)
    assert "zuvor '1,5'" in error_words(str(refused.value), texts_in("de"))
    with pytest.raises(SoelError) as refused:
        encoder.encode(read_frame(_frame(["1,5", "2,5", "3,5"], "other"), schema=encoder.how))
    assert "nicht die der ersten Daten: other (neu), b (fehlt)" in error_words(str(refused.value), texts_in("de"))


def test_what_is_not_known_stays_in_english() -> None:
    assert error_words("The moon is full. Wait.", texts_in("de")) == "The moon is full. Wait."


def test_the_page_answers_in_the_language(page: Page) -> None:
    send(page, b"nothing,here\n1,2\n", "labels.csv")
    german = client_in(page, **{"accept-language": "de", "origin": "http://127.0.0.1:8000"})
    said = german.post("/api/labels", json={"upload": UPLOAD}).json()["error"]
    assert "fehlt die Spalte" in said


def _frame(cells: list[str], name: str = "b") -> object:
    import pandas as pd

    return pd.DataFrame({"a": np.arange(float(len(cells))), name: cells})
