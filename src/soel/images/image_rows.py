"""Arrays of pictures for the estimator: flat pixels for a backbone that learns on them, features for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from soel.errors import SchemaError
from soel.images.extract import extract
from soel.images.extractors import DEFAULT, SMALLEST_SIDE, cache_folder, open_extractor
from soel.images.source import image_array
from soel.images.views import choose_shape, open_view
from soel.plugins import is_installed
from soel.settings import PICTURE_BACKBONES, Profile
from soel.types import Floats

_NEEDED = ("PIL", "onnx", "onnxruntime")


@dataclass(frozen=True)
class ImageRows:
    """How pictures of one shape (H, W, C) become rows. extractor: None for the pixels themselves.

    shape: empty where pictures may be of any size. view: the shape and the region by which places are looked at beside
    the whole picture; None where they are not.
    """

    shape: tuple[int, ...]
    extractor: str | None
    view: Mapping[str, Any] | None = None

    def read(self, X: Any) -> tuple[Floats, Floats | None]:
        """Pictures (N, H, W) or (N, H, W, C) -> rows (N, d), and patches (N, P, D) or None."""
        X = stack_items(X)
        as_fitted = self.shape and isinstance(X, np.ndarray) and X.shape[1:] == self.shape
        pictures = X if as_fitted else _as_pictures(X)
        if not self.shape and (pictures is None or pictures.dtype != np.uint8):
            raise SchemaError(
                "This model looks at places in pictures: give the pictures, an array (N, H, W, 3) of bytes, not their "
                f"features; got an array of shape {np.shape(X)}. For features, start a session with <<patches=no>>."
            )
        if self.shape and (pictures is None or pictures.shape[1:] != self.shape):
            raise SchemaError(f"Arrays of shape {self.shape} were fitted, got an array of shape {np.shape(X)}.")
        if self.extractor is None:
            return np.asarray(pictures.reshape(len(pictures), -1)), None
        source, extractor = image_array("X", pictures), open_extractor(self.extractor)
        if self.view is not None:
            extractor = open_view(extractor, self.view["shape"], self.view["region"])
        found = extract(source, extractor, cache_folder())
        return found.matrix, found.patches

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ImageRows:
        return cls(tuple(values["shape"]), values["extractor"], values["view"])


def stack_items(X: Any) -> Any:
    """A torch tensor, or a map-style Dataset of arrays of one shape (or tuples that begin with one), as an array.

    Anything else as it is.
    """
    kinds = [kind.__module__ for kind in type(X).__mro__]
    if any(kind.startswith("torch.utils.data") for kind in kinds):
        items = (X[place] for place in range(len(X)))
        return np.stack([np.asarray(item[0] if isinstance(item, tuple | list) else item) for item in items])
    return np.asarray(X) if "torch" in kinds else X


def find_image_rows(X: Any, profile: Profile) -> tuple[ImageRows | None, Profile]:
    """How to read X if it is an array of pictures, else None; and the profile with its backbone for them.

    A user's own backbone gets arrays (N, ...) in their own shape. 'auto' takes the features of the default extractor,
    and MHRot on the pixels where only torch is installed.
    """
    if profile.backbone == "own" and isinstance(X, np.ndarray) and X.ndim > 2:
        shape = X.shape[1:]
        return ImageRows(shape, None), replace(profile, backbone_options={"shape": shape}, scaling="none")
    pictures = _as_pictures(X)
    if pictures is None:
        return None, profile
    if profile.backbone == "auto" and not is_installed(*_NEEDED) and is_installed("torch"):
        profile = profile.with_parts(backbone="mhrot")
    on_pixels = profile.backbone in PICTURE_BACKBONES
    if not on_pixels and pictures.dtype != np.uint8:
        raise SchemaError(f"Features are taken of pictures in bytes (uint8), got {pictures.dtype}. Convert them.")
    looks = not on_pixels and profile.vectors.patch_detector is not None and min(pictures.shape[1:3]) >= SMALLEST_SIDE
    view = {"shape": choose_shape([pictures.shape[1:3]]), "region": None} if looks else None
    rows = ImageRows(pictures.shape[1:], None if on_pixels else DEFAULT, view)
    return rows, profile.with_parts(scaling="none")  # pixels and features keep their scale


def _as_pictures(X: Any) -> Any:
    """X with its channels last, if it is an array of pictures."""
    if not isinstance(X, np.ndarray) or X.ndim not in (3, 4) or X.dtype.kind not in "uf":
        return None
    pictures = X[..., None] if X.ndim == 3 else X
    return pictures if pictures.shape[-1] in (1, 3) else None
