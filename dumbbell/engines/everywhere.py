"""Warnings about an experiment that hold on every engine."""

from __future__ import annotations

from dumbbell.engines.base import scenario_error
from dumbbell.engines.preflight import concerns_everywhere
from dumbbell.experiment.cells import Cells
from dumbbell.experiment.load import Opened, explain

#: Cells of an experiment that are looked at.
_MOST_WARNED = 100


def warnings_everywhere(opened: Opened) -> list[str]:
    """Warnings that hold on every engine, of cells that together have each level."""
    cells = Cells(opened.reading.core.groups, opened.reading.cell)
    found, told = dict[str, None](), set[tuple[str, str]]()
    for number in cells.of_each_level(_MOST_WARNED):
        for concern in concerns_everywhere(cells[number].scenario):
            # Warnings about one field in several cells differ only in numbers.
            kind = (concern.path, concern.message.split(" ")[0])
            if kind not in told:
                told.add(kind)
                error = scenario_error(concern.path, concern.message)
                found[str(explain(opened, number, error))] = None
    return list(found)
