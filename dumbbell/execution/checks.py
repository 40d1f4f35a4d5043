"""Checks of the cells of an experiment before their runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dumbbell import _core
from dumbbell.console.words import many
from dumbbell.engines.base import Engine, scenario_error
from dumbbell.execution import budget
from dumbbell.execution.budget import Allowed
from dumbbell.execution.progress import Progress
from dumbbell.experiment.cells import Cell
from dumbbell.experiment.load import Experiment, explain
from dumbbell.store.index import Damage


class Checks:
    """Checks of cells, one by one. Each kind of warning is noted once."""

    def __init__(
        self, experiment: Experiment, engine: Engine, allow: Allowed, progress: Progress
    ) -> None:
        self._experiment, self._engine = experiment, engine
        self._allow, self._progress = allow, progress
        self._told: set[tuple[str, str]] = set()
        self._notes: set[str] = set()
        self._told_boundless = False

    def fits(self, number: int, cell: Cell) -> None:
        """Raises a refusal of the engine; notes its warnings."""
        try:
            self._engine.check(cell.scenario)
        except _core.ScenarioError as error:
            raise explain(self._experiment, number, error) from None
        for concern in self._engine.concerns(cell.scenario):
            # Warnings about one field in several cells differ only in numbers.
            kind = (concern.path, concern.message.split(" ")[0])
            if kind not in self._told:
                self._told.add(kind)
                self._note(number, concern.path, concern.message)

    def afford(self, number: int, cell: Cell) -> None:
        """Refuses a cell above a limit of the budget; warns of a path without rate and delay."""
        try:
            boundless = budget.check(cell.scenario, self._allow)
        except _core.ScenarioError as error:
            raise explain(self._experiment, number, error) from None
        if boundless and not self._told_boundless:
            self._told_boundless = True
            message = "its path has neither a rate nor a delay: only its window limits this flow"
            self._note(number, f"flows[{boundless[0]}]", message)

    def _note(self, number: int, path: str, message: str) -> None:
        # Both directions of a link may have one field of the file.
        text = str(explain(self._experiment, number, scenario_error(path, message)))
        if text not in self._notes:
            self._notes.add(text)
            self._progress.note(f"warning: {text}")


def check_cells(experiment: Experiment, engine: Engine, progress: Progress) -> None:
    """Raises the first refusal of the engine; notes each kind of its warnings once."""
    checks = Checks(experiment, engine, {}, progress)
    for number, cell in enumerate(experiment.cells):
        checks.fits(number, cell)


def afford(
    experiment: Experiment,
    engine: Engine,
    wanted: Collection[int],
    allow: Allowed,
    progress: Progress,
) -> None:
    """Refuses cells above a limit of the budget; warns once of a path without rate and delay."""
    checks = Checks(experiment, engine, allow, progress)
    for number in sorted(wanted):
        checks.afford(number, experiment.cells[number])


def damage_note(damages: Sequence[Damage], wanted: Collection[str]) -> str:
    """Message about damaged runs, which are rerun."""
    runs = {run for one in damages for run in one.runs or wanted if run in wanted}
    others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
    count = many(len(runs), "run is", "runs are")
    return f"{damages[0]}{others}: {count} rerun"
