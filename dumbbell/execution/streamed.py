"""Runs of an experiment with many cells: made, checked and recorded as workers ask for them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed
from dumbbell.execution.checks import Checks, damage_note
from dumbbell.execution.plan import Task, each_place, planner, task_of
from dumbbell.execution.progress import Progress, empty_note
from dumbbell.execution.shard import Shard
from dumbbell.experiment.cells import Cell, Cells
from dumbbell.experiment.load import Experiment
from dumbbell.store import MemoryStore, Store
from dumbbell.store.made import Made
from dumbbell.store.records import record_id

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
    the store are counted, as far as the record has them. Cells of recorded runs are not made again
    if what makes them is the same.
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
        durations, first = [], []
        for number in some:
            cell = cells[number]
            self._checks.fits(number, cell)
            self._checks.afford(number, cell)
            durations.append(cell.duration_ns / 1e9)
            first.append(task_of(experiment, engine, number, cell, 0))
        self._shard, self._record_at = shard, 0.0
        self._own = self._nothing()
        self._before = self._recorded_before()
        #: Runs of this command and of the record before, if they agree.
        self._made = self._nothing().joined(self._before) or self._own
        if self._before.planner != self._own.planner:
            self._made.planner = ""
        #: True if cells whose runs were recorded need not be made again.
        self._trusted = self._made.planner != ""
        if shard is not None:  # by these, stores of shards that do not belong together differ
            self._add(first)
        every, places = self._counts(shard)
        #: Cell of each recorded run.
        self.recorded = {run: number for number, run in places}
        known = self.recorded.keys()
        self.total = every - (len(places) - len(known))
        if shard is not None and not every:
            progress.note(empty_note(experiment.info.name, shard, len(cells)))
        if damages := store.check(known):
            progress.note(damage_note(damages, known))
        self.kept = sum(run in store for run in known)
        self.runs = self.total - self.kept if only is None else len(only)
        self.total_s = self.runs * sum(durations) / len(durations)

    def _nothing(self) -> Made:
        info, cells = self._experiment.info, self._cells
        return Made(
            list(info.factors), cells.groups, info.seed, planner(self._experiment, self._engine)
        )

    def _recorded_before(self) -> Made:
        """Runs of the record that this experiment asks for, too."""
        info, none = self._experiment.info, self._nothing()
        found = self._store.recorded(info, self._engine.name, self._experiment.overrides)
        if found is None or found[0].seed != info.seed or found[0].factors != info.factors:
            return none
        return none.of(found[1], info.repeats)

    def _counts(self, shard: Shard | None) -> tuple[int, list[tuple[int, str]]]:
        """Number of runs of the experiment or the shard; cell and run of the recorded ones."""
        if shard is None:
            every = sum(map(self._experiment.repeats_of, range(len(self._cells))))
            return every, [(number, run) for number, _, run in self._before.each()]
        every, found = 0, []
        for repeat, number in each_place(self._experiment, self._shard):
            every += 1
            if (run := self._before.run_at(number, repeat)) is not None:
                found.append((number, run))
        return every, found

    def _is_done(self, repeat: int, number: int) -> bool:
        """Returns true if the store has a run, without its cell; false if that is not known."""
        run = self._before.run_at(number, repeat) if self._trusted else None
        return run is not None and run in self._store

    def tasks(self) -> Iterator[Task | None]:
        """See :class:`Source`."""
        handed: set[str] = set()
        part: list[tuple[Task, Cell]] = []
        for repeat, number in each_place(self._experiment, self._shard):
            if self._is_done(repeat, number):
                continue
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
        self._add(part)
        if time.monotonic() >= self._record_at:
            self._record()

    def _add(self, part: Sequence[Task]) -> None:
        for task in part:
            number, repeat, run = task.cell, task.planned.repeat, task.run.id
            self._own.add(number, repeat, run)
            if self._made.run_at(number, repeat) not in (None, run):
                self._made = self._own  # the runs before were those of other files or programs
            self._made.add(number, repeat, run)

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
        places = each_place(self._experiment, self._shard)
        runs = {self._made.run_at(number, repeat) for repeat, number in places}
        return sum(run in self._store for run in runs if run is not None)

    def _record(self) -> None:
        """Records the experiment with the runs that were made so far, now and before."""
        experiment, begin = self._experiment, time.monotonic()
        whole = len(self._own) >= len(self._made)
        made = self._own if whole else self._made
        self._store.record(
            experiment.info, self._engine.name, experiment.overrides, made, experiment.file
        )
        end = time.monotonic()
        self._record_at = end + max(_EVERY_S, _TIMES * (end - begin))
