"""How the site is built: Markdown pages, the reference from docstrings, nothing from the network."""

from __future__ import annotations

import re

import soel

project = "soel"
author = "The soel developers"
version = release = soel.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["results/*"]
html_theme = "furo"
html_title = f"soel {version}"
html_copy_source = html_show_sourcelink = False
myst_heading_anchors = 3
default_role = "code"  # docstrings are written with single backticks, as Markdown has them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
napoleon_use_ivar = True


def setup(app: object) -> None:
    """Names such as `threshold_` are names in our docstrings, not references as reStructuredText has them."""
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)  # type: ignore[attr-defined]


def _keep_underscores(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        lines[number] = "".join(p if p.startswith("`") else re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", p) for p in parts)
