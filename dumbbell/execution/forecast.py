"""Forecast of an experiment before it runs: runs, bytes, time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from dumbbell import _core
from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed, is_notable, time_s
from dumbbell.execution.checks import Checks, afford
from dumbbell.execution.enough import refuse_endless
from dumbbell.execution.plan import each_place, places_of_shard, plan
from dumbbell.execution.progress import Progress, current_progress
from dumbbell.execution.runner import workers_of
from dumbbell.execution.shard import Shard
from dumbbell.execution.streamed import Streamed
from dumbbell.experiment.cells import Cell, Cells
from dumbbell.experiment.load import Experiment
from dumbbell.scenario import read_scenario
from dumbbell.store.memory import MemoryStore
from dumbbell.store.place import is_store
from dumbbell.store.remote import entered
from dumbbell.store.store import Store

#: Bytes of a row of a table over time in a store (docs/performance.md).
_ROW_BYTES = 33
#: Bytes of a run in the segments of a store.
_RUN_BYTES = 500
#: Cells, and recorded runs, from which the times of a large experiment are estimated.
_SOME = 200
_OVER_TIME = ("samples", "queues", "drops", "probes", "packets", "hops", "capture")


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of an experiment, or of a shard of it.

    Attributes:
        name: Name of the experiment.
        engine: Name of the engine.
        cells: Number of cells with runs.
        runs: Number of runs.
        done: Runs that the store has; of a large experiment, those of its record.
        kept: Tables over time that some run keeps, and `capture`.
        bytes: Estimated size of the runs to make.
        work_s: Estimated sum of the times of the runs to make.
        measured: Number of stored runs whose times were used; 0: none.
        shard: Part of the experiment; None: all of it.
        workers: Number of simultaneous runs.
    """

    name: str
    engine: str
    cells: int
    runs: int
    done: int
    kept: Sequence[str]
    bytes: float
    work_s: float
    measured: int
    shard: Shard | None = None
    workers: int = 1

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

    Of an experiment whose cells are not in memory, some are made, as before its first run.

    Raises:
        ExperimentError: The engine cannot do what the experiment asks, or a limit is exceeded.
        StoreError: The store cannot be read.
    """
    if experiment.enough is not None:
        refuse_endless(experiment, experiment.flows, shard)
    if experiment.enough is not None:
        current_progress().note("upper bound: `repeats.until` may stop a cell earlier")
    with _reading(store) as opened:
        made = _of_many if isinstance(experiment.cells, Cells) else _of_all
        found = made(experiment, engine, opened, shard, allow or {})
    return replace(found, workers=workers_of(engine, workers))


def _of_all(
    experiment: Experiment,
    engine: Engine,
    store: Store | MemoryStore,
    shard: Shard | None,
    allow: Allowed,
) -> Forecast:
    """Forecast of an experiment whose cells are in memory."""
    progress = current_progress()
    survey = _Survey(experiment, engine, progress, allow, enumerate(experiment.cells))
    tasks = plan(experiment, engine)
    first: dict[str, tuple[int, int]] = {}
    for task in tasks:
        first.setdefault(task.run.id, (task.planned.repeat, task.cell))
    own = list(first.items())
    if shard is not None:
        costs = {number: round(1e6 * guess) for number, guess in survey.guesses_s.items()}
        run_at = {place: run for run, place in own}
        places = places_of_shard(run_at, costs, shard, experiment.info.name)
        own = [(run_at[place], place) for place in places]
    walls = store.walls(first) if isinstance(store, Store) else {}
    missing = [place for run, place in own if run not in walls]
    wanted = {cell for _, cell in missing}
    afford(experiment, engine, wanted & survey.notable, allow, progress)
    costs_s = survey.costs_s([(task.cell, walls.get(task.run.id)) for task in tasks])
    return Forecast(
        name=experiment.info.name,
        engine=engine.name,
        cells=len({cell for _, (_, cell) in own}),
        runs=len(own),
        done=len(own) - len(missing),
        kept=survey.kept_over_time(),
        bytes=sum(survey.bytes_of(*place) for place in missing),
        work_s=sum(costs_s[cell] for _, cell in missing),
        measured=len(walls),
        shard=shard,
    )


def _of_many(
    experiment: Experiment,
    engine: Engine,
    store: Store | MemoryStore,
    shard: Shard | None,
    allow: Allowed,
) -> Forecast:
    """Forecast of an experiment whose cells are not in memory, from some of them."""
    cells, progress = experiment.cells, current_progress()
    assert isinstance(cells, Cells)
    options: Any = {"allow": allow, "shard": shard, "only": None}
    source = Streamed(experiment, cells, engine, store, progress, **options)
    some = cells.of_each_level(_SOME)
    recorded = list(source.recorded)
    runs = recorded[:: max(1, len(recorded) // _SOME)]
    walls = store.walls(runs) if isinstance(store, Store) else {}
    measured = [(source.recorded[run], wall) for run, wall in walls.items()]
    made = sorted({*some, *(number for number, _ in measured)})
    numbered = ((number, cells[number]) for number in made)
    survey = _Survey(experiment, engine, progress, allow, numbered)
    costs_s, missing = survey.costs_s(measured), source.total - source.kept
    sizes = [survey.bytes_of(k, one) for one in some for k in range(experiment.repeats_of(one))]
    own = range(len(cells)) if shard is None else {n for _, n in each_place(experiment, shard)}
    return Forecast(
        name=experiment.info.name,
        engine=engine.name,
        cells=len(own),
        runs=source.total,
        done=source.kept,
        kept=survey.kept_over_time(),
        bytes=missing * fmean(sizes),
        work_s=missing * fmean(costs_s[number] for number in some),
        measured=len(walls),
        shard=shard,
    )


class _Survey:
    """What is kept of each cell for the forecast, so that no scenario is.

    Attributes:
        guesses_s: Estimated time of a run of each cell in s.
        notable: Cells above a limit of the budget, or with a flow that nothing limits.
    """

    def __init__(
        self,
        experiment: Experiment,
        engine: Engine,
        progress: Progress,
        allow: Allowed,
        cells: Iterable[tuple[int, Cell]],
    ) -> None:
        """Checks cells. Raises `ExperimentError`."""
        self.guesses_s: dict[int, float] = {}
        self.notable: set[int] = set()
        self._kept: set[str] = set()
        self._bytes: dict[int, tuple[int, float, float]] = {}
        checks = Checks(experiment, engine, {}, progress)
        for number, cell in cells:
            checks.fits(number, cell)
            self._add(number, cell, engine, allow)

    def _add(self, number: int, cell: Cell, engine: Engine, allow: Allowed) -> None:
        estimate = _core.budget(cell.scenario)
        self.guesses_s[number] = time_s(engine.name, estimate, cell.duration_ns)
        if is_notable(estimate, allow):
            self.notable.add(number)
        sampling = read_scenario(cell.scenario)["sampling"]
        self._kept |= {name for name in _OVER_TIME if sampling.get(name)}
        size = later = _run_bytes(estimate)
        if cell.unsampled is not None:
            later = _run_bytes(_core.budget(cell.unsampled))
        self._bytes[number] = cell.sampled, size, later

    def kept_over_time(self) -> list[str]:
        """Tables over time that some run keeps, and `capture`."""
        return [name for name in _OVER_TIME if name in self._kept]

    def bytes_of(self, repeat: int, cell: int) -> float:
        """Estimated size of a run in a store."""
        sampled, first, later = self._bytes[cell]
        return first if repeat < sampled else later

    def costs_s(self, walls: Iterable[tuple[int, float | None]]) -> dict[int, float]:
        """Time of a run of each cell in s.

        That of its stored runs, `walls` by cell; without one, the estimate, in proportion to the
        cells that have some.
        """
        stored: dict[int, list[float]] = defaultdict(list)
        for number, wall in walls:
            if wall is not None:
                stored[number].append(wall)
        measured = {number: fmean(own) for number, own in stored.items()}
        total = sum(self.guesses_s[number] for number in measured)
        ratio = sum(measured.values()) / total if total else 1.0
        return {one: measured.get(one, ratio * guess) for one, guess in self.guesses_s.items()}


def _run_bytes(estimate: Mapping[str, Any]) -> float:
    return float(_RUN_BYTES + _ROW_BYTES * estimate["rows"] + estimate["capture_bytes"])


@contextmanager
def _reading(store: Path | None) -> Iterator[Store | MemoryStore]:
    """A store for reading; an empty one in memory if there is none."""
    if store is not None:
        entered(store)
    if store is None or not is_store(store):
        yield MemoryStore()
        return
    with Store(store, write=False) as opened:
        yield opened
