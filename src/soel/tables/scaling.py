"""How a numeric column is brought to a common scale: one function per way, and the table of their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from soel.errors import ConfigError
from soel.types import Floats

CLIP = 10.0  # in scaled units: beyond this a value is extreme, however far it lies
FAR = 1000.0  # standard deviations: only a new row with a value of another world meets this
IQR_OF_NORMAL = 1.349  # the interquartile range of a normal distribution in standard deviations


@dataclass(frozen=True)
class Scale:
    """Turns x into (x - centre) / width, clipped to +-clip (None: not clipped). Width 0: always zero."""

    centre: float = 0.0
    width: float = 1.0
    clip: float | None = None

    def apply(self, values: Floats) -> Floats:
        """The scaled values (N,)."""
        if not self.width:
            return np.zeros(len(values))
        with np.errstate(over="ignore"):
            scaled = (values - self.centre) / self.width
        return scaled if self.clip is None else np.clip(scaled, -self.clip, self.clip)


@dataclass(frozen=True)
class Scaling:
    """A way to scale: `measure` looks at the pool's values (n,) without the missing ones."""

    measure: Callable[[Floats], Scale]
    drops_constant: bool


def raw(values: Floats) -> Scale:
    """Values as they are."""
    return Scale()


def robust(values: Floats) -> Scale:
    """Centred on the median, in units that a tenth of extreme values cannot change."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    if values.min() == values.max():
        return Scale(float(median), 0.0)
    width = float(high - low) / IQR_OF_NORMAL or float(values.std()) or float(values.max() - values.min())
    return Scale(float(median), width, CLIP)


def standard(values: Floats) -> Scale:
    """Centred on the mean, in standard deviations."""
    spread = float(values.max() - values.min())  # the deviation of the smallest numbers of all is rounded to 0
    return Scale(float(values.mean()), float(values.std()) or spread if spread else 0.0, FAR)


SCALINGS: Mapping[str, Scaling] = {
    "none": Scaling(raw, drops_constant=False),
    "robust": Scaling(robust, drops_constant=True),
    "standard": Scaling(standard, drops_constant=True),
}


def find_scaling(name: str) -> Scaling:
    """A way to scale by its name."""
    if name not in SCALINGS:
        raise ConfigError(f"There is no scaling called {name!r}. Choose one of: {', '.join(SCALINGS)}.")
    return SCALINGS[name]
