"""Runs of an experiment with many cells: made, checked and recorded as workers ask for them."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence

from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed
from dumbbell.execution.checks import Checks, damage_note
from dumbbell.execution.plan import Task, cost_of, places_of_shard, task_of
from dumbbell.execution.progress import Progress, empty_note
from dumbbell.execution.shard import Shard
from dumbbell.experiment.cells import Cell, Cells
from dumbbell.experiment.load import Experiment
from dumbbell.store import MemoryStore, Store
from dumbbell.store.records import Planned, record_id

#: Cells that are made and looked up in the store at a time.
PART = 32
#: Most cells that are checked before the first run.
_MOST_CHECKED = 1000
#: Least time in s between two writes of the record, and as a multiple of the time that one takes.
_EVERY_S, _TIMES = 5.0, 50.0


class Streamed:
    """Runs of an experiment whose cells are made one by one; see :class:`Source`.

    The record of the experiment has the runs that were made so far: it grows with them. What is
    known before a run is what was recorded: equal runs of several cells count as one, and runs of
    the store are counted, as far as the record has them.
    """

    def __init__(
        self,
        experiment: Experiment,
        cells: Cells,
        engine: Engine,
        store: Store | MemoryStore,
        progress: Progress,
        *,
        allow: Allowed,
        shard: Shard | None,
        only: Collection[str] | None,
    ) -> None:
        """Checks some cells. Arguments and errors are those of :class:`Listed`."""
        self._experiment, self._cells, self._engine = experiment, cells, engine
        self._store, self._progress, self._only = store, progress, only
        self._checks = Checks(experiment, engine, allow, progress)
        some = cells.of_each_level(_MOST_CHECKED)
        if len(some) < len(cells) and only is None:
            progress.note(
                f"{experiment.info.name}: {len(some)} of {len(cells)} cells are checked before the "
                "first run, the others as they are run; `dumbbell validate` checks all"
            )
        durations = []
        for number in some:
            cell = cells[number]
            self._checks.fits(number, cell)
            self._checks.afford(number, cell)
            durations.append(cell.duration_ns / 1e9)
        self._planned: list[tuple[int, Planned]] = []
        self._record_at = 0.0
        self._places: Sequence[tuple[int, int]] | None = None
        info = experiment.info
        before = store.recorded(info, engine.name, experiment.overrides)
        same = before is not None and before[0] == info
        self._before = before[1] if before is not None and same else ()
        self._within = {one.run for one in self._before}
        if shard is not None:
            known, self.total = self._of_shard(shard), len(self._places or ())
        else:
            seeds = range(info.seed, info.seed + info.repeats)
            runs = [one.run for one in (before[1] if before else ()) if one.seed in seeds]
            known = set(runs)
            every = sum(map(experiment.repeats_of, range(len(cells))))
            self.total = every - (len(runs) - len(known))
        if damages := store.check(known):
            progress.note(damage_note(damages, known))
        self.kept = sum(run in store for run in known)
        self.runs = self.total - self.kept if only is None else len(only)
        self.total_s = self.runs * sum(durations) / len(durations)

    def _of_shard(self, shard: Shard) -> set[str]:
        """Finds the places of a shard. Returns its runs. All of the experiment are planned."""
        costs: dict[int, int] = {}
        first: dict[str, tuple[int, int]] = {}
        for number, cell in enumerate(self._cells):
            costs[number] = cost_of(self._engine, cell)
            for repeat in range(self._experiment.repeats_of(number)):
                task = task_of(self._experiment, self._engine, number, cell, repeat)
                self._planned.append((number, task.planned))
                first.setdefault(task.run.id, (repeat, number))
        name = self._experiment.info.name
        self._places = places_of_shard(first.values(), costs, shard, name)
        if not self._places:
            self._progress.note(empty_note(name, shard, len(first)))
        own = set(self._places)
        return {run for run, place in first.items() if place in own}

    def _each_place(self) -> Iterator[tuple[int, int]]:
        """Repeat and cell of each run, repeat by repeat."""
        if self._places is not None:
            yield from self._places
            return
        for repeat in range(self._experiment.info.repeats):
            for number in range(len(self._cells)):
                if repeat < self._experiment.repeats_of(number):
                    yield repeat, number

    def tasks(self) -> Iterator[Task | None]:
        """See :class:`Source`."""
        handed: set[str] = set()
        part: list[tuple[Task, Cell]] = []
        for repeat, number in self._each_place():
            cell = self._cells[number]
            self._checks.fits(number, cell)
            part.append((task_of(self._experiment, self._engine, number, cell, repeat), cell))
            if len(part) == PART:
                yield from self._missing(part, handed)
                part = []
                yield None
        yield from self._missing(part, handed)

    def _missing(self, part: Sequence[tuple[Task, Cell]], handed: set[str]) -> Iterator[Task]:
        """Runs of a part that the store lacks and that were not handed out before."""
        wanted = {task.run.id for task, _ in part} - handed
        if self._only is None:
            self._plan([task for task, _ in part])
        else:
            wanted &= set(self._only)
        if wanted and (damages := self._store.check(wanted)):
            self._progress.note(damage_note(damages, wanted))
        for task, cell in part:
            run = task.run.id
            if run in wanted and run not in self._store and run not in handed:
                if not handed:
                    self._store.prepare()
                handed.add(run)
                self._checks.afford(task.cell, cell)
                yield task

    def _plan(self, part: Sequence[Task]) -> None:
        if self._places is None:
            self._planned += [(task.cell, task.planned) for task in part]
        if time.monotonic() >= self._record_at:
            self._record()

    def begin(self) -> str:
        """See :class:`Source`; the record follows with the first runs."""
        experiment = self._experiment
        if isinstance(self._store, MemoryStore):
            return experiment.info.name
        return record_id(experiment.info, experiment.overrides, self._engine.name)

    def end(self) -> None:
        """See :class:`Source`."""
        if self._only is None:
            self._record()

    def done(self) -> int:
        """See :class:`Source`."""
        return len({one.run for _, one in self._planned if one.run in self._store})

    def _record(self) -> None:
        """Records the experiment with the runs that were made so far.

        A record of the same runs and more, of a command that was stopped later, stays.
        """
        experiment, begin = self._experiment, time.monotonic()
        planned = sorted(self._planned, key=lambda one: (one[0], one[1].repeat))
        runs: Sequence[Planned] = [one for _, one in planned]
        if len(runs) <= len(self._before) and all(one.run in self._within for one in runs):
            runs = self._before
        self._store.record(
            experiment.info, self._engine.name, experiment.overrides, runs, experiment.file
        )
        end = time.monotonic()
        whole = self._places is not None  # of a shard, all runs of the experiment are planned
        self._record_at = math.inf if whole else end + max(_EVERY_S, _TIMES * (end - begin))
