"""Networks that give features: found by name or file, fetched once, kept in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from soel.download import RemoteFile, download
from soel.images.extractors import Extractor, RemoteModel, find_extractor


def open_extractor(which: str) -> Extractor:
    """An extractor by name or file; one that has to be fetched is fetched once."""
    return find_extractor(which, cache_folder(), fetch_model)


def fetch_model(model: RemoteModel, folder: Path) -> Path:
    """A model file from its address, kept in the folder; its checksum has to fit."""
    address = os.environ.get("SOEL_MODELS", "")
    address = f"{address.rstrip('/')}/{model.name}" if address else model.address
    return download(RemoteFile(model.name, address, model.sha256), folder)


def cache_folder() -> Path:
    """Where features and fetched models are kept: SOEL_CACHE, or the user's own cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SOEL_CACHE") or Path(home) / "soel")
