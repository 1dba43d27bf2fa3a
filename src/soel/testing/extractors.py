"""The laws of an extractor of features. A part is what makes one: a class, or any callable without arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soel.images.extractors import Extractor, Pictures
from soel.testing.laws import Law, check_all, laws_of, leaving_alone, require

MakeExtractor = Callable[[], Extractor]
RELATIVE, ABSOLUTE = 1e-3, 1e-4  # libraries add up in another order for other numbers of pictures


def check_extractor(make: MakeExtractor) -> None:
    """Hold an extractor against every law."""
    check_all(EXTRACTOR_LAWS, make)


def example_pictures(size: int, n_pictures: int = 4) -> Pictures:
    """Pictures of random colours around one of their own: (n, size, size, 3)."""
    rng = np.random.default_rng(0)
    base = rng.integers(40, 200, (n_pictures, 1, 1, 3))
    return np.clip(base + rng.normal(0, 20, (n_pictures, size, size, 3)), 0, 255).astype(np.uint8)


def check_features_are_one_vector_a_picture(make: MakeExtractor) -> None:
    """(B, d) finite numbers, however many pictures there are."""
    extractor = make()
    widths = set()
    for n_pictures in (1, 4):
        features = extractor.features(example_pictures(extractor.size, n_pictures))
        require(
            features.ndim == 2 and len(features) == n_pictures,
            f"{n_pictures} pictures must give as many vectors, got an array of shape {features.shape}.",
        )
        require(np.isfinite(features).all(), "Features must be finite.")
        widths.add(features.shape[1])
    require(len(widths) == 1, f"Vectors must have the same length for every batch, got {sorted(widths)}.")


def check_features_tell_pictures_apart(make: MakeExtractor) -> None:
    """Other pictures have other features."""
    extractor = make()
    features = extractor.features(example_pictures(extractor.size))
    require(
        len(np.unique(features.round(6), axis=0)) == len(features), "Pictures that differ must have other features."
    )


def check_pictures_do_not_meet(make: MakeExtractor) -> None:
    """A picture's features are its own, whatever stands beside it and in whichever place."""
    extractor = make()
    pictures = example_pictures(extractor.size)
    features = extractor.features(pictures)
    for place, picture in enumerate(pictures):
        alone = extractor.features(picture[None])[0]
        gap = float(np.abs(alone - features[place]).max())
        require(
            np.allclose(alone, features[place], RELATIVE, ABSOLUTE),
            f"A picture has other features among others: {gap:.3g} apart.",
        )


def check_extracting_is_idempotent(make: MakeExtractor) -> None:
    """The network is frozen: equal pictures give equal features, from the same extractor and from a new one."""
    extractor = make()
    pictures = example_pictures(extractor.size)
    first = extractor.features(pictures)
    for again in (extractor.features(pictures), make().features(pictures)):
        require(np.allclose(first, again, RELATIVE, ABSOLUTE), "The same pictures gave other features the second time.")


def check_pictures_are_not_changed(make: MakeExtractor) -> None:
    """The pictures belong to the caller."""
    extractor = make()
    pictures = example_pictures(extractor.size)
    with leaving_alone("The extractor", pictures=pictures):
        extractor.features(pictures)


def check_identity_is_stable(make: MakeExtractor) -> None:
    """Name, size and fingerprint are those of any other extractor made the same way: the cache goes by them."""
    first, second = make(), make()
    require(first.name and isinstance(first.name, str), f"An extractor must have a name, got {first.name!r}.")
    require(first.size > 0, f"The side of its pictures must be above 0, got {first.size}.")
    for what in ("name", "size", "fingerprint"):
        mine, theirs = getattr(first, what), getattr(second, what)
        require(mine == theirs, f"The {what} must be the same each time: {mine!r}, then {theirs!r}.")


EXTRACTOR_LAWS: tuple[Law[MakeExtractor], ...] = laws_of(__name__, but=check_extractor)
