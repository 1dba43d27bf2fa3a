"""Assembles the page: one file, no request to anywhere, only its own two scripts may run."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from soel.errors import ConfigError
from soel.files import write_whole
from soel.report import sections
from soel.report.facts import ReportFacts
from soel.report.histogram import score_histogram
from soel.report.markup import Markup, join, keep_together, safe, script_json, section
from soel.report.plots import Figure, training_curve
from soel.report.scatter_map import item_map
from soel.report.words import headline


def write_report(facts: ReportFacts, out: Path) -> Path:
    """Write the page to `out`, whole or not at all, and return where it lies."""
    page = render(facts).encode("utf-8", "replace")  # a half character in an id must not cost the report
    out = Path(out)
    write_whole(out, page)
    return out


def render(facts: ReportFacts) -> str:
    """The page as text."""
    figures = _figures(facts)
    plotly, page = _plotly(), _asset("page.js")
    drawn = [{"name": f.name, "traces": f.traces, "layout": f.layout} for f in figures.values()]
    return Template(_asset("template.html")).substitute(
        policy=_policy(plotly, page),
        title=safe(facts.title),
        data=safe(facts.setup.data),
        created=safe(facts.created),
        style=_asset("page.css"),
        headline=keep_together(headline(facts)),
        tiles=sections.tiles(facts),
        sections=join(_sections(facts, figures)),
        figures=script_json(drawn),
        plotly=plotly,
        page=page,
    )


def _figures(facts: ReportFacts) -> dict[str, Figure]:
    figures = [
        score_histogram(facts.pool, facts.threshold),
        item_map(facts.pool, facts.queries, facts.setup.seed),
    ]
    if facts.history:
        figures.append(training_curve(facts.history))
    return {figure.name: figure for figure in figures}


def _sections(facts: ReportFacts, figures: dict[str, Figure]) -> list[Markup]:
    """What was found first, then what it rests on, last how it was made."""
    titles = {"scores": "Scores", "map": "Map of the data", "training": "Training"}
    plots = {name: section(name, titles[name], sections.plot(figure)) for name, figure in figures.items()}
    parts = [
        sections.promises(facts) if facts.promises else None,
        plots["scores"],
        sections.most_anomalous(facts) if facts.top else None,
        sections.in_common(facts) if facts.in_common else None,
        sections.clip_events(facts) if facts.events else None,
        plots["map"],
        sections.asked(facts),
        sections.comparison(facts) if facts.comparison else None,
        plots.get("training"),
        sections.settings(facts),
        sections.next_steps(facts) if facts.next_steps else None,
    ]
    return [part for part in parts if part is not None]


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ConfigError(
            "The report needs plotly, which is not installed. Install it with: pip install 'soel[report]'."
        ) from error
    # The browser reads every line end as \n, and the hash must be of what it reads.
    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")


def _policy(*scripts: str) -> str:
    """Only these scripts run, nothing is fetched. Plotly writes styles as it draws, so those are open."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("soel.report").joinpath("assets", name).read_text("utf-8")
