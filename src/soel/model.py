"""What the loop hands on: scores before the first label (`Blend`) and after learning (`Fitted`), as arrays and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soel import networks
from soel.assess.calibration import Calibration
from soel.assess.conformal import FitFigures, Reference, UnsureBand
from soel.detect import DETECTORS
from soel.detect.detector import Detector, PlaceDetector
from soel.errors import DataError
from soel.types import ANOMALY, NORMAL, UNLABELLED, Chances, Estimate, Floats, Labels, Pool, Rows, within

if TYPE_CHECKING:
    from soel.networks import Model

DETECTOR = "detector."  # prefixes of arrays in a state
NETWORK = "network."
PATCHES = "patches."
POOL_SCORES, POOL_LABELS = "pool_scores", "pool_labels"
REFERENCE, REFERENCE_WEIGHTS = "reference", "reference_weights"
State = tuple[dict[str, np.ndarray], dict[str, Any]]
NewModel = Callable[[], "Model"]


@dataclass(frozen=True)
class TrainedNetwork:
    """Trained members, and the mean (S,) and standard deviation (S,) of each one's scores over the pool."""

    model: Model
    centre: Floats
    spread: Floats

    @classmethod
    def measured(cls, model: Model, raw: Floats) -> TrainedNetwork:
        """From the members' scores (S, N) of the pool."""
        scores = raw.astype(np.float64)
        spread = scores.std(axis=1)
        return cls(model, scores.mean(axis=1), np.where(spread > 0, spread, 1.0))

    def score(self, x: Floats) -> Floats:
        """The mean (n,) of the members' standardised scores."""
        return self.combine(networks.losses(self.model, x)[0])

    def combine(self, raw: Floats) -> Floats:
        """The same from the members' scores (S, n)."""
        return np.asarray(((raw - self.centre[:, None]) / self.spread[:, None]).mean(axis=0))

    def embed(self, x: Floats) -> Floats:
        """The members' embeddings (n, S D), side by side."""
        members = networks.embed(self.model, x)  # (S, n, D)
        return np.ascontiguousarray(members.transpose(1, 0, 2)).reshape(len(x), -1)


@dataclass(frozen=True)
class PatchPart:
    """What the patches of pictures add to a score: `weight` times that of a detector fitted on them."""

    detector: PlaceDetector
    weight: float

    def add(self, whole: Floats, by_patches: Floats) -> Floats:
        """Scores (n,) of whole pictures and of their patches together."""
        return np.asarray(whole + self.weight * by_patches)


