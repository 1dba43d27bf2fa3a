"""Why a session's items, or new ones, score as they do: by the columns of its table and a model of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.distances import nearest_of
from soel.errors import ConfigError
from soel.explain import Explanation
from soel.explain.explanation import MOST_REASONS
from soel.explain.words import NO_REASON, reason_texts, say_reasons
from soel.learner import Blend
from soel.report.table_explainer import TableExplainer
from soel.session import Session
from soel.session.draw import label_vector
from soel.session.items import read_encoder, read_items
from soel.tables.frame import Frame
from soel.types import Floats, Kind, Label, Rows

MOST_EXPLAINED, FEWEST_EXPLAINED = 1000, 10  # rows of a list of scores: its alarms, at most and at least so many
REASON_COLUMNS = (
    "why",
    *(f"why_{n}{part}" for n in range(1, MOST_REASONS + 1) for part in ("", "_value", "_usual", "_share", "_rank")),
    "why_rest_share",
    "why_rank_together",
)  # of a file of scores: a sentence, of each of three reasons what it is, and what these leave unsaid
LIKENESS_COLUMNS = ("why_like", "why_like_label")  # and the labelled item that a row resembles most


@dataclass(frozen=True)
class SessionExplainer:
    """Explains rows of a session's table by one model. pool: the session's own rows."""

    session: Session
    blend: Blend
    table: TableExplainer
    pool: Frame

    @classmethod
    def of(cls, session: Session, model: Any) -> SessionExplainer:
        """For a session on a table. model: of its last fit, or of before the first label."""
        if session.pool.kind is not Kind.TABLE:
            raise ConfigError(
                "Rows are explained by the columns of a table, and this session has none; ask for no why."
            )
        encoder, frame, features = read_encoder(session.folder), read_items(session.folder).frame, session.folder.pool
        kept = getattr(model, "pool_scores", ())
        scores = np.asarray(kept if len(kept) else model.blend.score(features))
        labels = label_vector(session.state, session.ids)
        table = TableExplainer.of(model.blend, encoder, frame, features, scores, labels)
        return cls(session, model.blend, table, frame)

    def explain(self, frame: Frame, features: Floats) -> Explanation:
        """Rows with the features (n, d) that they were encoded to, explained with their reasons."""
        return self.table.explain(frame, features)

    def alike(self, features: Floats) -> list[str] | None:
        """The labelled item of the session that each row (n, d) resembles most; None where nothing is labelled."""
        row_of = {item: row for row, item in enumerate(self.session.ids)}
        labelled = [item for item in self.session.state.labels if item in row_of]
        if not labelled or not len(features):
            return None
        known = self.session.folder.pool[[row_of[item] for item in labelled]]
        owner, _ = nearest_of(self.blend.embed(features), self.blend.embed(known))
        return [labelled[at] for at in owner.tolist()]

    def explain_own(self, features: Floats, rows: Rows) -> Explanation:
        """Some of the session's own rows. features: (N, d) of all."""
        return self.explain(self.pool.take(rows), features[rows])


def count_explained(n_alarms: int, n_rows: int) -> int:
    """How many rows of a list are explained: its alarms, the most anomalous first."""
    return min(max(n_alarms, FEWEST_EXPLAINED), MOST_EXPLAINED, n_rows)


def choose_explained(ranks: Rows, n_alarms: int) -> Rows:
    """The rows of a list that are explained."""
    return np.argsort(ranks, kind="stable")[: count_explained(n_alarms, len(ranks))]


def tabulate_reasons(found: Explanation, rows: Rows, n_rows: int) -> dict[str, list[Any]]:
    """REASON_COLUMNS for a file of scores; empty where not explained."""
    columns: dict[str, list[Any]] = {name: [None] * n_rows for name in REASON_COLUMNS}
    for row, reasons in zip(rows.tolist(), found.reasons, strict=True):
        texts = [reason_texts(reason) for reason in reasons]
        columns["why"][row] = "; ".join(say_reasons(texts)) or NO_REASON
        columns["why_rest_share"][row] = max(0.0, 1 - sum(each["share"] for each in texts)) if texts else None
        for number, each in enumerate(texts, 1):
            columns[f"why_{number}"][row] = " + ".join(each["columns"])
            columns[f"why_{number}_value"][row] = " + ".join(each["values"])
            columns[f"why_{number}_usual"][row] = " + ".join(each["usual"])
            columns[f"why_{number}_share"][row] = each["share"]
            columns[f"why_{number}_rank"][row] = each["rank"]
            columns["why_rank_together"][row] = each["rank_together"]
    return columns


def tabulate_likeness(
    alike: Sequence[str] | None, rows: Rows, items: Sequence[str], labels: Mapping[str, Label]
) -> dict[str, list[Any]]:
    """LIKENESS_COLUMNS: the labelled item that each row resembles most, and its label; empty for what is labelled.

    alike: of each of the rows (n,), if anything is labelled. items: what all rows are called.
    """
    columns: dict[str, list[Any]] = {name: [None] * len(items) for name in LIKENESS_COLUMNS}
    for row, other in zip(rows.tolist(), alike or (), strict=False):
        if items[row] not in labels:
            columns["why_like"][row], columns["why_like_label"][row] = other, labels[other].word
    return columns
