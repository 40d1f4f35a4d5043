"""Execution of the runs that the store lacks, by the workers of a pool."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import FrameType
from typing import Any

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.engines.base import Engine
from dumbbell.errors import DumbbellError, EngineError, Interrupted
from dumbbell.execution.budget import Allowed
from dumbbell.execution.elsewhere import current_executor
from dumbbell.execution.plan import Task
from dumbbell.execution.pool import Done, Pool, Remote, Threads, work_of
from dumbbell.execution.progress import Progress, Sweep, Work, current_progress
from dumbbell.execution.remote import VersionError
from dumbbell.execution.shard import Shard
from dumbbell.execution.source import Listed, Source
from dumbbell.execution.streamed import Streamed
from dumbbell.experiment.cells import Cells
from dumbbell.experiment.load import Experiment, explain
from dumbbell.store import MemoryStore, Store

TICK_S = 0.1
#: Share of the simulated time from which the rest is forecast before a run has finished.
_TELLING = 0.02
_NS = 1e9


def default_workers() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def execute(
    experiment: Experiment,
    engine: Engine,
    store: Store | MemoryStore,
    *,
    workers: int | None = None,
    only: Collection[str] | None = None,
    allow: Allowed | None = None,
    shard: Shard | None = None,
) -> str:
    """Executes all runs that the store lacks or has damaged.

    Args:
        experiment: Experiment to run.
        engine: Engine that executes the runs.
        store: Store for the results, open for writing or in memory.
        workers: Number of threads; None: one per processor.
        only: Ids of the runs to execute; None: all, and the experiment is recorded as run last.
        allow: Raised limits; see `dumbbell.execution.budget`.
        shard: Part of the runs to execute; None: all. The experiment is recorded with all its runs.

    Returns:
        Id of the experiment in the store.

    Raises:
        Interrupted: Ctrl-C or SIGTERM stopped the runs.
        EngineError: A run failed.
        ExperimentError: The engine cannot do what the experiment asks.
        StoreError: The store cannot be written.
    """
    progress = current_progress()
    for note in engine.begin():
        progress.note(note)
    source = _source(experiment, engine, store, progress, allow or {}, shard, only)
    sweep = Sweep(experiment.info.name, engine.name, source.runs, source.kept, shard)
    try:
        progress.begin(sweep)
        key = source.begin()
        batch = _Batch(source, engine, store, progress)
        try:
            with _signals(batch):
                batch.run(_pool(engine, store, workers))
        finally:
            source.end()
    except _Stopped:
        raise Interrupted(source.done(), source.total) from None
    except _Refused as refused:
        raise explain(experiment, refused.task.cell, refused.error) from None
    finally:
        progress.end()
    return key


def _source(
    experiment: Experiment,
    engine: Engine,
    store: Store | MemoryStore,
    progress: Progress,
    allow: Allowed,
    shard: Shard | None,
    only: Collection[str] | None,
) -> Source:
    """Runs to execute. Cells that are not in memory are made as workers ask for them."""
    cells = experiment.cells
    options: Any = {"allow": allow, "shard": shard, "only": only}
    if isinstance(cells, Cells):
        return Streamed(experiment, cells, engine, store, progress, **options)
    return Listed(experiment, engine, store, progress, **options)


def _pool(engine: Engine, store: Store | MemoryStore, workers: int | None) -> Pool:
    """Workers of the executor in use; without one, threads of this process."""
    chosen = current_executor()
    if chosen is None:
        return Threads(engine, workers_of(engine, workers))
    if not chosen.shared:
        return Remote(engine, chosen.executor)
    if not isinstance(store, Store):
        raise EngineError(
            "workers write a store that they share with this process: name one", code=Code.CLUSTER
        )
    if store.remote is not None:
        raise EngineError(
            f"{store.remote.url}: workers share a folder, no URL: without --shared their results "
            "come back to this process, which uploads them",
            code=Code.CLUSTER,
        )
    return Remote(engine, chosen.executor, store.path)


def workers_of(engine: Engine, wanted: int | None) -> int:
    """Number of simultaneous runs. `wanted`: None: one per processor."""
    most = [] if engine.workers_max is None else [engine.workers_max]
    return max(1, min([default_workers() if wanted is None else wanted, *most]))


class _Stopped(Exception):
    """Stop, requested by a signal."""


@contextlib.contextmanager
def _signals(batch: _Batch) -> Iterator[None]:
    """Context in which Ctrl-C and SIGTERM stop the batch. A second signal has its usual effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _: FrameType | None) -> None:
        batch.stopped = True
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Refused(Exception):
    """Refusal of a scenario by the engine."""

    def __init__(self, task: Task, error: _core.ScenarioError) -> None:
        super().__init__(str(error))
        self.task = task
        self.error = error


