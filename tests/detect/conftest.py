"""The network is tried with tensors, too: `pretraining` registers what computes with them."""

import pretraining  # noqa: F401
