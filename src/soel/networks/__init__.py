"""Networks that are trained here: backbones, objectives and the training loop."""
