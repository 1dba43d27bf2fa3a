"""Making the network of `soel.detectors.pretrained`: tasks, training, measuring."""
