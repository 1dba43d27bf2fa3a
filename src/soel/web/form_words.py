"""How the cells of a column are written, in the words of the page: 'decimal comma', 'in €', 'day first'."""

from __future__ import annotations

from soel.tables.columns import BOUNDS, Form
from soel.text import Texts

_SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "_": "underscore"}
_LAYOUTS = {"clock": "form.clock", "epoch seconds": "form.epoch", "epoch milliseconds": "form.epoch"}


def form_words(form: Form, t: Texts) -> list[str]:
    """What is special about how a column is written; empty where there is nothing."""
    words = []
    if form.decimal == ",":
        words.append(t("form.decimal_comma"))
    if form.thousands:
        words.append(t("form.thousands", sign=t(f"form.{_SIGNS[form.thousands]}")))
    units = [unit for unit in form.units if unit not in BOUNDS]
    bounds = [unit for unit in form.units if unit in BOUNDS]
    words += [t("form.units", units=", ".join(units))] if units else []
    words += [t("form.bounds", signs=", ".join(bounds))] if bounds else []
    if form.words:
        words.append("/".join(sorted(form.words, key=lambda word: -form.words[word])))
    if form.order:
        words.append(t(f"columns.{form.order}"))
    elif form.layout in _LAYOUTS:
        words.append(t(_LAYOUTS[form.layout]))
    return words
