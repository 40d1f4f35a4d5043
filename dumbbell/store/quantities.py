"""Numeric columns beside factors whose levels are quantities: `rtt_ms` beside `rtt`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dumbbell.levels import SCALE, number_of
from dumbbell.runs import column_names

#: Base unit of a quantity → end of the column's name, and size of that unit in base units. The unit
#: does not depend on the levels. Levels without a unit are plain numbers.
UNITS = {
    "s": ("ms", 1e-3),
    "bit/s": ("mbps", 1e6),
    "bytes": ("bytes", 1.0),
    "packets": ("packets", 1.0),
    "share": ("percent", 1e-2),
    "bdp": ("bdp", 1.0),
    "rtt": ("rtt", 1.0),
    "": ("number", 1.0),
}


def numeric_columns(factors: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Column → level of its factor → number, for each factor of quantities.

    There is none for a factor with a word among its levels, with levels of different quantities, or
    if the name is taken by a factor or by a column of any result table.
    """
    taken = {one.lower() for one in (*factors, *column_names())}
    found: dict[str, dict[str, float]] = {}
    for factor, levels in factors.items():
        unit, numbers = _numbers(levels)
        name = f"{factor}_{unit}"
        if numbers and name.lower() not in taken:
            found[name] = numbers
            taken.add(name.lower())
    return found


def factor_of(column: str) -> str:
    """Factor of a numeric column."""
    return column.rpartition("_")[0]


def _numbers(levels: Iterable[str]) -> tuple[str, dict[str, float]]:
    """End of a column's name, and level → number; no numbers if there is no column."""
    bases, numbers = set[str](), dict[str, float]()
    for level in levels:
        parsed = number_of(level)
        if parsed is None:
            return "", {}
        number, unit = parsed[0], parsed[1].lower()
        base, factor = SCALE.get(unit, (unit, 1.0))
        bases.add(base)
        if len(bases) > 1 or base not in UNITS:
            return "", {}
        end, size = UNITS[base]
        numbers[level] = float(f"{number * factor / size:.12g}")
    return (end, numbers) if numbers else ("", {})
