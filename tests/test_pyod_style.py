"""PyOD's signs, from the same detector."""

import numpy as np

from soel.pyod_style import PyODStyle
from tests.conftest import Sample
from tests.test_estimator import quick


def test_signs_and_agreement(toy: Sample) -> None:
    face = PyODStyle(quick()).fit(toy.x, toy.labels())
    np.testing.assert_array_equal(face.labels_ == 1, face.detector.predict(toy.x) == 1)
    np.testing.assert_array_equal(face.predict(toy.x), face.labels_)
    np.testing.assert_array_equal(face.decision_function(toy.x), face.decision_scores_)
    np.testing.assert_allclose(face.predict_proba(toy.x).sum(axis=1), 1)
    assert face.labels_.sum() == (face.decision_scores_ > face.threshold_).sum() > 0