class _Batch:
    """Execution of tasks. The pool has a few tasks per worker at a time."""

    def __init__(
        self,
        source: Source,
        engine: Engine,
        store: Store | MemoryStore,
        progress: Progress,
    ) -> None:
        self.waiting: Iterator[Task | None] | None = source.tasks()
        self.running: dict[Future[Done], Task] = {}
        self.engine = engine
        self.store = store
        self.progress = progress
        self.total_s = source.total_s
        self.stopped = False
        self.failed: list[str] = []
        self.done = 0
        self.done_s = 0.0
        self.begin = time.monotonic()
        self.works: dict[str, Work] = {}

    def run(self, pool: Pool) -> None:
        try:
            while self.waiting is not None or self.running:
                if self.stopped:
                    raise _Stopped
                full = self.hand_out(pool)
                finished, _ = wait(self.running, TICK_S if full else 0, FIRST_COMPLETED)
                self.hear(pool.begun())
                for future in [one for one in self.running if one in finished]:  # as begun
                    self.finish(future)
                self.store.tick()
                self.report(pool)
        except BaseException:
            self.stop(pool)
            raise
        finally:
            pool.close()
        if self.failed:
            count = len(self.failed)
            others = f"; {count - 1} more failed" if count > 1 else ""
            raise EngineError(
                f"{self.failed[0]}\n{many(self.done, 'run')} finished and kept{others}",
                code=Code.RUN_FAILED,
            )

    def hand_out(self, pool: Pool) -> bool:
        """Hands out runs to all workers. Returns false if there may be more."""
        while self.waiting is not None and len(self.running) < pool.depth * pool.size:
            try:
                task = next(self.waiting)
            except StopIteration:
                self.waiting = None
                break
            if task is None:
                return False
            self.running[pool.submit(task)] = task
        return True

    def hear(self, works: Iterable[Work]) -> None:
        """Reports the runs that workers began."""
        for work in works:
            if work.run not in self.works:
                self.works[work.run] = work
                self.progress.started(work)

    def fail(self, task: Task, why: str) -> None:
        self.failed.append(f"{task.label()}: {why}")
        self.progress.failed(self.work(task), self.failed[-1])

    def work(self, task: Task) -> Work:
        """Takes the work of a task that is over; without a worker if none told of it."""
        return self.works.pop(task.run.id, None) or work_of(task, 0, time.time())

    def finish(self, future: Future[Done]) -> None:
        task = self.running[future]
        try:
            done = future.result()
        except VersionError as error:  # this worker would take all the other runs, too
            self.progress.failed(self.work(task), str(error))
            raise
        except _core.ScenarioError as error:
            self.progress.failed(self.work(task), str(error))
            raise _Refused(task, error) from None
        except (
            EngineError,
            _core.DefectError,
        ) as error:  # fails this run only: the others continue
            del self.running[future]
            defect = isinstance(error, _core.DefectError)
            what = f"a defect of the engine {self.engine.name}: " if defect else ""
            code = error.code if isinstance(error, EngineError) else Code.RUN_FAILED
            self.fail(task, f"{what}{error} [{code}]")
            return
        self.hear([done.work])
        recorded = self.store.digest(task.run.id)
        if recorded not in (None, done.result.digest) and self.engine.repeatable:
            del self.running[future]
            self.fail(
                task,
                f"rerun because the store has it damaged; its digest is {done.result.digest}; "
                f"recorded was {recorded}: a defect of the engine {self.engine.name}, or the store "
                "was altered",
            )
            return
        if done.stored:
            self.store.added_elsewhere(task.run.id)
        else:
            self.store.add(task.run, self.engine.name, self.engine.version, done.result)
        del self.running[future]
        self.done += 1
        self.done_s += task.run.duration_ns / _NS
        self.progress.finished(self.work(task), done.result)

    def stop(self, pool: Pool) -> None:
        """Cancels all running tasks. Results that are finished by then are kept."""
        self.waiting = None
        for future in self.running:
            pool.cancel(future)
        for future in list(self.running):
            if future.cancelled():
                continue
            if future.exception() is None and self.running[future].run.id not in self.store:
                try:
                    self.finish(future)
                except DumbbellError:
                    return  # the disk is full; the first error already reports this

    def report(self, pool: Pool) -> None:
        reached = {future: pool.done_ns(future) for future in self.running}
        simulated_s = self.done_s + sum(reached.values()) / _NS
        elapsed_s = time.monotonic() - self.begin
        rate = simulated_s / elapsed_s if elapsed_s > 0 else 0.0
        # Boots and programs that start make the beginning of the first runs slow.
        begun = self.done > 0 or simulated_s >= _TELLING * self.total_s
        left_s = (self.total_s - simulated_s) / rate if rate > 0 and begun else None
        self.progress.working(
            [
                (self.works[task.run.id], reached[future] / max(1, task.run.duration_ns))
                for future, task in self.running.items()
                if task.run.id in self.works
            ]
        )
        self.progress.update(self.done, simulated_s, rate, left_s)
