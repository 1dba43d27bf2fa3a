"""The one loop: prepare a pool, propose questions, learn from the answers.

The estimator, sessions, their replay and the paper's experiments all call it. It is pure: it keeps nothing, touches
no disk, and takes all chance from the seeds it is given.
"""

from soel.learner.batch import learn_together, prepare_together
from soel.learner.compute import HERE, Compute
from soel.learner.learner import Learner
from soel.learner.models import Blend, Fitted, Network, Warm
from soel.networks.training.task import Task

__all__ = [
    "HERE",
    "Blend",
    "Compute",
    "Fitted",
    "Learner",
    "Network",
    "Task",
    "Warm",
    "learn_together",
    "prepare_together",
]
