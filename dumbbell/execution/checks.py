"""Checks of all cells of an experiment before its first run."""

from __future__ import annotations

from collections.abc import Collection

from dumbbell import _core
from dumbbell.engines.base import Engine, scenario_error
from dumbbell.execution import budget
from dumbbell.execution.budget import Allowed
from dumbbell.execution.progress import Progress
from dumbbell.experiment.load import Experiment, explain


def check_cells(experiment: Experiment, engine: Engine, progress: Progress) -> None:
    """Raises the first refusal of the engine; notes each kind of its warnings once."""
    told: set[tuple[str, str]] = set()
    for number, cell in enumerate(experiment.cells):
        try:
            engine.check(cell.scenario)
        except _core.ScenarioError as error:
            raise explain(experiment, number, error) from None
        for concern in engine.concerns(cell.scenario):
            # Warnings about one field in several cells differ only in numbers.
            kind = (concern.path, concern.message.split(" ")[0])
            if kind not in told:
                told.add(kind)
                placed = explain(experiment, number, scenario_error(concern.path, concern.message))
                progress.note(f"warning: {placed}")


def afford(
    experiment: Experiment, wanted: Collection[int], allow: Allowed, progress: Progress
) -> None:
    """Refuses cells above a limit of the budget; warns once of a path without rate and delay."""
    told = False
    for number in sorted(wanted):
        try:
            boundless = budget.check(experiment.cells[number].scenario, allow)
        except _core.ScenarioError as error:
            raise explain(experiment, number, error) from None
        if boundless and not told:
            told = True
            message = "its path has neither a rate nor a delay: only its window limits this flow"
            warning = scenario_error(f"flows[{boundless[0]}]", message)
            progress.note(f"warning: {explain(experiment, number, warning)}")
