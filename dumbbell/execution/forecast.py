"""Forecast of an experiment before it runs: runs, bytes, time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dumbbell import _core
from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed, is_notable, time_s
from dumbbell.execution.checks import Checks, afford
from dumbbell.execution.enough import refuse_endless
from dumbbell.execution.plan import each_place, places_of_shard, task_of
from dumbbell.execution.progress import Progress, current_progress
from dumbbell.execution.runner import workers_of
from dumbbell.execution.shard import Shard
from dumbbell.experiment.cells import Cell, Cells
from dumbbell.experiment.load import Experiment
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
    if experiment.enough is not None:
        refuse_endless(experiment, experiment.flows, shard)
    progress = current_progress()
    survey = _Survey(experiment, engine, progress, allow or {})
    own = list(survey.first.items())
    if shard is not None:
        own = survey.of_shard(shard, experiment)
    if experiment.enough is not None:
        progress.note("upper bound: `repeats.until` may stop a cell earlier")
    walls = _walls(store, survey.first)
    missing = [place for run, place in own if run not in walls]
    wanted = {cell for _, cell in missing}
    afford(experiment, engine, wanted & survey.notable, allow or {}, progress)
    costs_s = survey.costs_s(walls, wanted)
    return Forecast(
        name=experiment.info.name,
        engine=engine.name,
        cells=len({cell for _, (_, cell) in own}),
        runs=len(own),
        done=len(own) - len(missing),
        kept=[name for name in _OVER_TIME if name in survey.kept],
        bytes=sum(survey.bytes_of(*place) for place in missing),
        work_s=sum(costs_s[cell] for _, cell in missing),
        workers=workers_of(engine, workers),
        measured=len(walls),
        shard=shard,
    )


class _Survey:
    """What is kept of each cell for the forecast, so that no scenario is.

    Attributes:
        first: Repeat and cell of each distinct run by its id.
        kept: Tables over time that some run keeps.
        guesses_s: Estimated time of a run of each cell in s.
        notable: Cells above a limit of the budget, or with a flow that nothing limits.
    """

    def __init__(
        self, experiment: Experiment, engine: Engine, progress: Progress, allow: Allowed
    ) -> None:
        """Makes and checks all cells. Raises `ExperimentError`."""
        self.first: dict[str, tuple[int, int]] = {}
        self.kept: set[str] = set()
        self.guesses_s: list[float] = []
        self.notable: set[int] = set()
        self._of_run: list[tuple[str, tuple[int, int]]] = []
        self._bytes: list[tuple[int, float, float]] = []
        checks = Checks(experiment, engine, {}, progress)
        for number, cell in enumerate(experiment.cells):
            checks.fits(number, cell)
            self._add(number, cell, engine, allow)
            for repeat in range(experiment.repeats_of(number)):
                run = task_of(experiment, engine, number, cell, repeat).run.id
                place = repeat, number
                self.first.setdefault(run, place)
                self._of_run.append((run, place))

    def of_shard(self, shard: Shard, experiment: Experiment) -> list[tuple[str, tuple[int, int]]]:
        """Distinct runs of a shard, each with its repeat and cell."""
        if isinstance(experiment.cells, Cells):
            own = set(each_place(experiment, shard))
            return list({run: place for run, place in self._of_run if place in own}.items())
        costs = {number: round(1e6 * guess) for number, guess in enumerate(self.guesses_s)}
        run_at = {place: run for run, place in self.first.items()}
        places = places_of_shard(run_at, costs, shard, experiment.info.name)
        return [(run_at[place], place) for place in places]

    def _add(self, number: int, cell: Cell, engine: Engine, allow: Allowed) -> None:
        estimate = _core.budget(cell.scenario)
        self.guesses_s.append(time_s(engine.name, estimate, cell.duration_ns))
        if is_notable(estimate, allow):
            self.notable.add(number)
        sampling = read_scenario(cell.scenario)["sampling"]
        self.kept |= {name for name in _OVER_TIME if sampling.get(name)}
        size = later = _run_bytes(estimate)
        if cell.unsampled is not None:
            later = _run_bytes(_core.budget(cell.unsampled))
        self._bytes.append((cell.sampled, size, later))

    def bytes_of(self, repeat: int, cell: int) -> float:
        """Estimated size of a run in a store."""
        sampled, first, later = self._bytes[cell]
        return first if repeat < sampled else later

    def costs_s(self, walls: Mapping[str, float], wanted: Collection[int]) -> dict[int, float]:
        """Time of a run of each wanted cell in s.

        That of its stored runs; without one, the estimate, in proportion to the cells that have
        some.
        """
        stored: dict[int, list[float]] = defaultdict(list)
        for run, (_, number) in self._of_run:
            if run in walls:
                stored[number].append(walls[run])
        measured = {number: fmean(own) for number, own in stored.items()}
        total = sum(self.guesses_s[number] for number in measured)
        ratio = sum(measured.values()) / total if total else 1.0
        return {number: measured.get(number, ratio * self.guesses_s[number]) for number in wanted}


def _run_bytes(estimate: Mapping[str, Any]) -> float:
    return float(_RUN_BYTES + _ROW_BYTES * estimate["rows"] + estimate["capture_bytes"])


def _walls(store: Path | None, runs: Collection[str]) -> dict[str, float]:
    """Time in s of each of these runs that the store has."""
    if store is None:
        return {}
    entered(store)
    if not is_store(store):
        return {}
    with Store(store, write=False) as opened:
        return opened.walls(runs)
