"""The owner's guideline: Markdown in, harmless HTML out."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup

# Raw HTML is shown as text, and an address that could run code stays text. Pictures would let a guideline
# call other servers.
_READER = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False}).disable("image")


def render(text: str) -> Markup:
    """The guideline as HTML."""
    return Markup(_READER.render(text))
