"""Numbers of a question: of the simulator now, of the kernel as they were measured."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.cells import CellValues
from dumbbell.metrics.statistics import Interval, interval
from tests.questions.source import PAGES, Question

KERNEL = PAGES / "kernel.csv"
_HEAD = ["question", "engine", "file", "cell", "column", "values"]
#: Cell (levels in order) and column → value of each repeat in which it is known.
Numbers = Mapping[tuple[tuple[str, ...], int], list[float]]


@dataclass(frozen=True)
class Measured:
    """Numbers of one engine."""

    engine: str
    numbers: Numbers

    @property
    def repeats(self) -> int:
        """Most repeats of a cell."""
        return max(map(len, self.numbers.values()), default=0)

    def interval(self, cell: tuple[str, ...], column: int) -> Interval | None:
        """Mean of a column in a cell, with its interval; None if it is not known."""
        values = self.numbers.get((cell, column))
        return interval(values) if values else None


def numbers(question: Question, results: dumbbell.Results) -> Numbers:
    """Columns of the table in each cell; without what is unknown."""
    values = CellValues(results, [METRICS[one.metric] for one in question.columns])
    factors = list(results.experiment.factors)
    cells = results.runs.select(factors).unique(maintain_order=True).rows() if factors else [()]
    found = {}
    for cell in cells:
        for place, column in enumerate(question.columns):
            names = None if column.flow is None else {column.flow}
            value = values.of(column.metric, cell).per_repeat(names, "mean")
            if value:
                found[cell, place] = value
    return found


def digest(question: Question) -> str:
    """Digest of what the kernel is measured with: the experiment without its expectations."""
    text = re.sub(r"^expect:.*", "", question.text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    columns = [(one.metric, one.flow) for one in question.columns]
    return hashlib.sha256(f"{lines}{columns}".encode()).hexdigest()[:12]


@cache
def rows() -> list[dict[str, str]]:
    """Numbers of the kernel as they are kept, one row per cell and column."""
    if not KERNEL.is_file():
        return []
    with KERNEL.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def kernel(question: Question) -> Measured | None:
    """Numbers of the kernel; None: none was measured with this file."""
    own = [row for row in rows() if row["question"] == question.name]
    if not own or own[0]["file"] != digest(question):
        return None
    found = {
        (tuple(row["cell"].split("|")), int(row["column"])): [*map(float, row["values"].split())]
        for row in own
    }
    return Measured(own[0]["engine"], found)


def write_kernel(question: Question, engine: str, found: Numbers) -> None:
    """Replaces the rows of a question."""
    kept = [row for row in rows() if row["question"] != question.name]
    for (cell, place), one in found.items():
        values = " ".join(f"{value:.6g}" for value in one)
        own = [question.name, engine, digest(question), "|".join(cell), str(place), values]
        kept.append(dict(zip(_HEAD, own, strict=True)))
    kept.sort(key=lambda row: row["question"])
    with KERNEL.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    rows.cache_clear()
