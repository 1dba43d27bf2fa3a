"""What a fitted detector says of rows: scores, alarms, probabilities, reasons, drift, and what a spot check proves."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from soel.assess.conformal import benjamini_hochberg
from soel.assess.drift import AlarmCounts, Drift, judge_drift
from soel.assess.quality import Quality, SpotCheck, draw_check
from soel.checks import check_count, check_labels, check_share, label_cells
from soel.errors import ConfigError, DataError, DataWarning, LabelError
from soel.explain import Explainer, Explanation
from soel.images.image_rows import ImageRows
from soel.model import Fitted
from soel.model_folder import SavedModel
from soel.report.progress import progress_bar
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame, read_frame
from soel.text import name_options, name_some
from soel.types import UNLABELLED, Booleans, Floats, Kind, Labels, Named, Rows


class FittedDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """The half of the estimator that looks at rows once it is fitted. It learns nothing, and needs no parameter."""

    detector_: SavedModel
    offset_: float
    threshold_: float
    kind_: str
    _codes: Codes
    _encoder: Encoder
    _images: ImageRows | None
    # Of the last spot check: the alarms, labels and probabilities of when it was drawn, and its rows.
    _drawn: tuple[np.ndarray, Labels, Rows, Floats] | None = None
    _why: Explainer | None = None  # by the pool of the fit

    def anomaly_score(self, X: Any) -> Floats:
        """Scores (n,), higher is more anomalous: the unambiguous face."""
        return self._fitted().score(*self._encode(X))

    def anomaly_probability(self, X: Any) -> Floats:
        """Probabilities (n,) of being an anomaly, calibrated to the labels and the estimated contamination."""
        return self._fitted().calibration.probabilities(self.anomaly_score(X))

    def drift(self, X: Any) -> Drift:
        """How rows differ from the pool: ranges, categories, missing values, shares, alarms; `found` says whether."""
        fitted, (frame, patches) = self._fitted(), self._frame(X)
        alarms = fitted.alarms(fitted.score(self._encoder.encode(frame), patches))
        counts = AlarmCounts.of(alarms, fitted.alarms(fitted.pool_scores))
        return judge_drift(self._encoder.baseline, self._encoder.tally(frame), counts)

    def explain(self, X: Any, pool: Any = None) -> Explanation:
        """Why rows are alarms: the smallest change, by groups of columns, that would make each of them ordinary.

        The changed columns take the values of an ordinary row like it. For a row below the threshold, but near it, what
        would make it an alarm; for others nothing. Always score = `baseline + contributions.sum(axis=1) + remainder`.

        pool : rows that show what is ordinary; None for those of the fit, which a detector that was loaded from a
            folder does not have.
        """
        (frame, _), ordinary = self._match(X), None if pool is None else self._match(pool)[0]
        if self.kind_ != Kind.TABLE:
            raise ConfigError(
                f"Rows are explained by their columns, and those of {self.kind_} mean nothing each; give a table."
            )
        why = self._why if ordinary is None else self._why_by(ordinary)
        if why is None:
            raise ConfigError("This detector was loaded without the rows it learnt from; give some: explain(X, pool).")
        self._warn_of_positions(frame, frame if ordinary is None else ordinary)
        with progress_bar("explain") as progress:
            return why.explain(frame, self._encoder.encode(frame), progress)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n, 2) of the two classes in the order of `classes_`."""
        chances = self.anomaly_probability(X)
        return self._codes.probabilities(chances)

    def p_values(self, X: Any) -> Floats:
        """How often a normal row scores as high: (n,). At most `rate` of new normal rows have one of `rate` or less.

        It holds where new normal rows are exchangeable with the pool's (where `drift` finds some they are not),
        anomalies score above normal rows, and the model overstates the odds of anomalies by at most 5x.
        """
        return self._fitted().p_values(self.anomaly_score(X))

    def not_sure(self, X: Any) -> np.ndarray:
        """Which rows (n,) are not sure: their class depends on the contamination estimate.

        Were the share at the lower end of the 80 % interval, they would be normal; at the upper end, anomalies.
        """
        return self._fitted().unsure.holds(self.anomaly_score(X))

    def list_anomalies(self, X: Any, fdr: float = 0.1) -> Rows:
        """Positions of new rows of which, in expectation, at most this share is normal; none where that cannot be said.

        fdr : the share, from 0 to 1.

        By the method of Benjamini and Hochberg on their p-values, under the same assumption.
        """
        share = check_share("fdr", fdr)
        return np.flatnonzero(benjamini_hochberg(self.p_values(X), share))

    def spot_check(self, n: int = 10) -> Rows:
        """Positions of `n` rows of the pool drawn by chance from those without a label, more among the alarms.

        Label them, and pass all labels to `quality` or to the next `fit`. The same fit draws the same rows.
        """
        fitted, n = self._fitted(), check_count("n", n)
        if not len(fitted.pool_labels):
            raise ConfigError("This model does not know what it was fitted on; fit again before a spot check.")
        is_alarm, open_rows = fitted.alarms(fitted.pool_scores), np.flatnonzero(fitted.pool_labels == UNLABELLED)
        _check_draw(n, len(open_rows), len(is_alarm))
        rng = np.random.default_rng([self.detector_.learner.seed, len(is_alarm)])
        rows = draw_check(is_alarm, open_rows, n, rng).rows[:n]
        self._drawn = is_alarm, fitted.pool_labels, rows, fitted.probabilities(fitted.pool_scores)
        return rows

    def quality(self, y: Any) -> Quality:
        """What the last spot check proves, by the labels (N,) known now: share, precision, recall, false alarms, and
        whether the probabilities are too high or too low.

        Every interval holds in at least 80 % of checks, whatever the data. It is about the model that stood when the
        rows were drawn, so a fit with their labels leaves it true. Sets `quality_`, and `contamination_interval_` to
        the exact one. Some of the drawn rows are enough; where none has a label, nothing is proven, and it is refused.
        """
        if self._drawn is None:
            raise ConfigError("There is no spot check to judge by; draw one with spot_check, and label its rows.")
        is_alarm, before, rows, chances = self._drawn
        labels = check_labels(y, len(is_alarm))
        if (labels[rows] == UNLABELLED).all():
            raise LabelError(f"None of the {len(rows)} drawn rows has a label yet; label them in y first.")
        self.quality_ = SpotCheck.of(is_alarm, before, rows, labels, chances).quality()
        self.contamination_interval_ = (self.quality_.share.low, self.quality_.share.high)
        return self.quality_

    def score_samples(self, X: Any) -> Floats:
        """The negative anomaly score, as scikit-learn has it."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> Floats:
        """The distance (n,) to the threshold, positive for rows of the second class of `classes_`.

        So positive means normal where y was not given or has the codes of outlier detectors (-1 and 1), and anomaly
        where y has 0 and 1.
        """
        scores = self.anomaly_score(X)  # first: it says where nothing is fitted
        return self._codes.decide(scores - self.threshold_)

    def predict(self, X: Any) -> np.ndarray:
        """The class (n,) of each row in the codes of y: 1 anomaly and 0 normal, or -1 anomaly and 1 normal.

        A row is an anomaly where it scores above `threshold_`, which was set on the pool: of other rows 'alarms=20' may
        flag more than 20, or fewer.
        """
        scores = self.anomaly_score(X)
        return self._codes.predict(scores > self.threshold_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value has a meaning
        tags.input_tags.categorical = True
        return tags

    def _fitted(self) -> Fitted:
        check_is_fitted(self, "detector_")
        return self.detector_.fitted

    def _why_by(self, frame: Frame) -> Explainer:
        """What explains rows by those of a table."""
        blend, features = self._fitted(), self._encoder.encode(frame)
        nothing = np.full(len(features), UNLABELLED, np.int8)
        scores = blend.score(features)
        return Explainer(blend, self._encoder, frame, features, scores, nothing, self._fitted().threshold)

    def _encode(self, X: Any) -> tuple[Floats, Floats | None]:
        """Encoded rows (n, d), and the patches of pictures (n, P, D) where they count."""
        frame, patches = self._frame(X)
        return self._encoder.encode(frame), patches

    def _frame(self, X: Any) -> tuple[Frame, Floats | None]:
        """Rows as columns, and the patches of pictures where they count. Columns matched by position are warned of."""
        frame, patches = self._match(X)
        self._warn_of_positions(frame)
        return frame, patches

    def _match(self, X: Any) -> tuple[Frame, Floats | None]:
        """The same without a warning; columns that do not match are refused."""
        self._fitted()
        rows, patches = (X, None) if self._images is None else self._images.read(X)
        frame = read_frame(rows, schema=self._encoder.how)
        self._encoder.match(frame)
        return frame, patches

    def _warn_of_positions(self, *frames: Frame) -> None:
        warn_of_positions(type(self).__name__, self._encoder, *frames)


def _check_draw(n: int, n_open: int, n_rows: int) -> None:
    """Refuse a spot check of rows that there are not."""
    if n < 1:
        raise DataError(f"At least one row must be asked for, got {n}; ask for more.")
    if n > n_open:
        raise DataError(f"{n} rows were asked for but only {n_open} of {n_rows} have no label; ask for fewer.")


ENCODED = (
    "Every row is labelled and 1 is the majority, so y is read as scikit-learn encodes the codes of outlier detectors: "
    "0 anomaly, 1 normal; label the anomalies 1 and leave rows unlabelled (-1) where this is not meant."
)


@dataclass(frozen=True)
class Codes:
    """The codes of the two classes in what a fitted detector answers; by default those of outlier detectors."""

    anomaly: int = -1
    normal: int = 1

    @property
    def classes(self) -> np.ndarray:
        return np.sort([self.normal, self.anomaly])

    def predict(self, is_alarm: Booleans) -> np.ndarray:
        return np.where(is_alarm, self.anomaly, self.normal)

    def decide(self, margin: Floats) -> Floats:
        """Scores above the threshold (n,), signed so that positive means the second class."""
        return margin if self.anomaly > self.normal else -margin

    def probabilities(self, anomaly: Floats) -> Floats:
        """Probabilities (n, 2) of the classes in their order, from those (n,) of being an anomaly."""
        columns = (1 - anomaly, anomaly) if self.anomaly > self.normal else (anomaly, 1 - anomaly)
        return np.stack(columns, axis=1)


def read_targets(y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Labels (n,) of 1 anomaly, 0 normal, -1 not labelled, and the codes that y has for the two classes.

    A majority of 1 is never the anomalies, whose share is at most one half: then 1 is the normal class.
    """
    if y is None:
        return np.full(n_rows, UNLABELLED, np.int8), Codes()
    numbers = _plain_numbers(y)
    if len(numbers) == n_rows and 2 * (numbers == 1).sum() > n_rows:
        if np.isin(numbers, (-1, 1)).all():
            return (numbers == -1).astype(np.int8), Codes()
        if np.isin(numbers, (0, 1)).all():
            warn_caller(ENCODED)
            return (numbers == 0).astype(np.int8), Codes(anomaly=0, normal=1)
    return check_labels(y, n_rows), Codes(anomaly=1, normal=0)


