"""Connections by size class, as in Table 1 of study 2."""

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


#: Upper limit of a bound in bytes: the range of a counter.
_BOUND_MAX = 2.0**63


@dataclass(frozen=True)
class SizeClass:
    """Size class: connections smaller than `below_bytes` (None: all) and in no smaller class."""

    name: str
    below_bytes: int | None


#: Classes of study 2: 0-9 kB, 10-99 kB, and larger.
DEFAULT_CLASSES = (
    SizeClass("small", 10_000),
    SizeClass("medium", 100_000),
    SizeClass("large", None),
)


def parse_class(text: str) -> SizeClass:
    """Class as written: `small<10 kB`, or a name alone for all larger connections.

    Raises:
        DumbbellError: The text is malformed.
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
    """Classes as written, the smallest first. Larger connections are in `larger` by default.

    Raises:
        DumbbellError: A text is malformed, or two classes have the same name or bound.
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
    """Number of TCP conversations by class of their bytes in both directions."""
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
