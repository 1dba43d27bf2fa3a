"""What alarms have in common: kinds of alarms, alike by the groups of columns that suffice, each with a short rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from soel.explain.explanation import Explanation, show_cell
from soel.types import Booleans, Rows

FEWEST_ALIKE, MOST_PATTERNS = 2, 8
MOST_CONDITIONS, BEAM = 3, 6
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the wanted rows, at which conditions are tried
GAIN = 0.02  # by which a further condition must better a rule
Columns = Mapping[str, Any]  # of all rows, each (N,)
Condition = dict[str, str]


def find_in_common(found: Explanation, rows: Rows, ids: Sequence[str], columns: Columns) -> dict[str, Any]:
    """What alarms (n,) share, as plain JSON: groups that suffice, and patterns with a rule for most of their rows.

    rows: (n,) where the alarms are among all rows, which have these ids and columns.
    """
    patterns = []
    for groups, some in find_patterns(found):
        wanted = np.zeros(len(ids), bool)
        wanted[rows[some]] = True
        names = [found.groups[group] for group in groups]
        rule = find_rule({name: columns[name] for group in names for name in group}, wanted)
        is_telling = rule is not None and 2 * rule["n_hits"] > len(some)
        items = [ids[row] for row in rows[some]]
        patterns.append({"groups": names, "items": items, "rule": rule if is_telling else None})
    counts = Counter(group for row in found if row.suffices for group in {each.group for each in row.reasons})
    return {
        "n_explained": len(found),
        "n_whole": sum(not row.suffices for row in found),
        "groups": [[found.groups[group], n] for group, n in counts.most_common()],
        "patterns": patterns,
    }


def find_patterns(found: Explanation) -> list[tuple[list[int], list[int]]]:
    """The groups and the rows of each pattern, the largest first; a row that is like no other is in none.

    Rows with the same groups are alike; those whose groups nobody else has go by the group that contributes most.
    """
    own = {at: frozenset(each.group for each in row.reasons) for at, row in enumerate(found) if row.suffices}
    counts = Counter(own.values())
    members: dict[frozenset[int], list[int]] = {}
    for at in sorted(own, key=lambda at: -found[at].score):
        shared = own[at] if counts[own[at]] >= FEWEST_ALIKE else frozenset([found[at].reasons[0].group])
        members.setdefault(shared, []).append(at)
    large = [(sorted(groups), rows) for groups, rows in members.items() if len(rows) >= FEWEST_ALIKE]
    return sorted(large, key=lambda pattern: -len(pattern[1]))[:MOST_PATTERNS]


def find_rule(columns: Columns, wanted: Booleans) -> dict[str, Any] | None:
    """The rule that tells wanted rows (N,) from the others best, as plain JSON; None where none does.

    Its at most three conditions (each a `column`, a `sign`, a `value`) hold together in `n_met` rows, of which `n_hits`
    are wanted. Best: by precision and recall together, of which precision counts more. It is found on the same rows, so
    it flatters itself on others.
    """
    everyone, tried = np.ones(len(wanted), bool), [*_conditions(columns, wanted)]
    best: tuple[float, tuple[Condition, ...], Booleans] = (0.0, (), everyone)
    beam = [best]
    for _ in range(MOST_CONDITIONS if wanted.any() else 0):
        longer = [
            (_worth(met & holds, wanted), (*conditions, condition), met & holds)
            for _, conditions, met in beam
            for condition, holds in tried
            if condition not in conditions
        ]
        beam = sorted(longer, key=lambda each: -each[0])[:BEAM]
        if not beam or beam[0][0] < best[0] + GAIN:
            break
        best = beam[0]
    worth, conditions, met = best
    if not conditions or worth < _worth(everyone, wanted) + GAIN:
        return None
    return {"conditions": [*conditions], "n_met": int(met.sum()), "n_hits": int((met & wanted).sum())}


def _conditions(columns: Columns, wanted: Booleans) -> Iterator[tuple[Condition, Booleans]]:
    """What may tell the wanted rows, with the rows (N,) that meet it."""
    for name, column in columns.items():
        own = column[wanted]
        if column.dtype == np.float64:
            own = own[~np.isnan(own)]
            for cut in np.unique(np.quantile(own, CUTS, method="nearest")) if len(own) else ():
                yield {"column": name, "sign": "≥", "value": show_cell(cut)}, column >= cut
                yield {"column": name, "sign": "≤", "value": show_cell(cut)}, column <= cut
        elif column.dtype == object:
            words = Counter(sorted(word for word in own if word is not None))
            for word, _ in words.most_common(len(CUTS)):
                yield {"column": name, "sign": "=", "value": word}, np.asarray(column == word, bool)


def _worth(met: Booleans, wanted: Booleans) -> float:
    """F of precision and recall, with the weight 0.5."""
    return 1.25 * float((met & wanted).sum()) / float(met.sum() + 0.25 * wanted.sum())
