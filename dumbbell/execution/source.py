"""Runs that an experiment asks for and a store lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

from dumbbell.engines.base import Engine
from dumbbell.execution.budget import Allowed
from dumbbell.execution.checks import afford, check_cells, damage_note
from dumbbell.execution.plan import Task, distinct, of_shard, plan
from dumbbell.execution.progress import Progress, empty_note
from dumbbell.execution.shard import Shard
from dumbbell.experiment.load import Experiment
from dumbbell.store import MemoryStore, Store
from dumbbell.store.records import record_id


class Source(Protocol):
    """Runs to execute. Everything but `begin` and `end` leaves the store as it is.

    Attributes:
        total: Number of runs of the experiment, or of the shard.
        kept: Number of these that are in the store already.
        runs: Number of runs to execute.
        total_s: Their virtual time in s.
    """

    total: int
    kept: int
    runs: int
    total_s: float

    def begin(self) -> str:
        """Records the experiment. Returns its id in the store."""

    def tasks(self) -> Iterator[Task | None]:
        """Runs in the order of execution. None: there may be more, ask again.

        Raises `ExperimentError` for a cell that is wrong or that the engine refuses.
        """

    def end(self) -> None:
        """Records the experiment after its last run."""

    def done(self) -> int:
        """Number of runs that are in the store now."""


class Listed:
    """Runs of an experiment whose cells are in memory. All are planned and checked at once."""

    def __init__(
        self,
        experiment: Experiment,
        engine: Engine,
        store: Store | MemoryStore,
        progress: Progress,
        *,
        allow: Allowed,
        shard: Shard | None,
        only: Collection[str] | None,
    ) -> None:
        """Checks all cells, and finds damaged runs of the store.

        Args:
            experiment: Experiment to run.
            engine: Engine that executes the runs.
            store: Store for the results.
            progress: Receiver of warnings.
            allow: Raised limits.
            shard: Part of the runs to execute; None: all.
            only: Ids of the runs to execute; None: all, and the experiment is recorded.

        Raises:
            ExperimentError: The engine cannot do what the experiment asks.
        """
        self._experiment, self._engine, self._store = experiment, engine, store
        self._planned, self._recorded = plan(experiment, engine), only is None
        own = distinct(self._planned)
        count = len(own)
        if shard is not None:
            own = of_shard(self._planned, experiment, engine, shard)
        check_cells(experiment, engine, progress)
        lacking = {task.cell for task in own if task.run.id not in store}
        afford(experiment, engine, lacking, allow, progress)
        wanted = {task.run.id for task in own}
        if damages := store.check(wanted):
            progress.note(damage_note(damages, wanted))
        if shard is not None and not own:
            progress.note(empty_note(experiment.info.name, shard, count))
        missing = [task for task in own if task.run.id not in store]
        self.total, self.kept, self._own = len(own), len(own) - len(missing), own
        self._missing = [task for task in missing if only is None or task.run.id in only]
        self.runs = len(self._missing)
        self.total_s = sum(task.run.duration_ns for task in self._missing) / 1e9

    def begin(self) -> str:
        """See :class:`Source`."""
        experiment, engine = self._experiment, self._engine.name
        info, overrides = experiment.info, experiment.overrides
        if self._recorded:
            runs = [task.planned for task in self._planned]
            key = self._store.record(info, engine, overrides, runs, experiment.file)
        else:
            key = record_id(info, overrides, engine)
        if self._missing:
            self._store.prepare()
        return key

    def tasks(self) -> Iterator[Task | None]:
        """See :class:`Source`."""
        return iter(self._missing)

    def end(self) -> None:
        """See :class:`Source`; all runs are recorded already."""

    def done(self) -> int:
        """See :class:`Source`."""
        return sum(task.run.id in self._store for task in self._own)
