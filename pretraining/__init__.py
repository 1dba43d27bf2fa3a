"""Making the network of `soel.detect.incontext`: tasks, training, measuring."""
