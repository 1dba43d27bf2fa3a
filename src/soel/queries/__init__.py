"""Querying strategies: which rows are worth asking about."""

from soel.profiles import Profile
from soel.queries.base import Need
from soel.registry import Registry

STRATEGIES = Registry(
    "strategy",
    {
        "diverse": "soel.queries.diverse:Diverse",
        "gradient-diverse": "soel.queries.diverse:GradientDiverse",
        "random": "soel.queries.random:Random",
        "positive": "soel.queries.positive:Positive",
        "positive-random": "soel.queries.positive_random:PositiveRandom",
        "positive-diverse": "soel.queries.positive_diverse:PositiveDiverse",
        "positive-distant": "soel.queries.positive_distant:PositiveDistant",
        "margin": "soel.queries.margin:Margin",
        "margin-diverse": "soel.queries.margin_diverse:MarginDiverse",
        "k-center": "soel.queries.k_center:KCenter",
        "medoids": "soel.queries.medoids:Medoids",
        "k-means-parallel": "soel.queries.k_means_parallel:KMeansParallel",
    },
)


def hears_answers(profile: Profile) -> bool:
    """Whether each question knows the last answer: the strategy wants it, and a detector can learn it at once."""
    return Need.ANSWERS in STRATEGIES.get(profile.strategy).needs and profile.schedule.detector is not None