Because = Mapping[int, Sequence[str | int]]  # names or positions of columns by row


def read_because(because: Because, labels: Labels, frame: Frame, encoder: Encoder) -> Named:
    """The columns of the matrix that are named for rows; what names no labelled row or no column is refused."""
    known, named = list(frame.columns), dict[int, Rows]()
    for row, given in because.items():
        if not 0 <= row < len(labels) or labels[row] == UNLABELLED:
            raise LabelError(f"because names columns of row {row!r}, which has no label; give positions in y.")
        names = [given] if isinstance(given, str) else given
        unknown = [name for name in names if name not in known and name not in range(len(known))]
        if unknown:
            raise LabelError(f"because names {unknown[0]!r} for row {row}; the columns are {name_some(known)}.")
        columns = encoder.features_of({name if name in known else known[int(name)] for name in names})
        named |= {int(row): columns} if len(columns) else {}
    return named


def split_told(told: Any) -> tuple[Any, Because]:
    """What an expert returned: labels, and the columns named with them, if any."""
    is_pair = isinstance(told, tuple) and len(told) == 2 and isinstance(told[1], Mapping)
    return told if is_pair else (told, {})


def _plain_numbers(y: Any) -> Floats:
    """The cells of y (n,) where all of them are numbers, else none."""
    try:
        cells = label_cells(y)
        return cells.astype(np.float64) if cells.dtype.kind in "biuf" else np.zeros(0)
    except LabelError:
        return np.zeros(0)  # said by `check_labels`


