"""Why a row is an alarm: the smallest change that would make it ordinary, and what alarms have in common."""

from soel.explain.counterfactual import Counterfactual, Explainer
from soel.explain.explanation import Explanation, Reason, RowExplanation
from soel.explain.table import TableExplainer

__all__ = ["Counterfactual", "Explainer", "Explanation", "Reason", "RowExplanation", "TableExplainer"]
