"""Plan of an experiment: its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from dumbbell import _core
from dumbbell.engines.base import Engine
from dumbbell.engines.host_files import host_files
from dumbbell.execution.budget import estimated_s
from dumbbell.execution.shard import Shard, dealt, dealt_alike
from dumbbell.experiment import cells
from dumbbell.experiment.cells import Cell
from dumbbell.experiment.load import Experiment, reads_files
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


def task_of(experiment: Experiment, engine: Engine, number: int, cell: Cell, repeat: int) -> Task:
    """Run of a cell, by the number of the cell.

    Repeat k has the seed of the experiment + k in every cell, so that cells are paired. Programs of
    this machine that a run needs are part of its address.
    """
    seed = experiment.info.seed + repeat
    scenario = cell.scenario_of(repeat)
    version = engine.version + host_files(scenario)
    address = run_id(scenario, seed, engine.name, version, cell.content_of(repeat))
    run = Run(address, scenario, seed, cell.duration_ns)
    return Task(run, Planned(address, cell.levels, repeat, seed), number)


def planner(experiment: Experiment, engine: Engine) -> str:
    """Text that an equal file has the same runs with; empty if other files decide, too."""
    if reads_files(experiment):
        return ""
    return hashlib.sha256(f"{_expansion()} {engine.name} {engine.version}".encode()).hexdigest()


@cache
def _expansion() -> str:
    """Hash of what makes cells of an experiment file."""
    hashed = hashlib.sha256(Path(_core.__file__).read_bytes())
    for path in sorted(Path(cells.__file__).parent.glob("*.py")):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def plan(experiment: Experiment, engine: Engine) -> list[Task]:
    """All runs: cells in order, repeats within."""
    return list(each_task(experiment, engine))


def each_task(experiment: Experiment, engine: Engine) -> Iterator[Task]:
    """All runs, one by one; see :func:`plan`."""
    for number, cell in enumerate(experiment.cells):
        for repeat in range(experiment.repeats_of(number)):
            yield task_of(experiment, engine, number, cell, repeat)


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
    """Tasks of one shard, in the order of execution; see :func:`places_of_shard`."""
    costs = {number: cost_of(engine, cell) for number, cell in enumerate(experiment.cells)}
    found = {(one.planned.repeat, one.cell): one for one in distinct(tasks)}
    return [found[one] for one in places_of_shard(found, costs, shard, experiment.info.name)]


def cost_of(engine: Engine, cell: Cell) -> int:
    """Estimated time of a run of a cell, µs."""
    return round(1e6 * estimated_s(engine.name, cell.scenario, cell.duration_ns))


def each_place(experiment: Experiment, shard: Shard | None) -> Iterator[tuple[int, int]]:
    """Repeat and cell of each run of a large experiment, repeat by repeat; no cell is made."""
    info, count = experiment.info, len(experiment.cells)
    for repeat in range(info.repeats):
        every: Iterable[int] = range(count)
        if shard is not None:
            every = dealt_alike(count, repeat, shard, info.name)
        for number in every:
            if repeat < experiment.repeats_of(number):
                yield repeat, number


def places_of_shard(
    places: Iterable[tuple[int, int]], costs: Mapping[int, int], shard: Shard, name: str
) -> list[tuple[int, int]]:
    """Runs of one shard in the order of execution, each as its repeat and cell.

    The partition follows from the experiment and the engine alone: costs are estimated, since
    measured times would differ between processes.

    Args:
        places: Distinct runs of the experiment, each as its repeat and cell.
        costs: Cost of a run of each cell.
        shard: The shard.
        name: Name of the experiment.
    """
    runs = sorted(places, key=lambda one: (one[0], -costs[one[1]], one[1]))
    repeats = [[cell for _, cell in group] for _, group in groupby(runs, lambda one: one[0])]
    shards = dealt(repeats, costs, shard.of, name)
    return [run for run, own in zip(runs, shards, strict=True) if own == shard.number - 1]
