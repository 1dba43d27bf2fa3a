"""The scikit-learn face."""

from soel.estimator.estimator import SOEL

__all__ = ["SOEL"]
