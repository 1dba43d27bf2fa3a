"""Querying strategies: which rows are worth asking about."""

from soel.ask.base import Need
from soel.plugins import Registry
from soel.settings import Profile

STRATEGIES = Registry(
    "strategy",
    {
        "diverse": "soel.ask.diverse:Diverse",
        "gradient-diverse": "soel.ask.diverse:GradientDiverse",
        "random": "soel.ask.random:Random",
        "positive": "soel.ask.positive:Positive",
        "positive-random": "soel.ask.positive_random:PositiveRandom",
        "positive-diverse": "soel.ask.positive_diverse:PositiveDiverse",
        "positive-distant": "soel.ask.positive_distant:PositiveDistant",
        "margin": "soel.ask.margin:Margin",
        "margin-diverse": "soel.ask.margin_diverse:MarginDiverse",
        "k-center": "soel.ask.k_center:KCenter",
        "medoids": "soel.ask.medoids:Medoids",
        "k-means-parallel": "soel.ask.k_means_parallel:KMeansParallel",
    },
)


def is_sequential(profile: Profile) -> bool:
    """Whether each question knows the last answer: the strategy wants it, and a detector can learn it at once."""
    return Need.ANSWERS in STRATEGIES.get(profile.strategy).needs and profile.schedule.detector is not None
