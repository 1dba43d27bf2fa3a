"""Estimators of the share of anomalies in the pool."""

from soel.plugins import Registry

ESTIMATORS = Registry(
    "contamination estimator",
    {
        "kde": "soel.assess.contamination.kde:KernelDensity",
        "kriging": "soel.assess.contamination.kriging:Kriging",
        "cover": "soel.assess.contamination.cover:Cover",
        "pretrained": "soel.detect.incontext.share:PretrainedShare",
        "fixed": "soel.assess.contamination.fixed:Fixed",
    },
    group="contamination",
)
