"""The one training loop. It knows no backbone and no objective by name."""

from soel.training.inference import embed, losses, standardise
from soel.training.loop import fit, warm_up
from soel.training.model import Model

__all__ = ["Model", "embed", "fit", "losses", "standardise", "warm_up"]
