from __future__ import annotations

import pytest

from soel.errors import SessionError
from soel.web.names import check_name, look_alike


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Ann", "ann"), ("Ann", "ANN"), ("Ann", "\u0410nn"), ("Ann", "Ánn"), ("Ann", "A n n"),
        ("Ann", "An\u200bn"), ("Paul", "PauI"), ("Paul", "Pau1"), ("Otto", "0tto"), ("Emma", "Ernma"), ("Ian", "lan"),
        ("Straße", "strasse"), ("Ola", "\u039fla"), ("Wim", "Vvim"), ("ﬁnn", "finn"), ("Ann", "\uff21\uff4e\uff4e"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_told_apart_from_the_start(name: str, other: str) -> None:
    assert look_alike(name, other)
    with pytest.raises(SessionError):
        check_name(other, [name])


@pytest.mark.parametrize(
    ("name", "other"), [("Ann", "Anna"), ("Maria", "Marla"), ("Ben", "Dan"), ("李", "王"), ("1", "2")]
)
def test_other_names_are_other_people(name: str, other: str) -> None:
    assert not look_alike(name, other)
    check_name(other, [name])


@pytest.mark.parametrize(
    "name",
    ["soel", "Soel", "SOEL", "\u0455\u043e\u0435l", "s o e l", "system", "owner", "\uff21dmin", "\u200b", "s0el"],
)
def test_names_of_the_system_are_refused(name: str) -> None:
    with pytest.raises(SessionError, match="kept for the session itself"):
        check_name(name, [])


def test_the_owner_may_be_called_owner_but_not_soel() -> None:
    check_name("owner", [], is_owner=True)
    with pytest.raises(SessionError):
        check_name("soel", [], is_owner=True)


@pytest.mark.parametrize(
    "name", ["Ann", "Иван Петров", "Ελένη", "李雷", "山田 太郎", "김민준", "O'Neil", "J. R.", "annotator 1"]
)
def test_names_of_the_world_are_names(name: str) -> None:
    check_name(name, [])


def test_alphabets_are_not_mixed_and_the_same_person_may_come_again() -> None:
    with pytest.raises(SessionError, match="mixes letters of CYRILLIC and LATIN"):
        check_name("Z\u043ee", [])
    check_name("Zoe", ["Zoe"])
