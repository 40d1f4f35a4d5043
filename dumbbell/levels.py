"""Levels of factors as text and as numbers: `10 ms` is 10 in the unit `ms`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

_LEVEL = re.compile(r"^\s*([-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z%µμ/]*)\s*$")
_DECADE = 10
#: Unit in lower case → base unit, and what one is in it: as `dumbbell.units`.
SCALE = {
    **dict.fromkeys(("us", "µs", "μs"), ("s", 1e-06)),
    "ns": ("s", 1e-9),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    **{f"{prefix}bit{end}": ("bit/s", size)
       for prefix, size in (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12))
       for end in ("", "/s")},
    **dict.fromkeys(("bytes", "byte", "b"), ("bytes", 1.0)),
    **{f"{prefix}{end}": ("bytes", 1024.0**place)
       for place, prefix in enumerate("kmgt", 1) for end in ("b", "ib")},
    **dict.fromkeys(("packets", "packet"), ("packets", 1.0)),
    "%": ("share", 1e-2),
    "ppm": ("share", 1e-6),
}  # fmt: skip


@dataclass(frozen=True)
class Scale:
    """Levels of a factor as numbers: `values` in `unit`, keyed by the text of the level."""

    unit: str
    values: dict[str, float]

    @property
    def spans_decades(self) -> bool:
        """True if the levels span more than a decade, so that an axis of them is logarithmic."""
        numbers = self.values.values()
        return min(numbers) > 0 and max(numbers) > _DECADE * min(numbers)


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
            base, factor = SCALE.get(own.lower(), (own, 1.0))
            target, step = SCALE.get(unit.lower(), (unit, 1.0))
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
