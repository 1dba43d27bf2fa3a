"""The sessions of a folder as one HTML page: where each stands, and how to go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from soel.files import write_whole
from soel.report.markup import Markup, safe, table
from soel.session.listing import SessionEntry

NEXT = {
    "ask": "ask for questions",
    "tell": "answer the open questions",
    "fit": "train",
    "score": "look at the results",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
HEADER = ("session", "data", "items", "labels", "anomalies", "next", "changed", "go on")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sessions in {folder}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header><h1>Sessions</h1><p class="muted"><bdi>{folder}</bdi> · {when}</p></header>
<main>
<section>{body}</section>
</main>
</body>
</html>
"""


def write_session_list(folder: Path, sessions: Sequence[SessionEntry], when: str, out: Path) -> Path:
    """Write the page, whole or not at all, and return where it lies."""
    rows = [_row(session) for session in sessions]
    body = table("Where each session stands", HEADER, rows, (2, 3, 4)) if rows else safe("There is none.")
    style = (files("soel.report") / "assets" / "page.css").read_text("utf-8")
    page = PAGE.format(policy=POLICY, folder=safe(folder), when=safe(when), style=style, body=body)
    write_whole(out, page.encode("utf-8", "replace"))
    return out


def _row(session: SessionEntry) -> list[object]:
    status, place = session.status, Markup(f"<bdi>{safe(session.folder)}</bdi>")
    if status is None:
        return [place, "", "", "", "", safe(session.error), "", ""]
    name = Markup(f"<strong><bdi>{safe(status.name)}</bdi></strong><br>{place}") if status.name else place
    labels = f"{status.n_labels:,} of {status.budget:,}"
    changed = session.changed[:16].replace("T", " ")
    data = Markup(f"<bdi>{safe(status.source)}</bdi>")
    return [name, data, f"{status.n_items:,}", labels, status.n_anomalies, NEXT[status.next], changed, _go_on(session)]


def _go_on(session: SessionEntry) -> Markup:
    if session.address:
        return Markup(f'<a href="{safe(session.address)}">open its page</a>')
    return Markup(f"<code>soel label {safe(session.folder)}</code>")
