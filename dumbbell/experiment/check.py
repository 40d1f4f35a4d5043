"""Check of all cells of an experiment file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell import _core
from dumbbell.experiment.load import Opened
from dumbbell.experiment.refused import refused

#: Cells between two reports of progress.
PART = 2000


@dataclass(frozen=True)
class Checked:
    """Summary of checked cells.

    Attributes:
        cells: Number of cells.
        duration_ns: Sum of their virtual times, one repeat of each.
        flows: Names of all flows.
    """

    cells: int
    duration_ns: int
    flows: frozenset[str]


def check_cells(experiment: Opened) -> Iterator[Checked]:
    """Checks cells in order, part by part. Raises `ExperimentError` for the first bad one."""
    reading = experiment.reading
    for begin in range(0, experiment.count, PART):
        end = min(begin + PART, experiment.count)
        try:
            duration_ns, flows = reading.core.check(begin, end, reading.files)
        except _core.RefusedError as error:
            raise refused(error, experiment.file) from None
        yield Checked(end - begin, duration_ns, frozenset(flows))
