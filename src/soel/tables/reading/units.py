"""What may stand around a number: currencies, percent signs and units, and which of them may be mixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CURRENCIES = (
    "$", "€", "£", "¥", "₹", "₽", "₩", "฿", "US$", "USD", "EUR", "Euro", "euro", "GBP", "CHF", "JPY", "CNY", "RMB",
    "INR", "SEK", "NOK", "DKK", "kr", "zł", "PLN", "CZK", "Kč", "HUF", "Ft", "R$", "BRL", "CAD", "AUD", "A$", "C$",
    "NZD", "SGD", "HKD", "KRW", "TRY", "RUB", "Rs", "MXN", "ZAR",
)  # fmt: skip
BOUNDS = ("<", ">", "≤", "≥", "<=", ">=", "~")  # what a laboratory writes before the limit of its instrument
# Units of one family measure the same, so that they may be mixed in a column.
FAMILIES: Mapping[str, Mapping[str, float]] = {
    "mass": {"µg": 1e-6, "mg": 1e-3, "g": 1, "kg": 1e3, "t": 1e6, "oz": 28.349523125, "lb": 453.59237},
    "length": {
        "µm": 1e-6, "nm": 1e-9, "mm": 1e-3, "cm": 1e-2, "m": 1, "km": 1e3, "in": 0.0254, "ft": 0.3048, "mi": 1609.344,
    },
    "duration": {
        "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
        "min": 60, "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600,
        "hours": 3600, "std": 3600, "d": 86400, "day": 86400, "days": 86400, "week": 604800, "weeks": 604800,
    },
    "bytes": {
        "B": 1, "bytes": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20,
        "GiB": 2**30, "TiB": 2**40,
    },
    "count": {"k": 1e3, "K": 1e3, "Tsd": 1e3, "M": 1e6, "Mio": 1e6, "mn": 1e6, "bn": 1e9, "Mrd": 1e9},
    "power": {"mW": 1e-3, "W": 1, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    "energy": {"Wh": 1, "kWh": 1e3, "MWh": 1e6},
    "frequency": {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "pressure": {"Pa": 1, "hPa": 1e2, "kPa": 1e3, "MPa": 1e6, "mbar": 1e2, "bar": 1e5},
    "volume": {"ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "l": 1, "L": 1},
    "voltage": {"mV": 1e-3, "V": 1, "kV": 1e3},
    "current": {"µA": 1e-6, "mA": 1e-3, "A": 1},
}  # fmt: skip
LONE = (
    "%", "‰", "°", "°C", "°F", "C", "F", "rpm", "km/h", "kph", "m/s", "mph", "m²", "m³", "mm²", "sqm", "J", "kJ",
    "N", "kN", "dB", "ppm", "ppb", "pcs", "Stk", "Stück", "x", "px", "bpm", "mmHg", "kcal", "Pers", "Jahre",
    "years", "year", "yrs",
)  # fmt: skip
FAMILY_OF = {unit: family for family, units in FAMILIES.items() for unit in units}
UNITS: dict[str, float] = {
    **dict.fromkeys((*CURRENCIES, *LONE), 1.0),
    **{unit: float(factor) for units in FAMILIES.values() for unit, factor in units.items()},
}
DURATION = "duration"
LONGEST = 8  # letters of a unit that is not known


def find_units(around: Iterable[tuple[str, str]]) -> dict[str, float] | None:
    """The units of a column from what stands before and after its numbers, and by how much each multiplies.

    None where that is not a unit: 'A 12' and '12 b' are codes. One unit of measure throughout multiplies by 1.
    """
    pairs = set(around)
    prefixes, suffixes = {before for before, _ in pairs} - {""}, {after for _, after in pairs} - {""}
    bounds, prefixes = prefixes & set(BOUNDS), prefixes - set(BOUNDS)
    money = prefixes | (suffixes & set(CURRENCIES))
    others = suffixes - money
    families = {FAMILY_OF.get(unit, unit) for unit in others}
    if not prefixes <= set(CURRENCIES) or len(families) > 1 or any(len(unit) > LONGEST for unit in others - set(UNITS)):
        return None
    scales = len(others) > 1 or families == {"count"}
    return {unit: (UNITS.get(unit, 1.0) if scales else 1.0) for unit in sorted(others)} | dict.fromkeys(
        sorted(money | bounds), 1.0
    )


def doubt_units(units: Iterable[str], some_are_bare: bool) -> str:
    """What is doubtful about numbers with these units, in words."""
    bounds = [unit for unit in units if unit in BOUNDS]
    if bounds:
        return f"a number after {bounds[0]!r} is taken as it is written"
    money = sorted(unit for unit in units if unit in CURRENCIES)
    others = sorted(unit for unit in units if unit not in money)
    if others and others[0] not in UNITS:
        return f"{others[0]!r} is taken for a unit"
    if len(money) > 1:
        return f"amounts in {' and '.join(money)} are compared as they are"
    if others and some_are_bare and FAMILY_OF.get(others[0]) != "count":
        return f"{others[0]!r} stands beside some of the numbers only"
    return ""


def is_duration(units: Iterable[str]) -> bool:
    """Whether numbers with these units are lengths of time."""
    found = {FAMILY_OF.get(unit) for unit in units}
    return found == {DURATION}
