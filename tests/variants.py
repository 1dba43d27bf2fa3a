"""Profiles that tests learn with, beside those of the package."""

from __future__ import annotations

from dataclasses import replace

from soel.settings import DEFAULT, TABLE_ROWS, Schedule

# Tables as feature vectors are learnt by default: a detector with a network of the paper beside it.
BESIDE_A_NETWORK = replace(
    DEFAULT,
    name="beside-a-network",
    tables=Schedule(
        epochs=100,
        learning_rate=1e-3,
        pseudo_labels="batch",
        detector="neighbours",
        deep_weight=0.25,
        rows_per_epoch=TABLE_ROWS,
        strategy="k-center",
        strategy_options={"first": "central"},
    ),
)