NO_NAMES = (
    "X does not have valid feature names, but {detector} was fitted with feature names: its columns were matched by "
    "position; give a frame with those names to have them matched by name."
)
NEW_NAMES = (
    "X has feature names, but {detector} was fitted without feature names: its columns were matched by position; "
    "fit on a frame with names to have them matched by name."
)


def warn_caller(words: str) -> None:
    """Warn where this package was called, however deep inside it something was noticed."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "soel":
        level, frame = level + 1, frame.f_back
    warnings.warn(name_options(words), DataWarning, stacklevel=level)


def warn_of_positions(detector: str, encoder: Encoder, *frames: Frame) -> None:
    """Say that columns were matched by position though one side has names, as scikit-learn does. detector: its name."""
    if any(encoder.goes_by_position(frame) for frame in frames):
        warn_caller((NO_NAMES if encoder.named else NEW_NAMES).format(detector=detector))


def warn_of_equal_rows(rows: Floats) -> None:
    """Say that encoded rows (N, d) of a pool leave nothing to learn from."""
    if np.array_equal(rows[0], rows[-1]) and np.array_equal(rows.min(axis=0), rows.max(axis=0)):
        warn_caller(
            f"No column varies that could be learnt from (ids and empty columns are left out): all {len(rows)} rows "
            "are equal, so their scores are, too, and mean nothing; give columns that tell rows apart."
        )
