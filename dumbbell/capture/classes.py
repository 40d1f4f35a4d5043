"""Connections by classes of their size, as study 2's Table 1 has them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import DumbbellError

_UNITS = {"": 1, "B": 1, "bytes": 1, "kB": 1000, "KB": 1000, "KiB": 1024, "MB": 10**6}
_UNITS |= {"MiB": 1 << 20, "GB": 10**9, "GiB": 1 << 30}
_CLASS = re.compile(r"\s*([^<]+?)\s*(?:<\s*([0-9.]+)\s*([A-Za-z]*)\s*)?")


#: Bytes; more no counter holds.
_BOUND_MAX = 2.0**63


@dataclass(frozen=True)
class SizeClass:
    """Connections smaller than `below_bytes` (all, if None) that no smaller class has taken."""

    name: str
    below_bytes: int | None


#: Those of study 2: 0-9 kB, 10-99 kB, and what is larger.
DEFAULT_CLASSES = (
    SizeClass("small", 10_000),
    SizeClass("medium", 100_000),
    SizeClass("large", None),
)


def parse_class(text: str) -> SizeClass:
    """A class as written: `small<10 kB`, or only a name for everything larger.

    Raises:
        DumbbellError: It is neither.
    """
    found = _CLASS.fullmatch(text)
    allowed = "a class is written name<size, as 'small<10 kB'; the last may be a name alone"
    if found is None:
        raise DumbbellError(f"--class {text!r}: {allowed}")
    name, number, unit = found.groups()
    if number is None:
        return SizeClass(name, None)
    if unit not in _UNITS or number.count(".") > 1 or number == ".":
        units = ", ".join(unit for unit in _UNITS if unit)
        raise DumbbellError(f"--class {text!r}: {number} {unit}: units are {units}")
    bound = float(number) * _UNITS[unit]
    if not 1 <= bound < _BOUND_MAX:
        raise DumbbellError(f"--class {name}: a bound is at least a byte and below {_BOUND_MAX:g}")
    return SizeClass(name, round(bound))


def parse_classes(texts: Iterable[str]) -> tuple[SizeClass, ...]:
    """Classes as written, the smallest first; what is larger than all is `larger` unless named.

    Raises:
        DumbbellError: One is not readable, or two have the same name or bound.
    """
    classes = [parse_class(text) for text in texts]
    if not any(one.below_bytes is None for one in classes):
        classes.append(SizeClass("larger", None))
    classes.sort(key=lambda one: (one.below_bytes is None, one.below_bytes or 0))
    for earlier, later in itertools.pairwise(classes):
        if earlier.below_bytes == later.below_bytes:
            raise DumbbellError(f"--class: {earlier.name} and {later.name} have the same bound")
    names = [one.name for one in classes]
    for name in names:
        if names.count(name) > 1:
            raise DumbbellError(f"--class: {name} is there twice")
    return tuple(classes)


def classified(
    conversations: Iterable[dict[str, Any]], classes: Iterable[SizeClass]
) -> list[dict[str, Any]]:
    """TCP conversations counted by class of the bytes they carried both ways."""
    rows: list[dict[str, Any]] = []
    start = 0
    for one in classes:
        end = None if one.below_bytes is None else one.below_bytes - 1
        rows.append(
            {"class": one.name, "from_bytes": start, "to_bytes": end, "connections": 0, "bytes": 0}
        )
        start = one.below_bytes or start
    for conversation in conversations:
        if conversation["protocol"] != "tcp":
            continue
        size = conversation["bytes_a_to_b"] + conversation["bytes_b_to_a"]
        row = next(r for r in rows if r["to_bytes"] is None or size <= r["to_bytes"])
        row["connections"] += 1
        row["bytes"] += size
    total = sum(row["connections"] for row in rows)
    return [{**row, "share": row["connections"] / total if total else 0.0} for row in rows]
