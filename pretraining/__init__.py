"""Making the network of `soel.detect.incontext`: tasks, training, measuring."""

from pretraining import torch_ops  # noqa: F401 - it registers itself
