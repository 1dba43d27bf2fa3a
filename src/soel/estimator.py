"""The scikit-learn face: ask for labels, fit, score."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from soel.api.machine import for_machine
from soel.api.models import SavedDetector, load_detector, save_detector
from soel.backbones.base import UserModule
from soel.contamination import ESTIMATORS
from soel.data.encoder import Encoder
from soel.data.frame import Frame, read_frame
from soel.engines.detector import Detector
from soel.engines.local import LocalEngine
from soel.errors import ConfigError, DataError
from soel.media.image_rows import ImageRows, find_image_rows
from soel.metrics import cover_radius
from soel.metrics.threshold import parse_threshold
from soel.profiles import Profile, find_profile
from soel.queries import STRATEGIES
from soel.report.progress import progress_bar
from soel.types import UNLABELLED, Evidence, Floats, Labels, PoolView, Rows
from soel.validation import check_labels

Ask = Callable[[Rows], Any]


class SOEL(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Anomaly detection with a few labels: picks the rows worth asking about, trains on labels and the rest.

    Parameters
    ----------
    profile : 'default', 'paper', 'authors' or a Profile
        Every setting that has no parameter of its own.
    backbone : str, callable or None
        A backbone by name, your own `n_features -> torch.nn.Module` with `losses(x)` and `embed(x)`,
        or None for the profile's. 'auto' decides by the data. An array of pictures (N, H, W[, C]) is learnt as
        it is by 'mhrot', and by the features of a frozen network otherwise.
    strategy, objective : str or None
        How rows are picked and what is trained, by name; None for the profile's.
    contamination : float, str or None
        A share you know, in (0, 0.5]; an estimator by name ('kriging', 'kde', 'cover'); None for the profile's.
    threshold : str
        'contamination' (as many alarms as anomalies are estimated), 'share=0.02', 'alarms=50' or
        'false-alarms=0.01'.
    random_state : int, RandomState or None
        The same integer gives the same queries and scores on one machine.

    Attributes
    ----------
    contamination_, contamination_interval_ : float, (float, float)
        The estimated share of anomalies and its 80 % interval.
    cover_radius_ : float
        The largest distance of any row to its nearest labelled row, in the space in which
        rows are compared; NaN without labels.
    threshold_, offset_ : float
        Scores above `threshold_` are alarms; `offset_` is its negative, as scikit-learn has it.
    backbone_ : str
        The backbone that was trained.
    history_ : list of lists
        Mean loss per epoch and member.

    Examples
    --------
    >>> import numpy as np
    >>> from soel import SOEL
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> X[:3] += 6
    >>> detector = SOEL(random_state=0)
    >>> rows = detector.query(X, 5)
    >>> y = np.full(60, -1)
    >>> y[rows] = rows < 3
    >>> int(detector.fit(X, y).anomaly_score(X).argmax()) < 3
    True
    """

    def __init__(
        self,
        profile: str | Profile = "default",
        *,
        backbone: str | UserModule | None = None,
        strategy: str | None = None,
        objective: str | None = None,
        contamination: float | str | None = None,
        threshold: str = "contamination",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.profile = profile
        self.backbone = backbone
        self.strategy = strategy
        self.objective = objective
        self.contamination = contamination
        self.threshold = threshold
        self.random_state = random_state

    def query(self, X: Any, n_queries: int = 10, y: Any = None) -> Rows:
        """Row positions worth labelling, in the order to ask. Changes nothing on the estimator.

        y : labels known so far; those rows are not asked again and count as covered.
        """
        engine, frame, _ = self._read(X)
        labels = check_labels(y, frame.n_rows)
        pool = Encoder.fit(frame, engine.profile.scaling_for(len(frame.columns))).encode(frame)
        return self._pick(engine, engine.warm_up(pool), pool, labels, n_queries)

    def fit(self, X: Any, y: Any = None) -> SOEL:
        """Train on labelled and unlabelled rows.

        y : 1 anomaly, 0 normal, -1 or NaN not labelled, or those words; None trains without an expert.
        """
        engine, frame, self._images = self._read(X)
        labels = check_labels(y, frame.n_rows)
        pool = self._prepare(engine, frame)
        with progress_bar("fit") as progress:
            return self._learn(engine, engine.warm_up(pool), pool, labels, progress)

    def fit_with_expert(self, X: Any, ask: Ask, n_queries: int = 10) -> SOEL:
        """Query, call `ask(rows) -> labels` once, and train; the same model as `query` and `fit` give."""
        engine, frame, self._images = self._read(X)
        pool = self._prepare(engine, frame)
        warm = engine.warm_up(pool)
        labels = np.full(frame.n_rows, UNLABELLED, np.int8)
        rows = self._pick(engine, warm, pool, labels, n_queries)
        labels[rows] = check_labels(ask(rows), len(rows))
        with progress_bar("fit") as progress:
            return self._learn(engine, warm, pool, labels, progress)

    def anomaly_score(self, X: Any) -> Floats:
        """Scores (n,), higher is more anomalous: the unambiguous face."""
        return self._saved().detector.score(self._encode(X))

    def anomaly_probability(self, X: Any) -> Floats:
        """Probabilities (n,) of being an anomaly, calibrated to the labels and the estimated contamination."""
        calibration = self._saved().detector.calibration
        assert calibration is not None
        return calibration.probabilities(self.anomaly_score(X))

    def score_samples(self, X: Any) -> Floats:
        """The negative anomaly score, as scikit-learn has it."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> Floats:
        """Positive or zero for normal rows, negative for anomalies."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """scikit-learn's outlier codes: -1 anomaly, 1 normal."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y).predict(X)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted detector to a folder: safetensors and a JSON manifest, never code."""
        save_detector(Path(folder), self._saved())

    @classmethod
    def load(cls, folder: str | os.PathLike[str], backbone: UserModule | None = None) -> SOEL:
        """Read a detector back. One trained with your own backbone needs it again."""
        saved = load_detector(Path(folder), backbone)
        engine = saved.engine
        detector = cls(
            engine.profile,
            backbone=backbone,
            contamination=engine.contamination,
            threshold=str(engine.threshold),
            random_state=saved.extra["random_state"],
        )
        return detector._publish(saved)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value has a meaning
        tags.input_tags.categorical = True
        return tags

    def _read(self, X: Any) -> tuple[LocalEngine, Frame, ImageRows | None]:
        """The pool as a frame with the engine for its kind; pictures become pixels or features first."""
        engine = self._engine()
        images, profile = find_image_rows(X, engine.profile)
        frame = _pool_frame(X if images is None else images.rows(X))
        if engine.backbone is None:
            profile = for_machine(profile, len(frame.columns))
        return replace(engine, profile=profile), frame, images

    def _engine(self) -> LocalEngine:
        """Settings and seed, checked: the one place where parameters become parts."""
        profile = find_profile(self.profile)
        profile = profile.with_parts(
            strategy=self.strategy,
            objective=self.objective,
            backbone=self.backbone if isinstance(self.backbone, str) else None,
            contamination=self.contamination if isinstance(self.contamination, str) else None,
        )
        ESTIMATORS.get(profile.contamination)
        return LocalEngine(
            profile,
            int(check_random_state(self.random_state).randint(2**31 - 1)),
            parse_threshold(self.threshold),
            self.backbone if callable(self.backbone) else None,
            _share(self.contamination),
        )

    def _prepare(self, engine: LocalEngine, frame: Frame) -> Floats:
        """Encode the pool and remember how."""
        self._encoder = Encoder.fit(frame, engine.profile.scaling_for(len(frame.columns)))
        self.n_features_in_ = len(frame.columns)
        if frame.named:
            self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        return self._encoder.encode(frame)

    def _pick(self, engine: LocalEngine, warm: Detector, pool: Floats, labels: Labels, n_queries: int) -> Rows:
        name, options = engine.profile.strategy_for(pool.shape[1])
        strategy = STRATEGIES.create(name, **options)
        rate = engine.contamination
        scores, embeddings = engine.look(warm, pool, rate if strategy.space == "gradient" else None)
        view = PoolView(scores, embeddings, labels, rate)
        rng = np.random.default_rng([engine.seed, int((labels != UNLABELLED).sum())])
        return strategy.select(view, n_queries, rng).rows  # type: ignore[no-any-return]

    def _learn(self, engine: LocalEngine, warm: Detector, pool: Floats, labels: Labels, progress: Any) -> SOEL:
        scores, embeddings = engine.look(warm, pool)
        rows = np.flatnonzero(labels != UNLABELLED)
        evidence = Evidence(scores, embeddings, rows, labels[rows], np.full(len(rows), np.nan))
        detector = engine.learn(warm, pool, labels, engine.estimate([evidence]), progress)
        extra = {
            "random_state": self.random_state if isinstance(self.random_state, int) else None,
            "cover_radius": cover_radius(embeddings, rows) if len(rows) else None,
            "n_features_in": self.n_features_in_,
            "feature_names_in": list(getattr(self, "feature_names_in_", [])),
            "labels_sha256": hashlib.sha256(labels.tobytes()).hexdigest(),
            "images": None if self._images is None else self._images.to_json(),
        }
        return self._publish(SavedDetector(engine, detector, self._encoder, extra))

    def _publish(self, saved: SavedDetector) -> SOEL:
        """Set the fitted attributes."""
        detector, estimate = saved.detector, saved.detector.estimate
        assert estimate is not None
        assert detector.threshold is not None
        assert saved.encoder is not None
        self.detector_, self._encoder = saved, saved.encoder
        self.contamination_ = estimate.value
        self.contamination_interval_ = (estimate.low, estimate.high)
        self.contamination_estimate_ = estimate
        radius = saved.extra["cover_radius"]
        self.cover_radius_ = float("nan") if radius is None else radius
        self.threshold_, self.offset_ = detector.threshold, -detector.threshold
        self.history_ = detector.history
        self.n_features_in_ = saved.extra["n_features_in"]
        images = saved.extra.get("images")
        self._images = None if images is None else ImageRows.from_json(images)
        self.backbone_ = saved.engine.profile.backbone_for(saved.encoder.n_features)
        if saved.extra["feature_names_in"]:
            self.feature_names_in_ = np.array(saved.extra["feature_names_in"], dtype=object)
        return self

    def _saved(self) -> SavedDetector:
        check_is_fitted(self, "detector_")
        return self.detector_

    def _encode(self, X: Any) -> Floats:
        self._saved()
        return self._encoder.encode(
            read_frame(X if self._images is None else self._images.rows(X), reading=self._encoder.how)
        )


def _pool_frame(X: Any) -> Frame:
    """The pool as a frame; one row is no pool."""
    frame = read_frame(X)
    if frame.n_rows < 2:
        raise DataError(f"Found array with {frame.n_rows} sample(s) while a minimum of 2 is required to fit.")
    return frame


def _share(contamination: float | str | None) -> float | None:
    """A share given as a number; names and None are the estimators' business."""
    if contamination is None or isinstance(contamination, str):
        return None
    if not 0 < float(contamination) <= 0.5:
        raise ConfigError(f"contamination must lie in (0, 0.5], got {contamination}.")
    return float(contamination)
