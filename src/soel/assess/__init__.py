"""What scores mean: thresholds, the share of anomalies, calibration, spot checks."""
