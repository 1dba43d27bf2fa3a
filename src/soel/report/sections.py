"""The parts of the page, each from the facts alone."""

from __future__ import annotations

import base64
import math
from html import escape

from soel.report.facts import ReportFacts, TopItem
from soel.report.markup import Markup, answer, item, join, keep_together, section, table, tile, with_code
from soel.report.plots import Figure
from soel.text import count, number, percent, percent_range

MOST_COLUMNS, MOST_EVENTS = 100, 100
MAP_KEY = (
    ". The stronger the colour, the less a place looks like the other pictures; outlined is what hardly any usual "
    "picture shows; a defect can also lie where there is no colour"
)


def tiles(facts: ReportFacts) -> Markup:
    """The key figures."""
    estimate, threshold = facts.contamination, facts.threshold
    labels = facts.pool.labels
    n_anomalies, n_normal = int((labels == 1).sum()), int((labels == 0).sum())
    parts = [
        tile(
            "Share of anomalies",
            percent(estimate.value),
            f"80 % interval {percent_range(estimate.low, estimate.high)}",
        ),
        tile("Alarms", f"{threshold.n_alarms:,}", _start(threshold.value)),
        tile("Items", f"{facts.n_items:,}", facts.setup.made_of),
        tile("Labelled", f"{n_anomalies + n_normal:,}", f"{n_anomalies} anomaly, {n_normal} normal"),
    ]
    if facts.true_contamination is not None:
        parts.insert(1, tile("True share", percent(facts.true_contamination), "known for these data"))
    return Markup(f'<dl class="tiles">\n{join(parts)}\n</dl>')


def _start(threshold: float) -> str:
    return f"score above {number(threshold)}" if math.isfinite(threshold) else "no score raises one"


def plot(figure: Figure) -> Markup:
    """The place of a figure, with the sentence that stands for it.

    A group, not an image: an image may not hold the buttons that plotly puts there.
    """
    return Markup(
        f'<figure><div class="plot" id="plot-{figure.name}" role="group" '
        f'aria-label="{escape(figure.alternative)}"></div>'
        f"<figcaption>{keep_together(figure.note)}</figcaption></figure>"
    )


def asked(facts: ReportFacts) -> Markup:
    """What was asked and answered."""
    if not facts.queries:
        return section("asked", "What was asked", Markup("<p>Nothing has been asked yet.</p>"))
    with_odds = any(query.odds not in (None, 1) for query in facts.queries)  # else nothing was left to chance
    header = ["#", "Round", "Item", "Answer", "Score when asked", *(["Odds"] if with_odds else [])]
    rows = [
        [order, query.round, item(query.item), answer(query.answer), number(query.score)]
        + ([number(query.odds) if query.odds is not None else ""] if with_odds else [])
        for order, query in enumerate(facts.queries, 1)
    ]
    caption = f"{count(len(rows), 'query')} in the order asked; each score is by the detector of that moment"
    return section("asked", "What was asked", table(caption, header, rows, numeric=(0, 1, 4, 5)))


def most_anomalous(facts: ReportFacts) -> Markup:
    """The items to look at first."""
    with_reasons, pictures = any(top.reasons for top in facts.top), [top.picture for top in facts.top if top.picture]
    with_standouts = not with_reasons and any(top.standouts for top in facts.top)
    with_maps = any(picture.has_map for picture in pictures)
    shown = ["Where" if with_maps else "Picture"] if pictures else []  # first, so that a phone shows it, too
    header = ["Rank", *shown, "Item", "Score", "Alarm", "Label"]
    header += ["What stands out"] if with_standouts else []
    rows = [
        [top.rank]
        + ([_picture(top)] if pictures else [])
        + [item(top.item), number(top.score), "yes" if top.is_anomaly else "no", answer(top.label)]
        + ([_standouts(top)] if with_standouts else [])
        for top in facts.top
    ]
    caption = f"The {count(len(rows), 'item')} with the highest score" + ", and what raises it" * with_reasons
    caption += MAP_KEY * with_maps
    below = [_reasons(top) for top in facts.top] if with_reasons else []
    return section("top", "The most anomalous items", table(caption, header, rows, (0, header.index("Score")), below))


