"""Querying strategies: which rows are worth asking about."""

from soel.plugins import Registry
from soel.settings import Profile

STRATEGIES = Registry(
    "strategy",
    {
        "diverse": "soel.ask.by_distance:Diverse",
        "gradient-diverse": "soel.ask.by_distance:GradientDiverse",
        "random": "soel.ask.by_score:Random",
        "highest": "soel.ask.by_score:Highest",
        "positive": "soel.ask.by_score:Positive",
        "positive-random": "soel.ask.by_score:PositiveRandom",
        "positive-diverse": "soel.ask.by_distance:PositiveDiverse",
        "positive-distant": "soel.ask.by_distance:PositiveDistant",
        "margin": "soel.ask.by_score:Margin",
        "margin-diverse": "soel.ask.by_distance:MarginDiverse",
        "k-means++": "soel.ask.by_distance:KMeansPlusPlus",
        "k-center": "soel.ask.by_distance:KCenter",
        "medoids": "soel.ask.by_group:Medoids",
    },
)


def is_sequential(profile: Profile) -> bool:
    """Whether each question knows the last answer: the strategy wants it, and a detector can learn it at once."""
    return STRATEGIES.get(profile.strategy).is_sequential and profile.schedule.detector is not None
