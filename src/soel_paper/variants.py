"""The profiles as experiments run them: whose settings they are, and in which form, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from soel import PROFILES, ConfigError, Profile

Order = Literal["random", "first"]


@dataclass(frozen=True)
class Variant:
    """A profile with what an experiment has to know about it.

    name: the profile's own. repeats_paper: it means to repeat the paper or its code, so it takes what these set for
    single data sets, and is asked whether its figures are theirs. first_anomalies: the anomalies of a table's pool are
    the first of the file, as in the authors' code. form: of the network, where it is not the profile's own.
    """

    name: str
    profile: Profile
    repeats_paper: bool = True
    first_anomalies: bool = False
    form: str = ""

    @property
    def title(self) -> str:
        """What tables and headings call it."""
        return f"{self.name}, {self.form}" if self.form else self.name

    @property
    def file_name(self) -> str:
        """The same as a part of a file's name."""
        return f"{self.name}-{self.form}" if self.form else self.name

    @property
    def is_narrow(self) -> bool:
        """Whether it is the small form for machines without a GPU."""
        return self.form == NARROW


NARROW, FLOAT32 = "narrow", "float32"
VARIANTS: Mapping[str, Variant] = {
    "default": Variant("default", PROFILES["default"], repeats_paper=False),
    "paper": Variant("paper", PROFILES["paper"]),
    "authors": Variant("authors", PROFILES["authors"], first_anomalies=True),
}


def find_variant(name: str) -> Variant:
    """A variant by the name of its profile."""
    if name not in VARIANTS:
        raise ConfigError(f"There is no profile called {name!r}. Choose one of: {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def narrow(variant: Variant) -> Variant:
    """For feature vectors on a machine without a GPU: one member, views through a narrow middle.

    Ours is the form that soel itself takes there; the others only change the backbone.
    """
    profile = variant.profile
    small = profile.with_parts(backbone="ntl-narrow") if variant.repeats_paper else profile.narrow()
    return replace(variant, profile=replace(small, n_members=1), form=NARROW)


def in_float32(variant: Variant) -> Variant:
    """With matrix products in full float32 instead of TF32 on a GPU."""
    vectors = replace(variant.profile.vectors, precision="highest")
    return replace(variant, profile=replace(variant.profile, vectors=vectors), form=FLOAT32)
