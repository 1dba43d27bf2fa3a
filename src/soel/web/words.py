"""Numbers of a session in plain words."""

from __future__ import annotations

from collections.abc import Callable

from soel.session.agreement import Agreement
from soel.session.stopping import StoppingAdvice
from soel.session.why import Why


def percent(share: float) -> str:
    """A share as a person reads it; never a round 0 or 100 that is not exact."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def why_words(why: Why, n_items: int, title: Callable[[str], str] = str) -> tuple[str, ...]:
    """Why an item was asked about. title: what people call an item."""
    return (_far(why, title), _unusual(why), _speaks(why, n_items))


def advice_words(measured: StoppingAdvice | None) -> tuple[str, ...]:
    """Whether more labels are worth it, the advice first."""
    if measured is None:
        return ("Unknown yet: nothing was measured at the last training.",)
    advice = {
        "yes": "Yes: the newest labels still changed the picture.",
        "little": "Little: the newest labels changed almost nothing.",
        "unknown": f"Too early to say with {measured.n_labels} labels.",
    }
    return (advice[measured.go_on], *_moved(measured), *_held_back(measured))


def agreement_words(agreement: Agreement) -> str:
    """How far annotators agree."""
    if not agreement.n_items:
        return "No item was labelled by two people yet, so there is no agreement to measure."
    same = f"Annotators agree on {agreement.n_same} of {agreement.n_items} items that several of them labelled"
    if agreement.kappa is None:
        return f"{same}."
    name = {"cohen": "Cohen's", "fleiss": "Fleiss'"}[agreement.method]
    return f"{same} ({name} kappa {agreement.kappa:.2f}; 1 is full agreement, 0 is chance)."


def _far(why: Why, title: Callable[[str], str]) -> str:
    if why.nearest is None or why.distance_share is None:
        return "Nothing is labelled yet, so every label teaches something new."
    closer = f"{percent(why.distance_share)} of the items are closer to a labelled one"
    if why.distance_share > 0.9:
        return f"It is unlike everything labelled so far: {closer}."
    if why.distance_share > 0.5:
        return f"It is rather unlike what is labelled so far: {closer}."
    return f"It is much like an item that is labelled already: {title(why.nearest)}."


def _unusual(why: Why) -> str:
    if why.score_share > 0.9:
        return f"To the detector it looks very unusual: more so than {percent(why.score_share)} of the items."
    if why.score_share > 0.6:
        return f"To the detector it looks somewhat unusual: more so than {percent(why.score_share)} of the items."
    return f"To the detector it looks ordinary: {percent(1 - why.score_share)} of the items look as unusual or more."


def _speaks(why: Why, n_items: int) -> str:
    if why.n_near <= 1:
        return "It speaks for itself alone: every other item is more like something else that was asked."
    return f"It speaks for {why.n_near:,} of {n_items:,} items: they are more like it than like anything else asked."


def _moved(measured: StoppingAdvice) -> list[str]:
    told = []
    if measured.radius_drop is not None:
        told.append(
            f"Cover: the item least like any labelled one came {percent(max(0.0, measured.radius_drop))} closer to a "
            f"label by the newest {measured.n_newest} of {measured.n_labels} labels."
        )
    if measured.rank_agreement is not None:
        told.append(
            f"Ranking: the order of the items before and after this training agrees to {measured.rank_agreement:.2f} "
            "(1 is the same order, 0 is no relation)."
        )
    return told


def _held_back(measured: StoppingAdvice) -> list[str]:
    scored = [each for each in measured.held_back if each.auroc is not None]
    if not scored:
        return []
    rounds = ", ".join(f"{each.auroc:.2f} in round {each.round}" for each in scored)
    return [
        "Held-back labels: before you answered, the detector told anomalies from normals with "
        f"{rounds} (1 is perfect, 0.5 is chance)."
    ]
