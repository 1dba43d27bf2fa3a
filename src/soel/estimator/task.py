"""What a call of the estimator is about: the profile that its parameters ask for, the pool, and the learner for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.utils import check_random_state

from soel.ask import STRATEGIES
from soel.assess import ESTIMATORS
from soel.assess.threshold import ThresholdRule, parse_threshold
from soel.checks import is_number
from soel.deep import settle
from soel.errors import ConfigError, DataError
from soel.estimator.notices import warn_caller, warn_of_equal_rows
from soel.images.image_rows import ImageRows, find_image_rows
from soel.learner import Learner
from soel.networks import BACKBONES
from soel.networks.objectives import OBJECTIVES
from soel.settings import Profile
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, find_kind, read_frame
from soel.tables.options import ReadOptions, as_options
from soel.tables.schema import warnings_of
from soel.types import Kind, Pool


@dataclass(frozen=True)
class Task:
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
) -> Task:
    """The pool with the learner for its kind; pictures become pixels or features first."""
    images, profile = find_image_rows(x, profile)
    rows, patches = (x, None) if images is None else images.read(x)
    frame = _pool_frame(rows, columns)
    settled = profile.kind_for(Kind.VECTORS if images is not None else find_kind(frame, kind))
    encoder = Encoder.fit(frame, profile.scaling_for(settled))
    pool = Pool.of(encoder.encode(frame), settled, patches)
    warn_of_equal_rows(pool.rows)
    learner = make_learner(settle(profile, settled, pool.n_features))
    return Task(learner, pool, encoder, images, frame)


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


def read_share(contamination: float | str | None) -> float | None:
    """A share given as a number; names and None are the estimators' business."""
    if contamination is None or isinstance(contamination, str):
        return None
    if not is_number(contamination) or not 0 < contamination <= 0.5:
        raise ConfigError(
            f"contamination must lie in (0, 0.5], got {contamination!r}; give such a share, a name or None."
        )
    return float(contamination)


def read_seed(random_state: Any) -> int:
    """The seed that a `random_state` gives."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(
            f"random_state must be an integer from 0, a RandomState or None, got {random_state!r}; give one of these."
        ) from error


def read_threshold(threshold: str) -> ThresholdRule:
    """The rule for alarms, which is text."""
    if not isinstance(threshold, str):
        raise ConfigError(
            f"threshold must be a rule as text, such as 'contamination', 'alarms=20', 'share=0.02', got {threshold!r}."
        )
    return parse_threshold(threshold)


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
