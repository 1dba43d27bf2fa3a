"""Why a row is an alarm: the smallest change that would make it ordinary."""

from soel.explain.explainer import Explainer
from soel.explain.explanation import Explanation, Reason, RowExplanation, localise, name_group, show_cell

__all__ = ["Explainer", "Explanation", "Reason", "RowExplanation", "localise", "name_group", "show_cell"]
