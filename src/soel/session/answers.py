"""What an expert can say about an item, and the words for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from soel.errors import LabelError
from soel.session.ports import Event
from soel.types import ANOMALY, NORMAL

LABELS = {"anomaly": ANOMALY, "normal": NORMAL}
VERDICTS = ("anomaly", "normal", "skip", "unsure")
_WORDS = {"a": "anomaly", "1": "anomaly", "n": "normal", "0": "normal", "s": "skip", "u": "unsure"}


@dataclass(frozen=True)
class Answer:
    """An expert's word on one item: 'anomaly', 'normal', 'skip' or 'unsure', with an optional note."""

    item: str
    verdict: str
    note: str = ""

    def event(self, who: str) -> Event:
        """The answer as it is stored."""
        body: dict[str, object] = {"note": self.note} if self.note else {}
        if self.verdict not in LABELS:
            return Event(self.verdict, who, self.item, body)
        return Event("label", who, self.item, body | {"label": LABELS[self.verdict]})


def read_verdict(word: str) -> str:
    """The verdict that a word or code stands for, whatever its case."""
    plain = word.strip().lower()
    verdict = _WORDS.get(plain, plain)
    if verdict not in VERDICTS:
        raise LabelError(
            f"{word!r} is not an answer. Use anomaly, normal, skip or unsure (also a, n, s, u, or 1 and 0)."
        )
    return verdict


def as_answers(answers: Mapping[str, str]) -> tuple[Answer, ...]:
    """Answers from a mapping of item id to word."""
    return tuple(Answer(item, read_verdict(word)) for item, word in answers.items())