@dataclass(frozen=True)
class Blend:
    """A detector's score plus `deep_weight` times a network's; one of them may be missing, not both.

    The space in which rows are compared is the detector's, and the network's embeddings without one. patches: what
    the patches of pictures add, where a pool has them.
    """

    detector: Detector | None
    network: TrainedNetwork | None = None
    deep_weight: float = 1.0
    patches: PatchPart | None = None

    def score(self, x: Floats, patches: Floats | None = None) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d) and their patches (n, P, D); higher is more anomalous."""
        whole = self.trained.score(x) if self.detector is None else self._add(self.detector.score(x), x)
        if self.patches is None:
            return whole
        if patches is None:
            raise DataError(
                "This model looks at patches of pictures, and only rows were given. Score the pictures themselves, or "
                "start a session with <<patches=no>>."
            )
        return self.patches.add(whole, self.patches.detector.score(patches))

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n,) of rows (n, d) alone that were put together from others (n, s, d)."""
        return self.trained.score(x) if self.detector is None else self._add(self.detector.score_changed(x, sources), x)

    def score_both(self, x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        """Scores (n,) of rows (n, d) alone, and those (m,) of changed ones (m, d) with their sources (m, s, d)."""
        if self.detector is None:
            return self.trained.score(x), self.trained.score(changed)
        own, others = self.detector.score_both(x, changed, sources)
        return self._add(own, x), self._add(others, changed)

    def rough_score(self, x: Floats) -> Floats:
        """Scores (n,) of rows alone that are quick to have and much like the true ones."""
        return self.trained.score(x) if self.detector is None else self.detector.rough_score(x)

    def chances(self) -> Chances | None:
        """Probabilities by the detector of rows without a label, where it scores alone."""
        alone = not self.uses_network and self.patches is None
        return self.detector.chances() if self.detector is not None and alone else None

    def _add(self, by_detector: Floats, x: Floats) -> Floats:
        """The detector's scores (n,) with what the network says of the rows."""
        return np.asarray(by_detector + self.deep_weight * self.trained.score(x)) if self.uses_network else by_detector

    def embed(self, x: Floats) -> Floats:
        """Rows (n, d) as the points (n, p) between which distances mean something."""
        return self.trained.embed(x) if self.detector is None else self.detector.space(x)

    @property
    def uses_network(self) -> bool:
        """Whether the network adds to the score."""
        return self.network is not None and self.deep_weight != 0

    @property
    def network_weight(self) -> float:
        """How much the network's score, of spread 1, counts in the sum."""
        if self.detector is None:
            return 1.0
        return self.deep_weight if self.uses_network else 0.0

    @property
    def trained(self) -> TrainedNetwork:
        """The network of a blend that has one."""
        assert self.network is not None
        return self.network

    @property
    def history(self) -> list[list[float]]:
        """Mean loss per epoch and member; empty without a network."""
        return [] if self.network is None else self.network.model.history


@dataclass(frozen=True, kw_only=True)
class Fitted(Blend):
    """What was learnt: scores above the threshold are alarms.

    pool_scores, pool_labels: (N,) of the pool it learnt from. reference: what stands for the scores of new normal rows.
    """

    estimate: Estimate
    threshold: float
    calibration: Calibration
    pool_scores: Floats
    pool_labels: Labels
    reference: Reference

    def probabilities(self, scores: Floats) -> Floats:
        """Of being an anomaly: (n,) by scores (n,)."""
        return self.calibration.probabilities(scores)

    def alarms(self, scores: Floats) -> np.ndarray:
        """Which scores (n,) lie above the threshold."""
        return np.asarray(scores > self.threshold)

    def p_values(self, scores: Floats) -> Floats:
        """How often a normal row scores as high: (n,) of scores (n,), by the pool as far as it stands for normal."""
        return self.reference.p_values(scores)

    @property
    def figures(self) -> FitFigures:
        """What is said of the pool it learnt from."""
        return FitFigures.of(self.pool_scores, self.pool_labels, self.threshold, self.estimate)

    @property
    def unsure(self) -> UnsureBand:
        """Scores of rows whose class depends on the contamination estimate."""
        return UnsureBand.of(self.pool_scores, self.estimate.low, self.estimate.high)


def state_of(model: Blend) -> State:
    """A model as arrays by name and plain JSON values."""
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, Any] = {"detector": None, "network": None, "deep_weight": model.deep_weight}
    if model.detector is not None:
        arrays |= {DETECTOR + name: array for name, array in model.detector.arrays().items()}
        notes["detector"] = model.detector.name
    if model.network is not None:
        members, centre, spread = model.network.model, model.network.centre, model.network.spread
        arrays |= {NETWORK + name: tensor.numpy() for name, tensor in members.tensors().items()}
        notes["network"] = {"model": members.notes(), "centre": centre.tolist(), "spread": spread.tolist()}
    if model.patches is not None:
        arrays |= {PATCHES + name: array for name, array in model.patches.detector.arrays().items()}
        notes["patches"] = {"detector": model.patches.detector.name, "weight": model.patches.weight}
    if not isinstance(model, Fitted):
        return arrays, notes
    kept: dict[str, np.ndarray] = {
        POOL_SCORES: np.asarray(model.pool_scores, np.float64),
        POOL_LABELS: np.asarray(model.pool_labels, np.int8),
        REFERENCE: model.reference.scores,
        REFERENCE_WEIGHTS: model.reference.weights,
    }
    learnt = {
        "estimate": asdict(model.estimate),
        "threshold": model.threshold,
        "calibration": asdict(model.calibration),
    }
    return arrays | kept, notes | learnt


def restore(arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any], new_model: NewModel) -> Blend:
    """A model back from its state. new_model: makes an empty network of the same shape, called where there is one."""
    detector = network = patches = None
    if notes["detector"] is not None:
        detector = DETECTORS.get(notes["detector"]).from_arrays(within(arrays, DETECTOR))
    if notes["network"] is not None:
        network = _restore_network(within(arrays, NETWORK), notes["network"], new_model)
    if notes.get("patches") is not None:
        part = DETECTORS.get(notes["patches"]["detector"]).from_arrays(within(arrays, PATCHES))
        patches = PatchPart(part, float(notes["patches"]["weight"]))
    blend = Blend(detector, network, notes["deep_weight"], patches)
    if notes.get("estimate") is None:
        return blend
    return Fitted(
        **vars(blend),
        estimate=Estimate(**notes["estimate"]),
        threshold=float(notes["threshold"]),
        calibration=Calibration(**{name: float(value) for name, value in notes["calibration"].items()}),
        pool_scores=np.asarray(arrays[POOL_SCORES], np.float64),
        pool_labels=np.asarray(arrays[POOL_LABELS], np.int8),
        reference=Reference(*(np.asarray(arrays[name], np.float64) for name in (REFERENCE, REFERENCE_WEIGHTS))),
    )


