"""Words: flags, categories, names, free text and ids, told apart by how many there are and how they look."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.tables.reading.kinds import Kind

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
_ID_END = re.compile(r"[a-z](?:Id|ID|Key|Nr|No)$|(?i:beleg|auftrags?|kunden|rechnungs|bestell|vorgangs|konto)nr\.?$")
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
    import pyarrow.compute as pc

    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    counts = np.bincount(np.asarray(encoded.indices.drop_null()), minlength=len(distinct))
    empty = pc.index(distinct, "").as_py()
    if empty >= 0:
        counts[empty] = 0
    n_cells = int(counts.sum())
    top = _most_frequent(distinct, counts, len(distinct) - (empty >= 0))
    words = distinct.take(np.array(top, np.int64)).to_pylist()  # a type, where there is none
    return Words(len(distinct) - (empty >= 0), n_cells, tuple(words), tuple(counts[top].tolist()))


def _most_frequent(distinct: Any, counts: NDArray[np.int64], n_distinct: int) -> list[int]:
    """Positions of the N_TOP most frequent texts, whatever the order of the rows. counts: 0 for what is no text."""
    import pyarrow.compute as pc

    chosen = np.flatnonzero(counts)
    if n_distinct > N_TOP:
        least = np.partition(counts, -N_TOP)[-N_TOP]
        above, ties = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
        first = pc.bottom_k_unstable(distinct.take(ties), N_TOP - len(above))
        chosen = np.concatenate([above, ties[np.asarray(first)]])
    texts = dict(zip(chosen.tolist(), distinct.take(chosen).to_pylist(), strict=True))
    return sorted(texts, key=lambda at: (-counts[at], texts[at]))


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
    if share >= NEARLY_ALL and all(map(_is_code, words.top)):  # accounts, telephones: groups of digits are no words
        return "id", ""
    if n_words_a_cell >= LONG and share >= MANY:
        return "text", ""
    if share < NEARLY_ALL:
        return "category", ""
    if n_words_a_cell >= 2:
        return "text", "it could also be names that say nothing: --ignore leaves them out"
    if any(letter.isdigit() for text in words.top for letter in text) or len(set(map(len, words.top))) == 1:
        return "id", ""
    return "id", "nearly all values differ, so it is taken for a name of the row; --categorical takes it as it is"


def _is_code(text: str) -> bool:
    """Whether a text is mostly digits."""
    return 2 * sum(map(str.isdigit, text)) > len(text.replace(" ", ""))


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(_ID_NAME.search(name) or _ID_END.search(name))


def is_label_name(name: str) -> bool:
    """Whether a column is called as labels are."""
    return bool(_LABEL_NAME.match(name.strip()))
