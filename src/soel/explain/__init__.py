"""Why a row scores as it does: which columns raise it, how much each, and what would have made it ordinary.

Pure: a scoring function and encoded rows go in, arrays come out. It knows no detector by name.
"""

from soel.explain.explain import Explainer
from soel.explain.explanation import Explanation
from soel.explain.ordinary import Ordinary, find_ordinary
from soel.explain.reasons import Reason, find_reasons

__all__ = ["Explainer", "Explanation", "Ordinary", "Reason", "find_ordinary", "find_reasons"]
