"""Words: flags, categories, names, free text and ids, told apart by how many there are and how they look."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.data.reading.kinds import Kind

MAX_CATEGORIES = 32  # more are told by how frequent they are
NEARLY_ALL, MANY = 0.9, 0.3  # shares of cells that are distinct
LONG = 4.0  # words a cell of free text has on average
FEW_ROWS = 5
N_TOP = 50
_FLAGS = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("oui", "non"),
    ("vrai", "faux"), ("wahr", "falsch"), ("si", "no"), ("sí", "no"), ("sì", "no"), ("✓", "✗"),
)  # fmt: skip
_ID_NAME = re.compile(
    r"(?:^|[\W_])(?:id|ids|uuid|guid|rowid|row|index|idx|key|pk|nr|no|number|serial|record|ref|reference)$"
    r"|^(?:unnamed: ?\d+|#)$",
    re.IGNORECASE,
)
_ID_END = re.compile(r"[a-z](?:Id|ID|Key|Nr|No)$")
_LABEL_NAME = re.compile(
    r"^(?:is[ _]?)?(?:label|target|(?:ground[ _]?)?truth|class|outcome|fraud(?:ulent)?|anomal(?:y|ous)|outlier|y)s?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Words:
    """What texts a column has. n_distinct, n_cells: counts without the missing ones. top, counts: the most frequent
    texts (equally frequent ones in the order of the alphabet) and how often they occur.
    """

    n_distinct: int
    n_cells: int
    top: tuple[str, ...]
    counts: tuple[int, ...]


def count_words(texts: Any) -> Words:
    """Count tidy Arrow strings; empty ones are missing."""
    encoded = texts.dictionary_encode()
    present = np.asarray(encoded.indices.drop_null())
    counts = np.bincount(present, minlength=len(encoded.dictionary))
    distinct = np.asarray(encoded.dictionary.to_numpy(zero_copy_only=False), object)
    kept = distinct != ""
    distinct, counts = distinct[kept], counts[kept]
    top = _most_frequent(distinct, counts)
    return Words(len(distinct), int(counts.sum()), tuple(distinct[top].tolist()), tuple(counts[top].tolist()))


def _most_frequent(distinct: NDArray[Any], counts: NDArray[np.int64]) -> list[int]:
    """Positions of the N_TOP most frequent texts, whatever the order of the rows."""
    if len(counts) > N_TOP:
        least = np.partition(counts, -N_TOP)[-N_TOP]
        above, ties = np.flatnonzero(counts > least), np.flatnonzero(counts == least).tolist()
        chosen = [*above.tolist(), *heapq.nsmallest(N_TOP - len(above), ties, key=distinct.__getitem__)]
    else:
        chosen = list(range(len(counts)))
    return sorted(chosen, key=lambda at: (-counts[at], distinct[at]))


def find_flags(words: Words) -> dict[str, int] | None:
    """The words of a flag, if these are: 1 for yes, 0 for no."""
    lower = {text.lower() for text in words.top}
    if not lower or len(lower) > 2:
        return None
    for yes, no in _FLAGS:
        if lower <= {yes, no} and (len(lower) == 2 or len(yes) > 1):
            return {yes: 1, no: 0}
    return None


def kind_of_words(name: str, words: Words, n_words_a_cell: float) -> tuple[Kind, str]:
    """Whether words are categories, free text or ids, and the doubt that remains."""
    n_distinct, n_cells = words.n_distinct, words.n_cells
    share = n_distinct / max(n_cells, 1)
    if share >= NEARLY_ALL and n_cells >= FEW_ROWS and is_id_name(name) and n_words_a_cell < LONG:
        return "id", ""
    if n_distinct <= MAX_CATEGORIES:
        return "category", ""
    if n_words_a_cell >= LONG and share >= MANY:
        return "text", ""
    if share < NEARLY_ALL:
        return "category", ""
    if n_words_a_cell >= 2:
        return "text", "it could also be names that say nothing: --ignore leaves them out"
    if any(letter.isdigit() for text in words.top for letter in text) or len(set(map(len, words.top))) == 1:
        return "id", ""
    return "id", "nearly all values differ, so it is taken for a name of the row; --categorical takes it as it is"


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(_ID_NAME.search(name) or _ID_END.search(name))


def is_label_name(name: str) -> bool:
    """Whether a column is called as labels are."""
    return bool(_LABEL_NAME.match(name.strip()))
