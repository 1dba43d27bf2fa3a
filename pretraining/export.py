"""From checkpoints to the weights that the package carries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from pretraining import checkpoint


def export(folders: Sequence[Path], to: Path) -> str:
    """Write the running average in half precision, or the mean of several checkpoints' averages; say its checksum.

    The facts in the file are those of the last checkpoint.
    """
    averages = []
    for folder in folders:
        module, average, _, notes = checkpoint.load(folder, torch.device("cpu"))
        averages.append(average)
    facts = {
        "shape": json.dumps(asdict(module.shape)),
        "steps": str(notes["step"]),
        "seconds": f"{notes['spent']:.0f}",
    }
    mean = {name: torch.stack([average[name] for average in averages]).mean(0) for name in averages[0]}
    save_file({name: value.half().contiguous() for name, value in mean.items()}, to, metadata=facts)
    return hashlib.sha256(to.read_bytes()).hexdigest()
