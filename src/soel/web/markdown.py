"""The owner's guideline: Markdown in, harmless HTML out."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup

# Raw HTML is shown as text, and an address that could run code stays text. Pictures would let a guideline
# call other servers.
_READER = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False}).disable("image")
_WITHOUT_LINKS = MarkdownIt("js-default", {"html": False}).disable(["image", "link"])
MOST_BRACKETS = 500  # each may begin a link, and all that follows it is then looked through


def render(text: str) -> Markup:
    """The guideline as HTML; with very many brackets its links stay text, because reading them would take long."""
    reader = _READER if text.count("[") <= MOST_BRACKETS else _WITHOUT_LINKS
    return Markup(reader.render(text))
