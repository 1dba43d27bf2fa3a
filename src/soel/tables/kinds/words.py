"""Words: how often each occurs; categories, free text and ids, told apart by how many there are and how they look."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_CATEGORIES = 32  # more are told by how frequent they are
NEARLY_ALL, MANY = 0.9, 0.3  # shares of cells that are distinct
LONG = 4.0  # words a cell of free text has on average
FEW_ROWS = 5
N_TOP = 50
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

    @property
    def share(self) -> float:
        """How many of the cells are distinct."""
        return self.n_distinct / max(self.n_cells, 1)


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


def are_codes(words: Words) -> bool:
    """Whether the most frequent texts are mostly digits, as accounts and telephones are."""
    return all(2 * sum(map(str.isdigit, text)) > len(text.replace(" ", "")) for text in words.top)


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(_ID_NAME.search(name) or _ID_END.search(name))


def is_label_name(name: str) -> bool:
    """Whether a column is called as labels are."""
    return bool(_LABEL_NAME.match(name.strip()))
