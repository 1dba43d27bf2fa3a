"""Estimators of the share of anomalies in the pool."""

from soel.registry import Registry

ESTIMATORS = Registry(
    "contamination estimator",
    {
        "kde": "soel.contamination.kde:KernelDensity",
        "kriging": "soel.contamination.kriging:Kriging",
        "cover": "soel.contamination.cover:Cover",
        "pretrained": "soel.detectors.pretrained.share:PretrainedShare",
        "fixed": "soel.contamination.fixed:Fixed",
    },
    group="contamination",
)
