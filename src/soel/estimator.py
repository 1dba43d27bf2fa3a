"""The scikit-learn estimator: ask for labels, fit, score."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from soel.ask import STRATEGIES
from soel.assess import ESTIMATORS
from soel.assess.metrics import cover_radius
from soel.assess.threshold import parse_threshold
from soel.checks import check_count, check_labels, read_contamination, read_seed
from soel.deep import settle
from soel.errors import ConfigError, DataError, ModelFileError
from soel.explain import Explainer
from soel.fitted_detector import (
    Because,
    Codes,
    FittedDetector,
    read_because,
    read_targets,
    split_told,
    warn_caller,
    warn_of_equal_rows,
)
from soel.images.image_rows import ImageRows, find_image_rows, stack_items
from soel.learner import Learner
from soel.model import Blend
from soel.model_folder import SavedModel, load_model, save_model
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES
from soel.report.progress import progress_bar
from soel.session.pictures import find_session_images
from soel.settings import Profile, choose_profile
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, find_kind, read_frame
from soel.tables.read_options import ReadOptions, as_options
from soel.tables.schema import warnings_of
from soel.types import NO_ROWS, UNLABELLED, Kind, Labels, Pool, Rows

if TYPE_CHECKING:
    from soel.networks.base import UserModule

Ask = Callable[[Rows], Any]


class SOEL(FittedDetector):
    """Anomaly detection with a few labels: picks the rows worth asking about, trains on labels and the rest.

    Parameters
    ----------
    profile : 'default', 'paper', 'authors' or a Profile
        Every setting that has no parameter of its own.
    backbone : str, callable or None
        A backbone by name, your own `n_features -> torch.nn.Module` with `losses(x)` and `embed(x)`
        (for arrays (N, C, H, W): from their shape (C, H, W)), or None for the profile's. One that is given here, or an
        `objective`, means the paper's learner (profile 'paper'). An array of pictures (N, H, W[, C]) is learnt as it is
        by 'mhrot' and by your own module, and by the features of a frozen network otherwise.
    strategy, objective : str or None
        How rows are picked and what is trained, by name; None for the profile's.
    goal : 'learn' or 'find'
        What questions are for: the best detector for the labels given (the profile's strategy), or as many anomalies
        as possible (which is a strategy of its own, so name none beside it).
    contamination : float, str or None
        A share you know, in (0, 0.5]; an estimator by name ('pretrained', 'kriging', 'kde', 'cover'); None for the
        profile's.
    threshold : str
        'contamination' (as many alarms as anomalies are estimated), 'share=0.02', 'alarms=50',
        'false-alarms=0.01', 'fdr=0.1' or 'cost=10:1' (of a miss and a false alarm). Each sets one cut on the pool's
        scores, so 'alarms=50' raises 50 in the pool and more or fewer in other rows, whereas `soel score` counts 50 in
        what it scores.
    kind : 'auto', 'table', 'vectors' or 'pictures'
        What the rows are: columns that mean something each, features of a network, or pixels; 'auto' looks at them.
    columns : ReadOptions, dict or None
        How the columns of a frame are to be read where the automatic reading is not wanted, such as
        {'ignore': ['memo'], 'categorical': ['branch'], 'decimal': ','}.
    random_state : int, RandomState or None
        The same integer gives the same queries and scores on one machine, in whatever order the rows come: samples are
        drawn by a hash of their values. So a float32 copy of float64 data, with other last digits, is asked and scored
        as under another seed.

    Attributes
    ----------
    contamination_, contamination_interval_ : float, (float, float)
        The estimated share of anomalies and its 80 % interval.
    cover_radius_ : float
        The largest distance of any row to its nearest labelled row, in the space in which
        rows are compared; NaN without labels.
    threshold_, offset_ : float
        Scores above `threshold_` are alarms; `offset_` is its negative, as scikit-learn has it.
    classes_ : array (2,)
        The codes of the two classes: [0, 1] (1 is the anomaly), or [-1, 1] (-1 is the anomaly) where y was not given
        or has these codes, so that scikit-learn's scorers are right with either.
    kind_ : str
        What the rows were taken for.
    backbone_ : str
        The network of the profile, 'own' for your own.
    quality_ : soel.assess.quality.Quality
        What the last spot check proves, each figure with its interval; set by `quality`.
    history_ : list of lists
        Mean loss per epoch and member; empty where no network was needed.

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
        goal: str = "learn",
        contamination: float | str | None = None,
        threshold: str = "contamination",
        kind: str = "auto",
        columns: ReadOptions | Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.profile = profile
        self.backbone = backbone
        self.strategy = strategy
        self.objective = objective
        self.goal = goal
        self.contamination = contamination
        self.threshold = threshold
        self.kind = kind
        self.columns = columns
        self.random_state = random_state

    def query(self, X: Any, n_queries: int = 10, y: Any = None, not_sure: bool = False) -> Rows:
        """Row positions worth labelling, in the order to ask. Changes nothing that was fitted.

        y : labels known so far; those rows are not asked again and count as covered.
        not_sure : ask about the rows that the last fit is not sure of first, then about others where they are too few.
        """
        n_queries = check_count("n_queries", n_queries)
        task = self._read(X)
        labels, _ = read_targets(y, len(task.pool))
        unsure = np.flatnonzero(self.not_sure(X)) if not_sure else NO_ROWS
        return task.learner.propose(self._prepare(task), task.pool, labels, n_queries, first=unsure).rows

    def fit(self, X: Any, y: Any = None, because: Because | None = None) -> SOEL:
        """Train on labelled and unlabelled rows.

        because: the columns, by name or position, whose values are why a labelled row is an anomaly, by the row's
            position: {3: ["amount"]}. Of a normal row: those whose values are fine.

        y : 1 anomaly, 0 normal, -1 or NaN not labelled, or those words; None trains without an expert. A y of -1 and 1
            in which 1 is the majority has the codes of outlier detectors: -1 anomaly, 1 normal.
        """
        task = self._read(X)
        labels, codes = read_targets(y, len(task.pool))
        return self._learn(task, labels, codes, because or {})

    def fit_with_expert(self, X: Any, ask: Ask, n_queries: int = 10, at_once: int | None = None) -> SOEL:
        """Query, call `ask(rows) -> labels`, and train; the same model as `query` and `fit` give.

        at_once : how many rows `ask` gets in a call. None asks one at a time where each question knows the last answer,
            as on tables, and all at once otherwise. A row without an answer (-1) is not asked again.

        `ask` may return (labels, because), too, with the columns that `fit` takes by the row's position.
        """
        n_queries = check_count("n_queries", n_queries)
        task = self._read(X)
        learner, pool, labels = task.learner, task.pool, np.full(len(task.pool), UNLABELLED, np.int8)
        usual = 1 if learner.is_sequential else n_queries
        at_once = check_count("at_once", usual if at_once is None else at_once)
        learner.check_budget(labels, n_queries)
        asked, named = NO_ROWS, dict[int, Sequence[str | int]]()
        while len(asked) < n_queries:
            n = min(at_once, n_queries - len(asked))
            rows = learner.propose(self._prepare(task), pool, labels, n, aside=asked[labels[asked] == UNLABELLED]).rows
            told, because = split_told(ask(rows))
            labels[rows] = check_labels(told, len(rows))
            named |= because
            asked = np.concatenate([asked, rows])
        return self._learn(task, labels, Codes(anomaly=1, normal=0), named)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then predict the same rows."""
        return self.fit(X, y).predict(X)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted detector to a folder: safetensors and a JSON manifest, never code."""
        self._fitted()
        save_model(Path(folder), self.detector_)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], backbone: UserModule | None = None) -> SOEL:
        """Read a detector back: from a folder that `save` wrote, or the last fit of a labelling session by its folder.

        One trained with your own backbone needs it again. A session's detector takes rows with the columns that the
        session learnt from, without its id and label columns; one on pictures takes their features, and where it looks
        at places the pictures themselves, an array (N, H, W, 3) of bytes.
        """
        from soel.session.create import find_model  # here: what learns in memory needs no store

        folder = Path(folder)
        saved, images = load_model(find_model(folder), backbone), find_session_images(folder)
        own = {"images": images.to_json()} if images is not None and saved.fitted.patches is not None else {}
        learner = saved.learner
        try:
            saved = replace(saved, extra=_extra_for_session(saved) | dict(saved.extra) | own)
            detector = cls(
                learner.profile,
                backbone=backbone,
                contamination=learner.contamination,
                threshold=str(learner.threshold),
                random_state=saved.extra["random_state"],
                kind=str(learner.profile.kind),
            )
            return detector._publish(saved)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"The manifest of {folder} does not describe an estimator: {error}. Save the model again."
            ) from error

    def _read(self, X: Any) -> PoolTask:
        def make_learner(profile: Profile) -> Learner:
            seed = read_seed(self.random_state)
            own = self.backbone if callable(self.backbone) else None
            return Learner(profile, seed, parse_threshold(self.threshold), own, read_contamination(self.contamination))

        return read_task(X, self._choose_profile(), read_columns(self.columns), self.kind, make_learner)

    def _choose_profile(self) -> Profile:
        """The profile with the parts that parameters name."""
        profile = choose_profile(
            self.profile,
            backbone="own" if callable(self.backbone) else self.backbone,
            objective=self.objective,
            strategy=self.strategy,
            contamination=self.contamination if isinstance(self.contamination, str) else None,
            goal=self.goal,
        )
        check_parts(profile)
        return profile

    def _prepare(self, task: PoolTask) -> Blend:
        """What is known before the first label; `query` and `fit` on the same data with the same settings share it."""
        learner = task.learner
        key = (task.pool.identity, learner.profile, learner.seed, learner.backbone)
        kept = _PREPARED.get(self)
        if kept is None or kept[0] != key:
            kept = _PREPARED[self] = key, learner.prepare(task.pool)
        return kept[1]

    def _learn(self, task: PoolTask, labels: Labels, codes: Codes, because: Because) -> SOEL:
        """Train, then publish: nothing is set on the estimator before that has succeeded."""
        learner, warm = task.learner, self._prepare(task)
        pool = replace(task.pool, named=read_because(because, labels, task.frame, task.encoder))
        rounds = learner.evidence(warm, pool, labels)
        with progress_bar("fit") as progress:
            fitted = learner.learn(warm, pool, rounds, labels, progress)
        extra = {
            "random_state": self.random_state if isinstance(self.random_state, int) else None,
            "cover_radius": cover_radius(rounds[0].embeddings, rounds[0].rows) if rounds else None,
            "n_features_in": len(task.frame.columns),
            "feature_names_in": list(task.frame.columns) if task.frame.named else [],
            "labels_sha256": hashlib.sha256(labels.tobytes()).hexdigest(),
            "images": None if task.images is None else task.images.to_json(),
            "codes": asdict(codes),
        }
        self._publish(SavedModel(learner, fitted, task.described_encoder, extra))
        if pool.kind is Kind.TABLE:
            known = fitted.pool_scores, labels, fitted.threshold
            self._why = Explainer(fitted, self._encoder, task.frame, pool.rows, *known)
        return self

    def _publish(self, saved: SavedModel) -> SOEL:
        """Set the fitted attributes."""
        fitted, extra = saved.fitted, saved.extra
        self._why = None
        self.detector_, self._encoder = saved, saved.encoder
        self.contamination_ = fitted.estimate.value
        self.contamination_interval_ = (fitted.estimate.low, fitted.estimate.high)
        self.contamination_estimate_ = fitted.estimate
        radius = extra["cover_radius"]
        self.cover_radius_ = float("nan") if radius is None else radius
        self.threshold_, self.offset_ = fitted.threshold, -fitted.threshold
        self.history_ = fitted.history
        self._codes = Codes(**extra["codes"])
        self.classes_ = self._codes.classes
        self.n_features_in_ = extra["n_features_in"]
        images = extra["images"]
        self._images = None if images is None else ImageRows.from_json(images)
        self.backbone_ = saved.learner.profile.backbone
        self.kind_ = str(saved.learner.profile.kind)
        self.__dict__.pop("feature_names_in_", None)
        if extra["feature_names_in"]:
            self.feature_names_in_ = np.array(extra["feature_names_in"], dtype=object)
        return self


