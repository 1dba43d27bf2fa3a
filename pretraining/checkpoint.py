"""A training run on disk: small files, so that each can travel alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from pretraining.module import Module
from soel.detect.incontext.network import Shape

LARGEST_FILE = 15_000_000  # bytes


def save(
    folder: Path, module: Module, average: dict[str, Tensor], moments: dict[str, Tensor], notes: dict[str, Any]
) -> None:
    """Weights in float32, their running average and the optimiser's moments in half precision, and notes.

    What was there before goes only when all of it is written.
    """
    draft = folder / "draft"
    draft.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().float().cpu().contiguous() for name, value in module.state_dict().items()}
    _write(draft, "weights", weights)
    _write(draft, "average", {name: value.half().cpu().contiguous() for name, value in average.items()})
    _write(draft, "moments", {name: value.bfloat16().cpu().contiguous() for name, value in moments.items()})
    notes = {"shape": asdict(module.shape), **notes}
    (draft / "notes.json").write_text(json.dumps(notes, indent=1))
    for old in folder.glob("*.safetensors"):
        old.unlink()
    for path in draft.iterdir():
        path.replace(folder / path.name)
    draft.rmdir()


def load(folder: Path, device: torch.device) -> tuple[Module, dict[str, Tensor], dict[str, Tensor], dict[str, Any]]:
    """The parameters, their running average, the optimiser's moments and the notes.

    Without a file of averages they start from the weights; without moments the optimiser starts anew. Parts of the
    network that the checkpoint does not have start as in a new run.
    """
    notes = json.loads((folder / "notes.json").read_text())
    module = Module(Shape(**notes["shape"])).to(device)
    start = {name: value.detach().cpu() for name, value in module.state_dict().items()}
    weights = start | {name: value.float() for name, value in _read(folder, "weights").items()}
    module.load_state_dict(weights)
    average = {name: value.float().to(device) for name, value in (weights | _read(folder, "average")).items()}
    moments = {name: value.float().to(device) for name, value in _read(folder, "moments").items()}
    return module, average, moments, notes


def _write(folder: Path, name: str, tensors: dict[str, Tensor]) -> None:
    part: dict[str, Tensor] = {}
    size, number = 0, 0
    for key, tensor in tensors.items():
        n_bytes = tensor.numel() * tensor.element_size()
        if part and size + n_bytes > LARGEST_FILE:
            save_file(part, folder / f"{name}-{number}.safetensors")
            part, size, number = {}, 0, number + 1
        part[key] = tensor
        size += n_bytes
    if part:
        save_file(part, folder / f"{name}-{number}.safetensors")


def _read(folder: Path, name: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob(f"{name}-*.safetensors")):
        tensors |= load_file(path)
    return tensors
