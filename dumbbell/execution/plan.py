"""Plan of an experiment: its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dumbbell.engines.base import Engine
from dumbbell.engines.host_files import host_files
from dumbbell.execution.budget import estimated_s
from dumbbell.execution.shard import Shard, dealt
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

    Repeat k has the seed of the experiment + k in every cell, so that cells are paired. Programs of
    this machine that a run needs are part of its address.
    """
    tasks = []
    for number, cell in enumerate(experiment.cells):
        for repeat in range(experiment.repeats_of(number)):
            seed = experiment.info.seed + repeat
            scenario = cell.scenario_of(repeat)
            version = engine.version + host_files(scenario)
            address = run_id(scenario, seed, engine.name, version)
            run = Run(address, scenario, seed, cell.duration_ns)
            tasks.append(Task(run, Planned(address, cell.levels, repeat, seed), number))
    return tasks


def distinct(tasks: Sequence[Task]) -> list[Task]:
    """Tasks in the order of execution: repeat by repeat. Cells with one scenario share a run.

    A sweep that is stopped therefore has every cell about equally often.
    """
    once: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda one: (one.planned.repeat, one.cell)):
        once.setdefault(task.run.id, task)
    return list(once.values())


def of_shard(
    tasks: Sequence[Task], experiment: Experiment, engine: Engine, shard: Shard
) -> list[Task]:
    """Tasks of one shard, in the order of execution.

    The partition follows from the experiment and the engine alone: costs are estimated, since
    measured times would differ between processes.
    """
    costs = {
        number: round(1e6 * estimated_s(engine.name, cell.scenario, cell.duration_ns))
        for number, cell in enumerate(experiment.cells)
    }
    runs = sorted(distinct(tasks), key=lambda one: (one.planned.repeat, -costs[one.cell], one.cell))
    repeats = [
        [one.cell for one in group] for _, group in groupby(runs, lambda one: one.planned.repeat)
    ]
    shards = dealt(repeats, costs, shard.of, experiment.info.name)
    return [run for run, own in zip(runs, shards, strict=True) if own == shard.number - 1]
