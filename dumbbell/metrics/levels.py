"""Levels of factors as text and as numbers: `10 ms` is 10 in the unit `ms`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

_LEVEL = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z%µ/]*)\s*$")
_SCALE = {
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "bit/s": ("bit/s", 1.0),
    "kbit/s": ("bit/s", 1e3),
    "Mbit/s": ("bit/s", 1e6),
    "Gbit/s": ("bit/s", 1e9),
}


@dataclass(frozen=True)
class Scale:
    """Levels of a factor as numbers: `values` in `unit`, keyed by the text of the level."""

    unit: str
    values: dict[str, float]


def number_of(level: str) -> tuple[float, str] | None:
    """Number and unit of a level (`"10 ms"` → `(10.0, "ms")`), or None if it is a word."""
    match = _LEVEL.match(level)
    if match is None:
        return None
    value = float(match.group(1))
    return (value, match.group(2)) if math.isfinite(value) else None


def scale_of(levels: Iterable[str]) -> Scale | None:
    """The levels as numbers in one unit (that of the first), or None if any is a word.

    Levels in different units of the same quantity are converted: `500 us` beside `1 ms` is 500
    and 1000 in `us`.
    """
    values: dict[str, float] = {}
    unit = ""
    for level in levels:
        parsed = number_of(level)
        if parsed is None:
            return None
        number, own = parsed
        if not values:
            unit = own
        if own != unit:
            base, factor = _SCALE.get(own, (own, 1.0))
            target, step = _SCALE.get(unit, (unit, 1.0))
            if base != target:
                return None
            number *= factor / step
        values[level] = number
    return Scale(unit, values) if values else None


def levels_with(selected: object) -> str:
    """A level as it stands in a table, from what YAML made of it (`10` → `"10"`)."""
    if isinstance(selected, bool):
        return "true" if selected else "false"
    return str(selected)
