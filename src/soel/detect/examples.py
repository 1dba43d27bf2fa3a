"""What labels teach about patches: examples of anomalous and of harmless ones, and how much they change a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.detect.places import Gaussians, for_each_block, likeness, whiten
from soel.types import ANOMALY, Booleans, Floats, Labels, Rows

# Chosen on solar cells, boards and granite: benchmarks/choices.md.
EXAMPLES = 5  # patches of a labelled picture that stand for its label, where nobody marked them
MOST_MARKED, MOST_PICTURES = 20, 200  # patches of one picture, and pictures of each label, that are kept as examples
SAME = 0.5  # the cosine from which a patch is like one of a normal picture,
QUIET_ALIKE = 3.0  # and how much less it then counts
SMALLEST = 1e-6  # of an arm's length, before it is divided by


@dataclass(frozen=True)
class Examples:
    """Unit vectors (m, D) in which patches of labelled pictures leave the normal, and whose they are: (m,)."""

    arms: Floats
    owners: Rows


def find_examples(
    normal: Gaussians,
    x: Floats,
    found: Floats,
    labels: Labels,
    label: int,
    marked: Booleans | None,
    rng: np.random.Generator,
) -> Examples:
    """Of pictures with this label the marked patches, or the worst ones."""
    owners = np.flatnonzero(labels == label)
    owners = owners if len(owners) <= MOST_PICTURES else np.sort(rng.choice(owners, MOST_PICTURES, replace=False))
    arms: list[Floats] = [np.zeros((0, x.shape[2]), np.float32)]
    for row in owners:
        places = np.argsort(-found[row], kind="stable")
        if label == ANOMALY and marked is not None and marked[row].any():
            places = places[marked[row][places]][:MOST_MARKED]
        else:
            places = places[:EXAMPLES]
        arms.append(arms_at(normal.means, normal.whitenings, x[[row]], places[None])[0])
    lengths = [len(each) for each in arms[1:]]
    joined = np.concatenate(arms)
    units = joined / np.maximum(np.linalg.norm(joined, axis=1, keepdims=True), SMALLEST)
    return Examples(np.asarray(units, np.float32), np.repeat(owners, lengths))


def arms_at(means: Floats, whitenings: Floats, x: Floats, at: Rows) -> Floats:
    """Whitened arms (n, k, D) of the patches at these places (n, k)."""
    arms = np.take_along_axis(x, at[..., None], axis=1).astype(np.float32) - means[at]
    return np.asarray(np.einsum("nwij,nwj->nwi", whitenings[at], arms))


def weigh(normal: Gaussians, x: Floats, anomalous: Floats, harmless: Floats, reach: float) -> Floats:
    """How much the distance of each patch counts (n, P), by the examples that it looks like."""
    weights = np.ones(x.shape[:2], np.float32)
    if not len(anomalous) and not len(harmless):
        return weights

    def compute(block: slice) -> None:
        weights[block] = weigh_arms(whiten(x[block], normal.means, normal.whitenings), anomalous, harmless, reach)

    for_each_block(len(x), compute)
    return weights


def weigh_arms(arms: Floats, anomalous: Floats, harmless: Floats, reach: float) -> Floats:
    """The same for whitened arms (..., D)."""
    alike, quiet = likeness(arms, anomalous), likeness(arms, harmless)
    return np.asarray(np.exp(reach * alike - QUIET_ALIKE * np.maximum(quiet - np.maximum(alike, SAME), 0)))
