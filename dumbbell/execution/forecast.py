"""Forecast of an experiment before it runs: runs, bytes, time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dumbbell import _core
from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed, estimated_s
from dumbbell.execution.checks import afford, check_cells
from dumbbell.execution.enough import refuse_endless
from dumbbell.execution.plan import Task, distinct, of_shard, plan
from dumbbell.execution.progress import current_progress
from dumbbell.execution.runner import workers_of
from dumbbell.execution.shard import Shard
from dumbbell.experiment.load import Cell, Experiment
from dumbbell.scenario import read_scenario
from dumbbell.store.place import is_store
from dumbbell.store.remote import entered
from dumbbell.store.store import Store

#: Bytes of a row of a table over time in a store (docs/performance.md).
_ROW_BYTES = 33
#: Bytes of a run in the segments of a store.
_RUN_BYTES = 500
_OVER_TIME = ("samples", "queues", "drops", "probes", "packets", "hops", "capture")


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of an experiment, or of a shard of it.

    Attributes:
        name: Name of the experiment.
        engine: Name of the engine.
        cells: Number of cells with runs.
        runs: Number of runs.
        done: Runs that the store has. Their checksums are not compared.
        kept: Tables over time that some run keeps, and `capture`.
        bytes: Estimated size of the runs to make.
        work_s: Estimated sum of the times of the runs to make.
        workers: Number of simultaneous runs.
        measured: Number of stored runs whose times were used; 0: none.
        shard: Part of the experiment; None: all of it.
    """

    name: str
    engine: str
    cells: int
    runs: int
    done: int
    kept: Sequence[str]
    bytes: float
    work_s: float
    workers: int
    measured: int
    shard: Shard | None = None

    @property
    def missing(self) -> int:
        """Number of runs to make."""
        return self.runs - self.done

    @property
    def time_s(self) -> float:
        """Estimated time until the end in s."""
        return self.work_s / min(self.workers, max(1, self.missing))


def forecast(
    experiment: Experiment,
    engine: Engine,
    store: Path | None,
    *,
    workers: int | None = None,
    shard: Shard | None = None,
    allow: Allowed | None = None,
) -> Forecast:
    """Estimates what `execute` would take. Writes nothing.

    Raises:
        ExperimentError: The engine cannot do what the experiment asks, or a limit is exceeded.
        StoreError: The store cannot be read.
    """
    refuse_endless(experiment, experiment.flows, shard)
    tasks = plan(experiment, engine)
    own = distinct(tasks) if shard is None else of_shard(tasks, experiment, engine, shard)
    progress = current_progress()
    check_cells(experiment, engine, progress)
    if experiment.enough is not None:
        progress.note("upper bound: `repeats.until` may stop a cell earlier")
    walls = _walls(store, {task.run.id for task in distinct(tasks)})
    missing = [task for task in own if task.run.id not in walls]
    afford(experiment, {task.cell for task in missing}, allow or {}, progress)
    costs = _costs(experiment, engine, tasks, walls, {task.cell for task in missing})
    return Forecast(
        name=experiment.info.name,
        engine=engine.name,
        cells=len({task.cell for task in own}),
        runs=len(own),
        done=len(own) - len(missing),
        kept=_kept(experiment.cells),
        bytes=_bytes(missing),
        work_s=sum(costs[task.cell] for task in missing),
        workers=workers_of(engine, workers),
        measured=len(walls),
        shard=shard,
    )


def _walls(store: Path | None, runs: Collection[str]) -> dict[str, float]:
    """Time in s of each of these runs that the store has."""
    if store is None:
        return {}
    entered(store)
    if not is_store(store):
        return {}
    with Store(store, write=False) as opened:
        return opened.walls(runs)


def _costs(
    experiment: Experiment,
    engine: Engine,
    tasks: Sequence[Task],
    walls: Mapping[str, float],
    wanted: Collection[int],
) -> dict[int, float]:
    """Time of a run of each wanted cell in s.

    That of its stored runs; without one, the estimate, in proportion to the cells that have some.
    """
    stored: dict[int, list[float]] = defaultdict(list)
    for task in tasks:
        if task.run.id in walls:
            stored[task.cell].append(walls[task.run.id])
    cells = experiment.cells
    guessed = {
        number: estimated_s(engine.name, cells[number].scenario, cells[number].duration_ns)
        for number in {*wanted, *stored}
    }
    measured = {number: fmean(own) for number, own in stored.items()}
    total = sum(guessed[number] for number in measured)
    ratio = sum(measured.values()) / total if total else 1.0
    return {number: measured.get(number, ratio * guessed[number]) for number in wanted}


def _kept(cells: Sequence[Cell]) -> list[str]:
    """Tables over time that some run keeps."""
    found: set[str] = set()
    for scenario in {cell.scenario for cell in cells}:
        sampling = read_scenario(scenario)["sampling"]
        found |= {name for name in _OVER_TIME if sampling.get(name)}
    return [name for name in _OVER_TIME if name in found]


def _bytes(tasks: Sequence[Task]) -> float:
    """Estimated size of runs in a store."""
    sizes: dict[str, float] = {}
    for task in tasks:
        scenario = task.run.scenario
        if scenario not in sizes:
            estimate = _core.budget(scenario)
            sizes[scenario] = _ROW_BYTES * estimate["rows"] + estimate["capture_bytes"]
    return sum(_RUN_BYTES + sizes[task.run.scenario] for task in tasks)
