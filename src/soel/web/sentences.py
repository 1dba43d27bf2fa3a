"""What a session knows, in sentences a domain expert reads, in the language of a request."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request

from soel.explain import RowExplanation
from soel.explain.words import localise, name_group
from soel.session.people import Agreement
from soel.session.stopping import StoppingAdvice
from soel.session.why import Why
from soel.text import ENGLISH, LANGUAGES, Texts, texts_in
from soel.web.cards import Field

COOKIE = "soel-language"


def texts_for(request: Request) -> Texts:
    """By the choice of the user, else by the wish of the browser."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return texts_in(chosen)
    wanted = [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return texts_in(next((language for language in wanted if language in LANGUAGES), "en"))


STRONG, FAIR = 0.6, 0.2  # agreement beyond chance from which we call it so


def why_words(why: Why, n_items: int, title: Callable[[str], str] = str, t: Texts = ENGLISH) -> tuple[str, ...]:
    """Why an item was asked about. title: what people call an item."""
    return (_far(why, title, t), _unusual(why, t), _speaks(why, n_items, t))


def advice_words(measured: StoppingAdvice | None, t: Texts = ENGLISH) -> tuple[str, ...]:
    """Whether more labels are worth it, the advice first."""
    if measured is None:
        return (t("advice.unknown"),)
    early = measured.go_on not in ("yes", "little")
    advice = t("advice.early", n=measured.n_labels) if early else t(f"advice.{measured.go_on}")
    return (advice, *_describe_moves(measured, t), *_describe_held_back(measured, t))


def agreement_words(agreement: Agreement, t: Texts = ENGLISH) -> str:
    """How far annotators agree."""
    if not agreement.n_items:
        return t("agreement.none")
    same = t("agreement.same", same=agreement.n_same, n=agreement.n_items)
    if agreement.kappa is None:
        return same
    level = "strong" if agreement.kappa >= STRONG else "fair" if agreement.kappa >= FAIR else "weak"
    return f"{same} {t(f'agreement.{level}')}"


def _far(why: Why, title: Callable[[str], str], t: Texts) -> str:
    if why.nearest is None or why.distance_share is None:
        return t("why.nothing")
    if why.distance_share > 0.5:
        key = "why.unlike" if why.distance_share > 0.9 else "why.rather_unlike"
        return t(key, share=t.percent(why.distance_share))
    return t("why.alike", title=title(why.nearest))


def _unusual(why: Why, t: Texts) -> str:
    if why.score_share > 0.6:
        key = "why.very_unusual" if why.score_share > 0.9 else "why.unusual"
        return t(key, share=t.more_than(why.score_share))
    return t("why.ordinary", share=t.percent(1 - why.score_share))


def _speaks(why: Why, n_items: int, t: Texts) -> str:
    return t("why.alone") if why.n_near <= 1 else t("why.speaks", n=why.n_near, total=n_items)


def _describe_moves(measured: StoppingAdvice, t: Texts) -> list[str]:
    found = []
    if measured.radius_drop is not None:
        found.append(t("advice.closer", n=measured.n_newest, share=t.percent(max(0.0, measured.radius_drop))))
    if measured.rank_agreement is not None:
        key = "advice.order" if measured.rank_agreement >= 0.95 else "advice.order_changed"
        found.append(t(key, share=t.percent(max(0.0, measured.rank_agreement))))
    return found


def _describe_held_back(measured: StoppingAdvice, t: Texts) -> list[str]:
    """An AUROC is the share of pairs of an anomaly and a normal item that are in the right order."""
    scored = [(each.round, each.auroc) for each in measured.held_back if each.auroc is not None]
    if not scored:
        return []
    rounds = [t("advice.round", share=t.percent(value), round=number) for number, value in scored]
    return [t("advice.tested", rounds=", ".join(rounds))]


def reason_fields(why: RowExplanation | None, t: Texts, title: Callable[[str], str] = str) -> list[Field]:
    """The reasons of an alarm, each like a value of its row. title: what people call an item.

    Who labels is not told how the item ranks, and so not what would make an ordinary one an alarm.
    """
    if why is None or not why.is_alarm:
        return []
    if why.like and not why.reasons:
        return [Field(t("reason.whole", like=title(why.like)), "", "", stands_out=True)]
    return [
        Field(
            name_group(reason.columns, t),
            localise(reason.values[0], t),
            t("reason.usual", usual=localise(reason.usual[0], t)),
            stands_out=True,
        )
        for reason in why.reasons
    ]
