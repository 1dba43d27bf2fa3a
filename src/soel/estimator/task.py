"""What a call of the estimator is about: the profile that its parameters ask for, the pool, and the learner for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soel.backbones import BACKBONES
from soel.contamination import ESTIMATORS
from soel.data.encoder import Encoder
from soel.data.frame import Frame, read_frame
from soel.data.kinds import find_kind
from soel.data.reading.describe import warnings_of
from soel.data.reading.options import ReadOptions
from soel.errors import ConfigError, DataError, DataWarning
from soel.learner import Learner
from soel.learner.machine import has_gpu
from soel.media.image_rows import ImageRows, find_image_rows
from soel.objectives import OBJECTIVES
from soel.profiles import Profile
from soel.queries import STRATEGIES
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
    learner = make_learner(profile.settle(settled, pool.n_features, has_gpu(settled)))
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
    if not 0 < float(contamination) <= 0.5:
        raise ConfigError(f"contamination must lie in (0, 0.5], got {contamination}.")
    return float(contamination)


def _pool_frame(x: Any, columns: ReadOptions) -> Frame:
    """The pool as a frame; one row is no pool. What could be meant otherwise is warned about."""
    frame = read_frame(x, columns)
    for words in warnings_of(frame.reading) if frame.reading is not None else ():
        warnings.warn(words, DataWarning, stacklevel=5)  # where the estimator was called
    if frame.n_rows < 2:
        raise DataError(f"Found array with {frame.n_rows} sample(s) while a minimum of 2 is required to fit.")
    return frame
