"""Choice of cells by the levels of their factors, as users write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.store.records import Planned


def fits(planned: Planned, levels: Mapping[str, str]) -> bool:
    """Returns true if a run has these levels."""
    return all(planned.levels[name] == level for name, level in levels.items())


def levels_of(
    text: str, factors: Mapping[str, Sequence[str]], option: str = "--cell"
) -> dict[str, str]:
    """Value of an option as factor → level: `rtt=10 ms,cc=reno`. Raises `ExperimentError`."""
    if not factors:
        message = f"{option}: the experiment has one cell, it varies no factor"
        raise ExperimentError(message, found=shortened(text), code=Code.SELECTION)
    # Levels may contain commas and equals signs: only the first `NAME=` of a factor begins one.
    names = "|".join(re.escape(name) for name in sorted(factors, key=len, reverse=True))
    begins: list[re.Match[str]] = []
    for one in re.finditer(rf"(?:^|,)\s*({names})\s*=", text):
        if one[1] not in (before[1] for before in begins):
            begins.append(one)
    if not begins or begins[0].start() != 0:
        name = text.partition("=")[0].strip()
        raise ExperimentError(
            f"{option}: no such factor",
            found=shortened(name),
            allowed=tuple(factors),
            nearest=nearest_name(name, factors),
            code=Code.SELECTION,
        )
    ends = [one.start() for one in begins[1:]] + [len(text)]
    return {
        one[1]: _level(one[1], text[one.end() : end], factors[one[1]], option)
        for one, end in zip(begins, ends, strict=True)
    }


def _level(name: str, text: str, levels: Sequence[str], option: str) -> str:
    """Level as the experiment writes it; white space does not matter."""
    text = text.strip()
    same = {"".join(level.split()): level for level in levels}
    found = text if text in levels else same.get("".join(text.split()))
    if found is None:
        raise ExperimentError(
            f"{option}: no such level of {name}",
            found=shortened(text),
            allowed=tuple(levels),
            nearest=nearest_name(text, levels),
            code=Code.SELECTION,
        )
    return found