def _restore_network(arrays: Mapping[str, np.ndarray], notes: Mapping[str, Any], new_model: NewModel) -> TrainedNetwork:
    from soel.deep import torch  # here: a blend without a network has no need of it

    model = new_model()
    model.restore({name: torch.from_numpy(array) for name, array in arrays.items()}, notes["model"])
    return TrainedNetwork(model, *(np.asarray(notes[name], np.float64) for name in ("centre", "spread")))


# Scores of rows by detectors that were fitted without them or their labels

FOLDS = 10
MOST_ROWS = 2000  # of a larger pool so many are left out at once, and only they are scored
OPTIMISM = 0.6  # of its spread: how much lower a network scores rows that it was trained on (benchmarks/choices.md)
# benchmarks/choices.md says how these two were chosen
DOUBT = 5.0  # the odds that a row is an anomaly may be so many times lower than they seem
COUNTERWEIGHT = 0.5  # weight of a labelled anomaly; a normal row has 1
Fit = Callable[[Floats, Labels], Detector | None]
LARGE = 20_000  # rows from which one row more or less makes no difference


def reference_scores(
    blend: Blend, scores: Floats, pool: Pool, labels: Labels, suspected: Floats | None, fit: Fit, seed: int
) -> Reference:
    """What stands for the scores of new normal rows: the pool's (N,), as far as they are not anomalies.

    A detector that was fitted on a row scores it lower than a new one, so it is fitted without it for this; one that
    leaves it out by itself is asked what it would say without the row's label, and rows that it suspects weigh less. A
    network is too costly to be trained again: its part is raised by OPTIMISM. Patches are taken as they are.

    suspected: (N,) probabilities of being an anomaly; None where the share is only assumed, and every row weighs 1.
    fit: the blend's detector, from rows and their labels.
    """
    scores = scores + OPTIMISM * blend.network_weight
    detector, kept, fair = blend.detector, (labels != ANOMALY) & pool.fair, pool.fair
    if detector is not None and detector.leaves_out:
        answered = np.flatnonzero(labels != UNLABELLED)
        labelled = pool.rows[answered]
        scores[answered] += detector.score_unlabelled(labelled) - detector.score(labelled)
        if suspected is None:
            return Reference.of(scores[kept])
        return Reference(scores[fair], weigh(labels[fair], suspected[fair]))
    if detector is None or len(pool) > LARGE:
        return Reference.of(scores[kept])
    rows, held_out = score_held_out(fit, pool.rows, labels, seed)
    return Reference.of(scores[rows] + held_out - detector.score(pool.rows[rows]))


def weigh(labels: Labels, suspected: Floats) -> Floats:
    """How far each row of a pool stands for a normal one: (N,), by its label or its chance (N,) to be an anomaly.

    Labelled anomalies keep a weight. Questions go to what is suspicious in the pool, and the answers teach the detector
    about just these rows: new rows score a little higher than the others, and would raise more alarms than is said.
    """
    doubted = DOUBT * (1 - suspected)
    weights = np.where(labels == NORMAL, 1.0, doubted / (suspected + doubted))
    return np.where(labels == ANOMALY, COUNTERWEIGHT, weights)


def score_held_out(fit: Fit, rows: Floats, labels: Labels, seed: int) -> tuple[Rows, Floats]:
    """Positions (m,) in the pool and their scores (m,). Labelled anomalies stay in: they stand for nothing normal.

    fit: a detector from rows and their labels.
    """
    rng = np.random.default_rng([seed, len(rows)])
    open_rows = rng.permutation(np.flatnonzero(labels != ANOMALY))
    if len(rows) > MOST_ROWS:
        parts = [open_rows[:MOST_ROWS]]
    else:
        parts = [part for part in np.array_split(open_rows, FOLDS) if len(part)]
    scores = [_score_part(fit, rows, labels, part) for part in parts]
    return np.concatenate(parts), np.concatenate(scores)


def _score_part(fit: Fit, rows: Floats, labels: Labels, part: Rows) -> Floats:
    kept = np.ones(len(rows), bool)
    kept[part] = False
    detector = fit(rows[kept], labels[kept])
    assert detector is not None  # or there would be nothing to leave out
    return detector.score(rows[part])
