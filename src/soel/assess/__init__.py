"""What scores mean: thresholds, the share of anomalies, calibration, spot checks."""

from soel.plugins import Registry

ESTIMATORS = Registry(
    "contamination estimator",
    {
        "kde": "soel.assess.share:KernelDensity",
        "kriging": "soel.assess.kriging:Kriging",
        "cover": "soel.assess.share:NearestLabel",
        "pretrained": "soel.detect.incontext.share_head:PretrainedShare",
        "fixed": "soel.assess.share:Fixed",
    },
    group="contamination",
)
