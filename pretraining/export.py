"""From a checkpoint to the weights that the package carries."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from pretraining import checkpoint


def export(folder: Path, to: Path) -> str:
    """Write the running average in half precision; say its checksum."""
    module, average, _, notes = checkpoint.load(folder, torch.device("cpu"))
    facts = {
        "shape": json.dumps(asdict(module.shape)),
        "steps": str(notes["step"]),
        "seconds": f"{notes['spent']:.0f}",
    }
    save_file({name: value.half().contiguous() for name, value in average.items()}, to, metadata=facts)
    return hashlib.sha256(to.read_bytes()).hexdigest()