# What each estimator prepared last, beside it: a query changes nothing on the estimator itself.
_PREPARED: WeakKeyDictionary[SOEL, tuple[object, Blend]] = WeakKeyDictionary()


def _extra_for_session(saved: SavedModel) -> dict[str, Any]:
    """What the estimator keeps beside a model, for one that a session has saved."""
    names = saved.encoder.column_names
    return {
        "random_state": saved.learner.seed,
        "cover_radius": None,
        "n_features_in": len(names),
        "feature_names_in": list(names) if saved.encoder.named else [],
        "images": None,
        "codes": asdict(Codes()),
    }


@dataclass(frozen=True)
class PoolTask:
    """The pool, how it was read, and the learner for it."""

    learner: Learner
    pool: Pool
    encoder: Encoder
    images: ImageRows | None
    frame: Frame

    @property
    def described_encoder(self) -> Encoder:
        """The encoder with what the pool holds in each column, where columns mean something each."""
        return self.encoder.with_baseline(self.frame) if self.pool.kind is Kind.TABLE else self.encoder


def read_task(
    x: Any, profile: Profile, columns: ReadOptions, kind: str, make_learner: Callable[[Profile], Learner]
) -> PoolTask:
    """The pool with the learner for its kind; pictures become pixels or features first."""
    x = stack_items(x)
    images, profile = find_image_rows(x, profile)
    rows, patches = (x, None) if images is None else images.read(x)
    frame = _pool_frame(rows, columns)
    settled = profile.kind_for(Kind.VECTORS if images is not None else find_kind(frame, kind))
    encoder = Encoder.fit(frame, profile.scaling_for(settled))
    pool = Pool.of(encoder.encode(frame), settled, patches)
    warn_of_equal_rows(pool.rows)
    learner = make_learner(settle(profile, settled, pool.n_features, patches is not None))
    return PoolTask(learner, pool, encoder, images, frame)


def check_parts(profile: Profile) -> None:
    """Refuse names of parts that there are not."""
    for registry, name in (
        (BACKBONES, profile.backbone),
        (STRATEGIES, profile.strategy),
        (OBJECTIVES, profile.objective),
        (ESTIMATORS, profile.contamination),
    ):
        if name not in ("auto", "own"):
            registry.check(name)


def read_columns(columns: ReadOptions | Mapping[str, Any] | None) -> ReadOptions:
    """How the columns of a frame are to be read."""
    if not isinstance(columns, ReadOptions | Mapping | None):
        raise ConfigError(
            f"columns must be ReadOptions or a dict such as {{'ignore': ['memo']}}, got {columns!r}; "
            "None leaves the reading to the data."
        )
    return as_options(columns)


def _pool_frame(x: Any, columns: ReadOptions) -> Frame:
    """The pool as a frame; one row is no pool. What could be meant otherwise is warned about."""
    frame = read_frame(x, columns)
    for words in warnings_of(frame.schema) if frame.schema is not None else ():
        warn_caller(words)
    if frame.n_rows < 2:
        raise DataError(f"Found array with {frame.n_rows} sample(s) while a minimum of 2 is required to fit.")
    return frame
