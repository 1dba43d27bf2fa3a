"""The pool as the last fit sees it, kept as a file: looking at results then needs neither torch nor the model."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from soel.assess.conformal import Reference, UnsureBand
from soel.errors import DataError, SessionError
from soel.files import write_whole
from soel.scoring.score import Scores, rank
from soel.session import Session
from soel.session.pool_records import pool_of
from soel.session.rounds import ModelRef
from soel.types import UNLABELLED, Estimate, Floats, Labels

FOLDER = "outcomes"
SAMPLE = 20_000  # rows that decide on the plane of the map
ENTRIES = 4_000_000  # wide embeddings get fewer rows, so that the decomposition stays a matter of seconds
FEWEST = 1_000
BLOCK = 4_096


@dataclass(frozen=True)
class Outcome:
    """One fit on the whole pool.

    scores: (N,). probabilities: (N,) of being an anomaly. points: (N, 2), the map. threshold: where alarms start.
    reference: what stands for the scores of new normal items; empty where the model keeps none.
    """

    scores: Floats
    probabilities: Floats
    points: Floats
    threshold: float
    reference: Reference = field(default_factory=Reference.none)

    @property
    def p_values(self) -> Floats:
        """How often a normal item scores as high: (N,)."""
        return (self.reference or Reference.of(self.scores)).p_values(self.scores)

    def count_unsure(self, labels: Labels, estimate: Estimate) -> int:
        """How many items without a label are not sure. labels: (N,)."""
        return int((self.unsure(estimate).holds(self.scores) & (labels == UNLABELLED)).sum())

    def unsure(self, estimate: Estimate) -> UnsureBand:
        """Scores of items whose side hangs on where in its interval the share of anomalies lies."""
        return UnsureBand.of(self.scores, estimate.low, estimate.high)

    def scored(self, ids: tuple[str, ...], threshold: float, estimate: Estimate) -> Scores:
        """What is known of the items, with alarms at a threshold."""
        alarms, unsure = self.scores > threshold, self.unsure(estimate).holds(self.scores)
        return Scores(ids, self.scores, rank(self.scores), alarms, self.probabilities, self.p_values, unsure)


def keep_outcome(session: Session) -> Outcome:
    """Look at the pool with the last fit and keep what is seen."""
    outcome, fit = look_at_pool(session), session.state.fit
    assert fit is not None
    write_whole(kept_path(session, fit.model, ".npz"), _pack(outcome))
    return outcome


def look_at_pool(session: Session) -> Outcome:
    """What the last fit says of the pool. Imports torch where the fit has a network."""
    state = session.state
    if state.fit is None:
        raise SessionError("There is no fitted model to look with yet; fit first.")
    model, pool = session.load_fit(state), pool_of(session.folder_with(state.pools))
    scores, embeddings = session.learner.look(model, pool)
    points = project(embeddings, np.random.default_rng(session.config.seed))
    return Outcome(
        np.asarray(scores, np.float64),
        np.asarray(model.probabilities(scores), np.float64),
        points.astype(np.float32),
        float(model.threshold),
        model.reference,
    )


def project(embeddings: Floats, rng: np.random.Generator) -> Floats:
    """The map: coordinates (N, 2) of embeddings (N, D) on their first two principal axes.

    A sample finds the axes where there are many; the largest entry of each is positive. Blocks are projected one at a
    time, so a memory-mapped matrix stays on disk.
    """
    n_rows, width = embeddings.shape
    size = min(n_rows, SAMPLE, max(FEWEST, ENTRIES // max(1, width)))
    rows = slice(None) if size == n_rows else np.sort(rng.choice(n_rows, size, replace=False))
    x = np.asarray(embeddings[rows], np.float64)
    if not np.isfinite(x).all():
        raise DataError("The embeddings hold values that are not finite numbers. Train again before reporting.")
    centre = x.mean(axis=0)
    axes = np.linalg.svd(x - centre, full_matrices=False)[2][:2]
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    points = np.zeros((n_rows, 2))
    for start in range(0, n_rows, BLOCK):
        block = np.asarray(embeddings[start : start + BLOCK], np.float64)
        points[start : start + BLOCK, : len(axes)] = (block - centre) @ axes.T
    return points


def has_outcome(session: Session) -> bool:
    """Whether anything was kept of the last fit."""
    fit = session.state.fit
    return fit is not None and kept_path(session, fit.model, ".npz").is_file()


def read_outcome(session: Session) -> Outcome | None:
    """What was kept of the last fit; None where there is no fit, or nothing was kept of it yet."""
    fit = session.state.fit
    if fit is None:
        return None
    path = kept_path(session, fit.model, ".npz")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            parts = (arrays["scores"], arrays["probabilities"], arrays["points"], float(arrays["threshold"]))
            return Outcome(*parts, Reference(arrays["reference"], arrays["reference_weights"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise SessionError(f"{path.name} cannot be read ({error}); delete it, and it is made anew.") from error


def kept_path(session: Session, model: ModelRef, suffix: str) -> Path:
    """The file for what was seen by a model in the pool that holds."""
    number = session.state.pool.number
    seen = "" if number == 1 else f"-{number}"
    return session.folder.path / FOLDER / f"{model.fingerprint}{seen}{suffix}"


def _pack(outcome: Outcome) -> bytes:
    buffer = io.BytesIO()
    np.savez(
        buffer,
        scores=outcome.scores,
        probabilities=outcome.probabilities,
        points=outcome.points,
        threshold=np.float64(outcome.threshold),
        reference=outcome.reference.scores,
        reference_weights=outcome.reference.weights,
    )
    return buffer.getvalue()