def clip_events(facts: ReportFacts) -> Markup:
    """Alarms of clips, each from when to when."""
    header = ["Clip", "From", "To", "Peak", "Score at the peak", "Frames with an alarm"]
    rows = [
        [item(e.clip), f"{e.start:.2f} s", f"{e.end:.2f} s", f"{e.peak:.2f} s", number(e.score), e.n_alarms]
        for e in facts.events[:MOST_EVENTS]
    ]
    caption = f"{count(len(facts.events), 'event')}, the highest peak first"
    caption += f" (the first {MOST_EVENTS})" if len(facts.events) > MOST_EVENTS else ""
    return section("events", "Events in clips", table(caption, header, rows, numeric=(1, 2, 3, 4, 5)))


def comparison(facts: ReportFacts) -> Markup:
    """How other methods do on the same data."""
    rows = [[result.method, f"{result.auroc:.3f}", f"{result.f1:.3f}"] for result in facts.comparison]
    caption = "Against the true labels; 1 is perfect"
    return section("comparison", "How it compares", table(caption, ["Method", "AUROC", "F1"], rows, numeric=(1, 2)))


def settings(facts: ReportFacts) -> Markup:
    """How the result was made, folded away."""
    setup, estimate = facts.setup, facts.contamination
    rows: list[tuple[str, str]] = [
        ("Data", setup.data),
        ("Profile", setup.profile),
        ("Seed", str(setup.seed)),
        ("Backbone", setup.backbone),
        ("Threshold rule", facts.threshold.rule),
        ("Contamination estimator", estimate.method),
        *((f"Estimator: {name.replace('_', ' ')}", number(value)) for name, value in estimate.diagnostics.items()),
        ("Report made", facts.created),
    ]
    if facts.cover_radius is not None:
        rows.insert(-1, ("Cover radius: the farthest item from a query", number(facts.cover_radius)))
    inner = table("Settings and diagnostics", ["Setting", "Value"], rows, numeric=())
    if setup.columns:
        shown = setup.columns[:MOST_COLUMNS]
        caption = "How the columns are read" + (
            f" (the first {MOST_COLUMNS})" if len(setup.columns) > len(shown) else ""
        )
        inner = join([inner, table(caption, ["Column", "Read as", "Becomes"], shown, numeric=())])
    return section(
        "settings",
        "How this was made",
        Markup(f"<details><summary>Show the settings</summary>\n{inner}\n</details>"),
    )


def promises(facts: ReportFacts) -> Markup:
    """What the numbers say, and what they rest on."""
    lines = join([Markup(f"<li>{with_code(line)}</li>") for line in facts.promises])
    return section("promises", "How sure the numbers are", Markup(f"<ul>\n{lines}\n</ul>"))


def in_common(facts: ReportFacts) -> Markup:
    """What the alarms have in common."""
    lines = join([Markup(f"<li><bdi>{escape(line)}</bdi></li>") for line in facts.in_common])
    return section("common", "What the alarms have in common", Markup(f"<ul>\n{lines}\n</ul>"))


def next_steps(facts: ReportFacts) -> Markup:
    """How to go on."""
    steps = join([Markup(f"<li>{with_code(step)}</li>") for step in facts.next_steps])
    return section("next", "How to go on", Markup(f"<ul>\n{steps}\n</ul>"))


def _reasons(top: TopItem) -> Markup:
    parts = [Markup(f"<li><bdi>{escape(reason)}</bdi></li>") for reason in top.reasons]
    return Markup(f'<ul class="reasons">{join(parts)}</ul>')


def _picture(top: TopItem) -> Markup:
    if top.picture is None:
        return Markup("")
    kind = "png" if top.picture.content.startswith(b"\x89PNG") else "jpeg"
    content = base64.b64encode(top.picture.content).decode()
    return Markup(f'<img class="picture" alt="{escape(top.item)}" src="data:image/{kind};base64,{content}">')


def _standouts(top: TopItem) -> Markup:
    parts = [
        Markup(
            f"<li><bdi>{escape(s.column)}</bdi> <b><bdi>{escape(number(s.value))}</bdi></b> "
            f'<span class="muted">(typical <bdi>{escape(number(s.typical))}</bdi>)</span></li>'
        )
        for s in top.standouts
    ]
    return Markup(f'<ul class="standouts">{join(parts)}</ul>') if parts else Markup("")
