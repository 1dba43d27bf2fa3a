"""Writes the report and the list of sessions: one file each, no request to anywhere, only its own scripts may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from soel.errors import ConfigError
from soel.files import write_whole
from soel.report.charts import item_map, score_histogram, training_curve
from soel.report.facts import Picture, ReportFacts
from soel.session.listing import SessionEntry
from soel.text import count, number, percent, percent_range

MAP_KEY = (
    "The stronger the colour, the less a place looks like the other pictures; outlined is what hardly any usual "
    "picture shows; a defect can also lie where there is no colour"
)


def write_report(facts: ReportFacts, out: Path) -> Path:
    """Write the page to `out`, whole or not at all, and return where it lies."""
    return _write(render(facts), Path(out))


def render(facts: ReportFacts) -> str:
    """The report as text."""
    figures = [score_histogram(facts.pool, facts.threshold), item_map(facts.pool, facts.queries, facts.setup.seed)]
    if facts.history:
        figures.append(training_curve(facts.history))
    plotly, script = _plotly(), _asset("page.js")
    return (
        _templates()
        .get_template("report.html")
        .render(
            facts=facts,
            figures={figure.name: figure for figure in figures},
            drawn=[{"name": f.name, "traces": f.traces, "layout": f.layout} for f in figures],
            policy=_policy(plotly, script),
            style=Markup(_asset("page.css")),
            plotly=Markup(plotly),
            script=Markup(script),
            map_key=MAP_KEY,
        )
    )


def write_session_list(folder: Path, sessions: Sequence[SessionEntry], when: str, out: Path) -> Path:
    """Write the sessions of a folder: where each stands, and how to go on with it."""
    template = _templates().get_template("sessions.html")
    page = template.render(folder=folder, sessions=sessions, when=when, style=Markup(_asset("page.css")))
    return _write(page, out)


def _write(page: str, out: Path) -> Path:
    write_whole(out, page.encode("utf-8", "replace"))  # a half character in an id must not cost the report
    return out


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("soel.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.filters |= {
        "number": number,
        "percent": lambda share: _keep_together(percent(share)),
        "range": lambda low, high: _keep_together(percent_range(low, high)),
        "count": count,
        "together": _keep_together,
        "code": _set_code,
        "data_url": _data_url,
    }
    return made


def _keep_together(text: str) -> str:
    """A sentence in which a number never parts from its percent sign."""
    return text.replace(" %", "\u00a0%")


def _set_code(text: str) -> Markup:
    """A sentence with its `backticked` parts set as code."""
    parts = _keep_together(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))


def _data_url(picture: Picture) -> str:
    kind = "png" if picture.content.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture.content).decode()}"


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
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return files("soel.report").joinpath("assets", name).read_text("utf-8")
