"""Writes the report and the list of sessions: one file each, no request to anywhere, only its own script may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from soel.files import write_whole
from soel.report.facts import ItemMap, ReportFacts
from soel.report.view import Picture
from soel.session.create import SessionEntry
from soel.text import ENGLISH, count, number
from soel.types import Floats, Label


def write_report(facts: ReportFacts, out: Path) -> Path:
    """Write the page to `out`, whole or not at all, and return where it lies."""
    return _write(render(facts), Path(out))


def render(facts: ReportFacts) -> str:
    """The report as text."""
    script = read_asset("map.js").replace("export class", "class") + read_asset("report.js")
    return (
        _templates()
        .get_template("report.html")
        .render(
            facts_of=facts,
            points=_points(facts.map, np.random.default_rng(facts.setup.seed)),
            curve=Curve.of(facts.history) if facts.history else None,
            policy=_policy(script),
            style=_style(),
            script=Markup(script),
            t=ENGLISH,
        )
    )


def write_session_list(folder: Path, sessions: Sequence[SessionEntry], when: str, out: Path) -> Path:
    """Write the sessions of a folder: where each stands, and how to go on with it."""
    template = _templates().get_template("sessions.html")
    return _write(template.render(folder=folder, sessions=sessions, when=when, style=_style()), out)


@dataclass(frozen=True)
class Curve:
    """The mean loss by epoch and the band over all members, as paths in a box of 1000 by 100."""

    mean: str
    band: str
    words: str

    @classmethod
    def of(cls, history: Sequence[Sequence[float]]) -> Curve:
        """history[epoch][member]."""
        losses = np.asarray(history, np.float64)
        x = np.linspace(0, 1000, len(losses)).round(1)
        low, span = losses.min(), np.ptp(losses) or 1.0

        def path(values: Floats, at: Floats) -> str:
            return " L".join(
                f"{a:g} {b:g}" for a, b in zip(at, (100 - 100 * (values - low) / span).round(1), strict=True)
            )

        mean = losses.mean(axis=1)
        words = f"Over {len(losses)} epochs the mean loss goes from {number(mean[0])} to {number(mean[-1])}."
        band = f"M{path(losses.min(axis=1), x)} L{path(losses.max(axis=1)[::-1], x[::-1])}Z"
        return cls(f"M{path(mean, x)}", band, words)


def _points(drawn: ItemMap, rng: np.random.Generator) -> dict[str, Any]:
    """What the script of the map reads: places, scores and words of the shown items, and which are labelled."""
    rows = drawn.shown(rng)
    labels = [Label(int(label)).word for label in drawn.labels[rows]]
    listed = zip((drawn.names[row] for row in rows), drawn.scores[rows], labels, strict=True)
    return {
        **{name: _short(values) for name, values in (("x", drawn.points[rows, 0]), ("y", drawn.points[rows, 1]))},
        "score": _short(drawn.scores[rows]),
        "words": [f"{name}: score {number(float(score))}, {label}" for name, score, label in listed],
        "labelled": [{"row": at, "verdict": label} for at, label in enumerate(labels) if label != "unlabelled"],
    }


def _short(values: Floats) -> list[float]:
    """Values in six figures, which keeps the page small."""
    return [float(f"{value:.6g}") for value in values]


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
    made.filters |= {"number": number, "count": count, "code": _set_code, "data_url": _data_url}
    return made


def _set_code(text: str) -> Markup:
    """A sentence with its `backticked` parts set as code; a number never parts from its percent sign."""
    parts = text.replace(" %", "\u00a0%").split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts))


def _data_url(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.content).decode()}"


def _policy(script: str) -> str:
    """Only this script runs, nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _style() -> Markup:
    return Markup(read_asset("shared.css") + read_asset("report.css"))


def read_asset(name: str) -> str:
    """A file that belongs to the report."""
    return files("soel.report").joinpath("assets", name).read_text("utf-8")
