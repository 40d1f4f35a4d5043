"""Shards: a sweep, divided among processes that do not communicate."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, shortened

#: Largest number of shards.
MOST_SHARDS = 100_000
_FORM = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a sweep.

    Attributes:
        number: Number of the shard, from 1 to `of`.
        of: Number of shards.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


ShardLike = str | tuple[int, int] | Shard
"""A shard as users write it: `"3/16"` or `(3, 16)`."""


def shard_of(chosen: ShardLike | None) -> Shard | None:
    """Value of `--shard` as a shard; None: the whole sweep.

    Raises:
        DumbbellError: It has another form, or a number is out of range.
    """
    if chosen is None or isinstance(chosen, Shard):
        return chosen
    text = chosen if isinstance(chosen, str) else "/".join(map(str, chosen))
    form = _FORM.fullmatch(text)
    if form is None:
        raise DumbbellError(
            f"--shard {shortened(text)}: should be K/N, as --shard 3/16: the third of 16 shards",
            code=Code.SHARD,
        )
    number, of = int(form[1]), int(form[2])
    if not 1 <= of <= MOST_SHARDS:
        raise DumbbellError(
            f"--shard {text.strip()}: the number of shards should be from 1 to {MOST_SHARDS}; "
            f"found {of}",
            code=Code.SHARD,
        )
    if not 1 <= number <= of:
        raise DumbbellError(
            f"--shard {text.strip()}: shards are counted from 1 to {of}; found {number}",
            code=Code.SHARD,
        )
    return Shard(number, of)


def dealt_alike(runs: int, repeat: int, shard: Shard, name: str) -> Iterator[int]:
    """Numbers of the cells whose run of a repeat belongs to a shard, ascending.

    Of as many cells in a row as there are shards, each shard has one: at a place that is drawn for
    these cells, and that the next repeat moves by one. No cell is made for it. So a shard has as
    many runs as the others, and a cell's repeats are spread over the shards (±1).

    Args:
        runs: Number of cells.
        repeat: Number of the repeat, from 0.
        shard: The shard.
        name: Name of the experiment; it chooses the places.
    """
    for block, begin in enumerate(range(0, runs, shard.of)):
        drawn = crc32(f"{block} {name}".encode())
        cell = begin + (drawn + repeat + shard.number) % shard.of
        if cell < runs:
            yield cell


def dealt(
    repeats: Iterable[Sequence[int]], costs: Mapping[int, int], of: int, name: str
) -> Iterator[int]:
    """Shard of each run, counted from 0. The same arguments always give the same shards.

    A run goes to the least loaded of the shards that have the fewest runs of its cell. Every shard
    therefore has each cell equally often (±1), and loads differ by about the costliest run.

    Args:
        repeats: Cells of the runs of each repeat, the costliest first.
        costs: Cost of a run of each cell, in any unit.
        of: Number of shards.
        name: Chooses the shard with the first run, so that experiments with few runs do not all
            fill the first shards.
    """
    first = crc32(name.encode()) % of
    loads = [(0, place, (first + place) % of) for place in range(of)]
    had: dict[int, set[int]] = {}
    for number, cells in enumerate(repeats):
        if number and 8 * len(cells) >= of:
            # Among equal loads each repeat begins with another shard, as in a Latin square.
            loads = [(load, (shard - first - number) % of, shard) for load, _, shard in loads]
            heapq.heapify(loads)
        for cell in cells:
            before = had.setdefault(cell, set())
            if len(before) == of:
                before.clear()
            passed = []
            load, place, shard = heapq.heappop(loads)
            while shard in before:
                passed.append((load, place, shard))
                load, place, shard = heapq.heappop(loads)
            before.add(shard)
            yield shard
            heapq.heappush(loads, (load + costs[cell], place, shard))
            for one in passed:
                heapq.heappush(loads, one)
