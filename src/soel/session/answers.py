"""What an expert can say about an item, and the words for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from soel.errors import LabelError
from soel.session.ports import Event
from soel.types import VERDICT_WORDS, Verdict


@dataclass(frozen=True)
class Answer:
    """An expert's word on one item, with an optional note."""

    item: str
    verdict: Verdict
    note: str = ""

    def event(self, who: str) -> Event:
        """The answer as it is stored."""
        body: dict[str, object] = {"note": self.note} if self.note else {}
        label = self.verdict.label
        if label is None:
            return Event(self.verdict.value, who, self.item, body)
        return Event("label", who, self.item, body | {"label": label.value})


def read_verdict(word: str) -> Verdict:
    """The verdict that a word, key or code stands for, whatever its case."""
    verdict = VERDICT_WORDS.get(word.strip().lower())
    if verdict is None:
        raise LabelError(
            f"{str(word)!r} is not an answer. Use anomaly, normal, skip or unsure (also a, n, s, u, or 1 and 0)."
        )
    return verdict


def as_answers(answers: Mapping[str, str]) -> tuple[Answer, ...]:
    """Answers from a mapping of item id to word."""
    return tuple(Answer(item, read_verdict(word)) for item, word in answers.items())
