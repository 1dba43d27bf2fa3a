"""The page's texts: all in one place, in every language, and in words a domain expert uses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import soel.web
from soel.text import ENGLISH, LANGUAGES, Entry, texts_in
from tests.web.conftest import ORIGIN, Page

PLACE = Path(soel.web.__file__).parent
KEY = re.compile(r"""\b(?:t|Message|of)\(\s*f?["'`]([a-z_.]+\.[a-z_]*[a-z]|saving|saved)["'`]""")
MADE_UP = (  # keys that are put together: t(`work.${what}`) and the like
    "verdict.", "said.", "work.", "preparing.", "items.", "advice.", "agreement.", "column.", "columns.", "mark.",
    "reading.n_", "form.", "check.",
)  # fmt: skip
JARGON = ("cover radius", "odds", "spearman", "contamination", "kappa", "auroc", "wholes", "epoch", "embedding")
SENTENCE = re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}|^[A-Z][a-z]+ [a-z]+")
PLACES = re.compile(r"\{(\w+(?::\w+)?)\}")


def sources() -> dict[str, str]:
    shared = PLACE.parent / "report" / "assets"
    files = [*PLACE.parent.rglob("*.py"), *(PLACE / "static").glob("*.js"), *(PLACE / "templates").glob("*.html")]
    files += [shared / "parts.html", shared / "map.js"]
    return {str(file): file.read_text(encoding="utf-8") for file in files}


def forms(entry: Entry) -> list[str]:
    return [entry] if isinstance(entry, str) else list(entry.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_the_same_places(language: str) -> None:
    entries = texts_in(language).entries
    assert entries.keys() == ENGLISH.entries.keys()
    for key, entry in entries.items():
        assert isinstance(entry, str) == isinstance(ENGLISH.entries[key], str), key
        wanted = set(PLACES.findall(" ".join(forms(ENGLISH.entries[key]))))
        assert set(PLACES.findall(" ".join(forms(entry)))) == wanted, key
        if not isinstance(entry, str):
            assert entry.keys() == {"one", "other"}


def test_other_languages_are_other_texts() -> None:
    for language in ("de", "fr"):
        same = [key for key, entry in texts_in(language).entries.items() if entry == ENGLISH.entries[key]]
        assert len(same) < 20, same


def test_every_text_that_is_asked_for_is_there() -> None:
    asked = {(name, key) for name, text in sources().items() for key in KEY.findall(text)}
    assert len(asked) > 150
    assert [(name, key) for name, key in asked if key not in ENGLISH.entries] == []


def test_no_text_lies_idle() -> None:
    everything = "\n".join(sources().values())
    named = {key for key in ENGLISH.entries if re.search(rf"""["'`]{re.escape(key)}["'`]""", everything)}
    idle = [key for key in ENGLISH.entries if key.removesuffix(".brief") not in named and not key.startswith(MADE_UP)]
    assert idle == []


def test_scripts_and_templates_hold_no_text_of_their_own() -> None:
    found = []
    for name, text in sources().items():
        if name.endswith(".html"):
            bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", text, flags=re.DOTALL)
            found += [(name, word) for word in re.findall(r"[A-Za-z]{3,}", bare) if word != "soel"]
        elif name.endswith(".js"):
            code = re.sub(r"(^|\s)//.*", "", text)
            literals = re.findall(r'"((?:[^"\\\n])*)"', code) + re.findall(r"`([^`]*)`", code)
            plain = [re.sub(r"\$\{[^}]*\}", "", literal) for literal in literals]
            found += [
                (name, literal)
                for literal in plain
                if re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}|^[A-Z][a-z]+ [a-z]+", literal)
            ]
    allowed = {"M - 0 L 0 L 7 Z"}
    assert [each for each in found if each[1] not in allowed and "=" not in each[1]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_those_of_a_domain_expert(language: str) -> None:
    texts = " ".join(form for entry in texts_in(language).entries.values() for form in forms(entry)).casefold()
    assert [word for word in JARGON if re.search(rf"\b{word}\b", texts)] == []


def test_numbers_and_forms_follow_the_language() -> None:
    german, french = texts_in("de"), texts_in("fr")
    assert [texts.number(1234567.0) for texts in (ENGLISH, german)] == ["1,234,567", "1.234.567"]
    assert german.number(0.25) == "0,25"
    assert french.number(1234.0) == "1\u202f234"
    assert ENGLISH("items.total", n=1) == "1 item"
    assert ENGLISH("items.total", n=0) == "0 items"
    assert french("items.total", n=0) == "0 élément"
    assert ENGLISH("items.total", n=12000) == "12,000 items"


def client_in(page: Page, **headers: str) -> TestClient:
    client = TestClient(page.app, base_url=ORIGIN, headers=headers)
    client.cookies.update(page.client.cookies)
    return client


def test_the_browser_s_wish_and_the_user_s_choice_count(still: Page) -> None:
    assert '<html lang="en">' in still.client.get("/").text
    german = client_in(still, **{"accept-language": "de-CH,de;q=0.9,en;q=0.8"})
    assert "Beurteilen" in german.get("/").text
    german.cookies.set("soel-language", "fr")
    assert "Étiqueter" in german.get("/").text
    german.cookies.set("soel-language", "../../etc")
    assert '<html lang="de">' in german.get("/").text


def test_sentences_and_fields_come_in_the_language(still: Page) -> None:
    german = client_in(still, **{"accept-language": "de"})
    item = still.view_model.session.ids[0]
    fields: Any = german.get("/api/item", params={"id": item}).json()["fields"]
    assert any("üblich" in field["words"] for field in fields)
    assert "früh" in german.get("/api/results").json()["view"]["advice"][0]
    assert "Urteil" in german.get("/texts.js").text
