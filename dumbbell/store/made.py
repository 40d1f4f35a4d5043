"""Runs of a sweep of many cells that were made so far, 16 bytes each."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, NamedTuple, overload

from dumbbell.runs import ID_LENGTH

#: Names of factors, and the labels of each combination of their levels.
Group = tuple[Sequence[str], Sequence[Sequence[str]]]

_BYTES = ID_LENGTH // 2
_NONE = bytes(_BYTES)


class Planned(NamedTuple):
    """Run of an experiment: its place in the design, and its id."""

    run: str
    levels: Mapping[str, str]
    repeat: int
    seed: int


class Made(Sequence[Planned]):
    """Runs that were made, by cell and repeat: cells in order, repeats within.

    The levels of a cell follow from its number: cells are the product of groups of levels, the last
    of which varies fastest.

    Attributes:
        groups: Groups of levels.
        seed: Seed of the first repeat.
        planner: What makes runs of the file: an equal one makes the same runs. Empty: unknown.
    """

    def __init__(
        self, factors: Sequence[str], groups: Sequence[Group], seed: int, planner: str = ""
    ) -> None:
        """`factors`: names in the order of the file."""
        self.groups = tuple((tuple(names), [list(row) for row in rows]) for names, rows in groups)
        self.seed, self.planner = seed, planner
        self._factors = tuple(factors)
        self._at = {name: (g, i) for g, one in enumerate(groups) for i, name in enumerate(one[0])}
        self.cells = 1
        for _, rows in self.groups:
            self.cells *= len(rows)
        self._count = 0
        #: Ids by repeat, one cell after the other.
        self._ids: list[bytearray] = []

    def add(self, cell: int, repeat: int, run: str) -> None:
        """Adds a run."""
        while len(self._ids) <= repeat:
            self._ids.append(bytearray())
        ids, at = self._ids[repeat], _BYTES * cell
        if len(ids) < at:
            ids.extend(bytes(at - len(ids)))
        self._count += ids[at : at + _BYTES] in (b"", _NONE)
        ids[at : at + _BYTES] = bytes.fromhex(run)

    def run_at(self, cell: int, repeat: int) -> str | None:
        """Id of a run; None: it was not made."""
        if repeat >= len(self._ids):
            return None
        found = self._ids[repeat][_BYTES * cell : _BYTES * (cell + 1)]
        return None if found in (b"", _NONE) else found.hex()

    def each(self) -> Iterator[tuple[int, int, str]]:
        """Cell, repeat and id of each run, in order of repeat and cell."""
        for repeat, ids in enumerate(self._ids):
            for at in range(0, len(ids), _BYTES):
                if (found := ids[at : at + _BYTES]) != _NONE:
                    yield at // _BYTES, repeat, found.hex()

    def distinct(self) -> set[str]:
        """Ids of all runs."""
        return {run for _, _, run in self.each()}

    def joined(self, other: Made) -> Made | None:
        """Runs of both; None: they differ in a run, or have other cells."""
        if self.groups != other.groups or self.seed != other.seed:
            return None
        both = Made(self._factors, self.groups, self.seed, self.planner)
        for mine, theirs in zip_longest(self._ids, other._ids, fillvalue=b""):
            long, short = sorted((mine, theirs), key=len, reverse=True)
            ids = bytearray(long)
            if not long.startswith(short):
                for at in range(0, len(short), _BYTES):
                    one, two = ids[at : at + _BYTES], short[at : at + _BYTES]
                    if two != _NONE:
                        if one not in (_NONE, two):
                            return None
                        ids[at : at + _BYTES] = two
            both._ids.append(ids)
        both._count = sum(1 for _ in both.each())
        return both

    def of(self, runs: Sequence[Planned], repeats: int) -> Made:
        """Runs of a record of this experiment, up to a number of repeats.

        Runs whose levels this experiment does not have are left out.
        """
        made = Made(self._factors, self.groups, self.seed)
        if isinstance(runs, Made):
            if runs.groups == self.groups:
                made.planner = runs.planner
                made._ids = [bytearray(ids) for ids in runs._ids[:repeats]]
                made._count = sum(1 for _ in made.each())
            return made
        numbers = [{tuple(row): i for i, row in enumerate(rows)} for _, rows in self.groups]
        for run, levels, repeat, _ in runs:
            cell: int | None = 0
            for (names, rows), known in zip(self.groups, numbers, strict=True):
                row = known.get(tuple(levels[name] for name in names))
                cell = None if cell is None or row is None else cell * len(rows) + row
            if cell is not None and repeat < repeats:
                made.add(cell, repeat, run)
        return made

    def levels(self, cell: int) -> dict[str, str]:
        """Factor → level of a cell."""
        rows: list[Sequence[str]] = []
        for _, group in reversed(self.groups):
            cell, row = divmod(cell, len(group))
            rows.append(group[row])
        rows.reverse()
        return {name: rows[self._at[name][0]][self._at[name][1]] for name in self._factors}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Planned]:
        for cell in range(max((len(ids) for ids in self._ids), default=0) // _BYTES):
            levels: dict[str, str] | None = None
            for repeat in range(len(self._ids)):
                if (run := self.run_at(cell, repeat)) is not None:
                    levels = self.levels(cell) if levels is None else levels
                    yield Planned(run, levels, repeat, self.seed + repeat)

    @overload
    def __getitem__(self, place: int) -> Planned: ...
    @overload
    def __getitem__(self, place: slice) -> list[Planned]: ...
    def __getitem__(self, place: int | slice) -> Planned | list[Planned]:
        if isinstance(place, slice):
            return list(self)[place]
        return next(islice(iter(self), range(len(self))[place], None))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Made):
            return self.fields() == other.fields()
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def fields(self) -> dict[str, Any]:
        """Fields of the record of an experiment."""
        packed = [zlib.compress(bytes(ids), 1) for ids in self._ids]
        return {
            "groups": [[list(names), list(rows)] for names, rows in self.groups],
            "ids": [base64.b64encode(one).decode() for one in packed],
            "planner": self.planner,
        }

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Made:
        """Runs of the fields of a record. Raises `ValueError` if these do not fit together."""
        factors: Mapping[str, Sequence[str]] = fields["factors"]
        groups: list[Group] = [(names, rows) for names, rows in fields["groups"]]
        named = [name for names, _ in groups for name in names]
        rows = [(names, row) for names, rows in groups for row in rows]
        if sorted(named) != sorted(factors) or any(len(row) != len(names) for names, row in rows):
            raise ValueError("its cells have other factors than the experiment")
        made = cls(list(factors), groups, fields["seed"], fields["planner"])
        for text in fields["ids"]:
            reader = zlib.decompressobj()
            try:
                ids = reader.decompress(base64.b64decode(text), _BYTES * made.cells + 1)
            except zlib.error:
                raise ValueError("its runs cannot be read") from None
            if len(ids) % _BYTES or len(ids) > _BYTES * made.cells:
                raise ValueError("it has other runs than its cells")
            made._ids.append(bytearray(ids))
        made._count = sum(1 for _ in made.each())
        return made
