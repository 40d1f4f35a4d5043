"""Cells of an experiment, made when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

#: Names of factors, and the labels of each combination of their levels.
Group = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels.

    Attributes:
        levels: Factor → level as written.
        scenario: Canonical JSON.
        unsampled: Scenario without tables over time, for later repeats; None: all repeats keep
            them.
        sampled: Number of first repeats with tables over time; unused without `unsampled`.
        rtt_ns: Base RTT of each flow: sum of the fixed delays in both directions.
        duration_ns: Virtual time of a run.
        contents: SHA-256 of both scenarios without their names; None: not computed yet.
    """

    levels: dict[str, str]
    scenario: str
    unsampled: str | None
    sampled: int
    rtt_ns: dict[str, int]
    duration_ns: int
    contents: tuple[bytes | None, bytes | None] = (None, None)

    def scenario_of(self, repeat: int) -> str:
        """Scenario of a repeat, counted from 0."""
        return self.scenario if self._has_tables(repeat) else self.unsampled or ""

    def content_of(self, repeat: int) -> bytes | None:
        """SHA-256 of the scenario of a repeat without its name; None: not computed yet."""
        return self.contents[0 if self._has_tables(repeat) else 1]

    def _has_tables(self, repeat: int) -> bool:
        return self.unsampled is None or repeat < self.sampled


class Cells(Sequence[Cell]):
    """All cells of an experiment. Each is made and checked when it is asked for, and not kept.

    Any access to a cell may raise `ExperimentError`: this combination of levels is wrong.
    """

    def __init__(self, groups: Sequence[Group], make: Callable[[int], Cell]) -> None:
        """The cells are the product of groups of levels.

        Args:
            groups: Names of factors, and labels of each combination of their levels; the last group
                varies fastest.
            make: Makes a cell by its number.
        """
        self.groups = tuple(groups)
        self._sizes, self._make = [len(rows) for _, rows in groups], make
        self._count = math.prod(self._sizes)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Cell: ...
    @overload
    def __getitem__(self, number: slice) -> list[Cell]: ...
    def __getitem__(self, number: int | slice) -> Cell | list[Cell]:
        if isinstance(number, slice):
            return [self._make(one) for one in range(self._count)[number]]
        return self._make(range(self._count)[number])

    def __iter__(self) -> Iterator[Cell]:
        return map(self._make, range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} cells>"

    def of_each_level(self, most: int) -> list[int]:
        """Numbers of cells that together have every level, the first one among them.

        Each differs from the first cell in one group. At most `most`, from all groups alike.
        """
        found, step = {0}, self._count
        for size in self._sizes:
            step //= size
            kept = min(size, max(2, most // len(self._sizes)))
            found |= {step * (place * (size - 1) // max(1, kept - 1)) for place in range(kept)}
        return sorted(found)
