"""Plan of an experiment: its runs."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.engines.base import Engine
from dumbbell.experiment.load import Experiment
from dumbbell.runs import Run, run_id
from dumbbell.store.records import Planned


@dataclass(frozen=True, slots=True)
class Task:
    """Run of an experiment, and its place in the design.

    Attributes:
        run: Run to execute.
        planned: Levels, repeat, seed.
        cell: Index of the cell in the experiment.
    """

    run: Run
    planned: Planned
    cell: int

    def label(self) -> str:
        """Name in messages: `cc=reno, repeat 2`."""
        levels = [f"{name}={level}" for name, level in self.planned.levels.items()]
        return ", ".join([*levels, f"repeat {self.planned.repeat}"])


def plan(experiment: Experiment, engine: Engine) -> list[Task]:
    """All runs: cells in order, repeats within.

    Repeat k has the seed of the experiment + k in every cell, so that cells are paired.
    """
    tasks = []
    for number, cell in enumerate(experiment.cells):
        for repeat in range(experiment.repeats_of(number)):
            seed = experiment.info.seed + repeat
            scenario = cell.scenario_of(repeat)
            address = run_id(scenario, seed, engine.name, engine.version)
            run = Run(address, scenario, seed, cell.duration_ns)
            tasks.append(Task(run, Planned(address, cell.levels, repeat, seed), number))
    return tasks
