"""The trained network that the package carries."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
from safetensors import safe_open

from soel.detect.incontext.network import InContextNetwork, Shape
from soel.errors import ModelFileError

HERE = Path(__file__).parent
VERSION = 5  # raised with every new weights file


def find_weights(version: float = VERSION) -> Path:
    """The file with the weights of this version; a model that was made with others cannot be used."""
    path = HERE / f"weights-{version:.0f}.safetensors"
    if not path.exists():
        raise ModelFileError(
            f"The model was made with version {version:.0f} of the pretrained network, and this release has {VERSION}; "
            "fit it again."
        )
    return path


@cache
def trained_network(version: int = VERSION) -> InContextNetwork:
    """The network in float32, checked against the card's checksum."""
    path, card = find_weights(version), json.loads((HERE / "card.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != card["sha256"]:
        raise ModelFileError(f"{path.name} is damaged: its SHA-256 is {digest}. Install the package again.")
    with safe_open(path, "np") as file:
        shape = Shape(**json.loads(file.metadata()["shape"]))
        names = file.keys()
        return InContextNetwork(shape, {name: np.asfortranarray(file.get_tensor(name), np.float32) for name in names})
