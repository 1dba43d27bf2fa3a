"""Why an item scores as it does, and what the alarms have in common, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soel.web.schemas import FieldOut
from soel.web.texts import Texts


def reason_fields(reasons: Sequence[Mapping[str, Any]], t: Texts, with_rank: bool = False) -> list[FieldOut]:
    """The reasons of one item, each like a value of its row. with_rank: with the rank that it would have else."""
    return [
        FieldOut(
            name=" + ".join(reason["columns"]),
            value=" + ".join(reason["values"]),
            words=t("reason.usual", usual=" + ".join(reason["usual"]), share=t.percent(reason["share"]))
            + (f"; {t('reason.rank', rank=int(reason['rank']))}" if with_rank else ""),
            stands_out=True,
            strip=None,
        )
        for reason in reasons
    ]


def summary_words(summary: Mapping[str, Any], t: Texts) -> list[str]:
    """How many alarms were looked at, and the rule that most of them meet."""
    words = [t("reason.looked", n=summary["n_explained"], total=summary["n_alarms"])]
    rule = summary["rule"]
    if rule is None:
        return [*words, t("reason.no_rule")]
    conditions = "; ".join(f"{each['column']} {each['sign']} {each['value']}" for each in rule["conditions"])
    met = t("reason.rule", rule=conditions, hits=rule["n_hits"], n=rule["n_met"])
    return [*words, met, t("reason.covers", hits=rule["n_hits"], n=rule["n_wanted"])]
