"""Small pieces of HTML. Whatever comes from data is escaped here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

SIGNS = {"normal": "■", "anomaly": "▲"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def safe(value: object) -> Markup:
    """The value as HTML: escaped, unless it is markup."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def join(parts: Sequence[Markup], between: str = "\n") -> Markup:
    """Pieces one after the other."""
    return Markup(between.join(parts))


def item(name: str) -> Markup:
    """An item id, kept apart from its surroundings so that its writing direction cannot leak."""
    return Markup(f'<bdi class="item">{safe(name)}</bdi>')


def answer(word: str) -> Markup:
    """A label word with the sign it has on the map."""
    if word not in SIGNS:
        return Markup(f'<span class="muted">{safe(word)}</span>')
    return Markup(f'<span class="{word}"><span aria-hidden="true">{SIGNS[word]}</span> {word}</span>')


def keep_together(text: str) -> Markup:
    """A sentence in which a number never parts from its percent sign."""
    return Markup(escape(text).replace(" %", "&nbsp;%"))


def with_code(text: str) -> Markup:
    """A sentence with its `backticked` parts set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return safe(text)
    return join([Markup(f"<code>{safe(p)}</code>") if n % 2 else safe(p) for n, p in enumerate(parts)], "")


def tile(name: str, value: str, detail: str = "") -> Markup:
    """A key figure."""
    small = f'<dd class="detail">{keep_together(detail)}</dd>' if detail else ""
    return Markup(f'<div class="tile"><dt>{safe(name)}</dt><dd class="value">{keep_together(value)}</dd>{small}</div>')


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    numeric: Sequence[int],
    below: Sequence[Markup] = (),
) -> Markup:
    """A table with a caption that scrolls sideways on a small screen; `numeric` columns go to the right.

    below: what stands under each row, as wide as the screen.
    """
    kind = ["number" if column in numeric else "text" for column in range(len(header))]
    head = "".join(f'<th scope="col" class="{k}">{safe(name)}</th>' for k, name in zip(kind, header, strict=True))
    cells = ["".join(f'<td class="{k}">{safe(c)}</td>' for k, c in zip(kind, row, strict=True)) for row in rows]
    if below:
        under = [f'<td class="below" colspan="{len(header)}">{each}</td>' for each in below]
        cells = [f'{own}</tr>\n<tr class="under">{more}' for own, more in zip(cells, under, strict=True)]
    body = "\n".join(f"<tr>{each}</tr>" for each in cells)
    return Markup(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{safe(caption)}">'
        f"<table><caption><span>{safe(caption)}</span></caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def section(name: str, title: str, *content: Markup) -> Markup:
    """A part of the page under its own heading."""
    return Markup(
        f'<section aria-labelledby="{name}-title"><h2 id="{name}-title">{safe(title)}</h2>\n{join(content)}\n</section>'
    )


def script_json(value: Any) -> Markup:
    """JSON that cannot end or comment out the script element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
