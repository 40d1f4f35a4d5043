"""Execution of the runs that the store lacks, on several threads.

Engines release the interpreter's lock while they execute a run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import FrameType

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.engines.base import Engine, scenario_error
from dumbbell.errors import DumbbellError, EngineError, Interrupted
from dumbbell.execution import budget
from dumbbell.execution.budget import Allowed
from dumbbell.execution.plan import Task, distinct, of_shard, plan
from dumbbell.execution.progress import Progress, current_progress
from dumbbell.execution.shard import Shard
from dumbbell.experiment.load import Experiment, explain
from dumbbell.runs import RunResult
from dumbbell.store import MemoryStore, Store
from dumbbell.store.index import Damage
from dumbbell.store.records import record_id

TICK_S = 0.1
_NS = 1e9

_Running = dict["Future[RunResult]", tuple[Task, Monitor]]


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
    tasks = plan(experiment, engine)
    own = distinct(tasks) if shard is None else of_shard(tasks, experiment, engine, shard)
    progress = current_progress()
    for note in engine.begin():
        progress.note(note)
    _check(experiment, engine, progress)
    _afford(experiment, {t.cell for t in own if t.run.id not in store}, allow or {}, progress)
    wanted = {task.run.id for task in own}
    damages = store.check(wanted)
    if damages:
        progress.note(_damaged(damages, wanted))
    if not own:
        count = len(distinct(tasks))
        progress.note(f"{_title(experiment, shard)}: empty: the experiment has {count} runs")
    missing = [task for task in own if task.run.id not in store]
    kept = len(own) - len(missing)
    if only is not None:
        missing = [task for task in missing if task.run.id in only]
    try:
        progress.begin(_title(experiment, shard), len(missing), kept)
        overrides = experiment.overrides
        if only is None:
            planned = [task.planned for task in tasks]
            key = store.record(experiment.info, engine.name, overrides, planned, experiment.file)
        else:
            key = record_id(experiment.info, overrides, engine.name)
        if missing:
            store.prepare()
        batch = _Batch(missing, engine, store, progress)
        with _signals(batch):
            batch.run(_workers(engine, workers))
    except _Stopped:
        done = sum(task.run.id in store for task in own)
        raise Interrupted(done, len(own)) from None
    except _Refused as refused:
        raise explain(experiment, refused.task.cell, refused.error) from None
    finally:
        progress.end()
    return key


def _title(experiment: Experiment, shard: Shard | None) -> str:
    name = experiment.info.name
    return name if shard is None else f"{name}, shard {shard}"


def _damaged(damages: Sequence[Damage], wanted: Collection[str]) -> str:
    """Message about damaged runs, which are rerun."""
    runs = {run for one in damages for run in one.runs or wanted if run in wanted}
    others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
    count = "1 run is" if len(runs) == 1 else f"{len(runs)} runs are"
    return f"{damages[0]}{others}: {count} rerun"


def _workers(engine: Engine, wanted: int | None) -> int:
    most = [] if engine.workers_max is None else [engine.workers_max]
    return max(1, min([default_workers() if wanted is None else wanted, *most]))


def _check(experiment: Experiment, engine: Engine, progress: Progress) -> None:
    """Raises the first refusal of the engine; notes each kind of its warnings once."""
    told: set[tuple[str, str]] = set()
    for number, cell in enumerate(experiment.cells):
        try:
            engine.check(cell.scenario)
        except _core.ScenarioError as error:
            raise explain(experiment, number, error) from None
        for concern in engine.concerns(cell.scenario):
            # The same warning about the same field of another cell differs in numbers only.
            kind = (concern.path, concern.message.split(" ")[0])
            if kind not in told:
                told.add(kind)
                placed = explain(experiment, number, scenario_error(concern.path, concern.message))
                progress.note(f"warning: {placed}")


def _afford(
    experiment: Experiment, wanted: Collection[int], allow: Allowed, progress: Progress
) -> None:
    """Refuses cells above a limit of the budget; warns once of a path without rate and delay."""
    told = False
    for number in sorted(wanted):
        try:
            boundless = budget.check(experiment.cells[number].scenario, allow)
        except _core.ScenarioError as error:
            raise explain(experiment, number, error) from None
        if boundless and not told:
            told = True
            message = "its path has neither a rate nor a delay: only its window limits this flow"
            warning = scenario_error(f"flows[{boundless[0]}]", message)
            progress.note(f"warning: {explain(experiment, number, warning)}")


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
    """Execution of tasks. The pool has at most two tasks per worker at a time."""

    def __init__(
        self,
        tasks: Sequence[Task],
        engine: Engine,
        store: Store | MemoryStore,
        progress: Progress,
    ) -> None:
        self.waiting = list(reversed(tasks))
        self.running: _Running = {}
        self.engine = engine
        self.store = store
        self.progress = progress
        self.total_s = sum(task.run.duration_ns for task in tasks) / _NS
        self.stopped = False
        self.failed: list[str] = []
        self.done = 0
        self.done_s = 0.0
        self.begin = time.monotonic()

    def run(self, workers: int) -> None:
        with ThreadPoolExecutor(workers, thread_name_prefix="run") as pool:
            try:
                while self.waiting or self.running:
                    if self.stopped:
                        raise _Stopped
                    self.hand_out(pool, 2 * workers)
                    finished, _ = wait(self.running, TICK_S, FIRST_COMPLETED)
                    for future in finished:
                        self.finish(future)
                    self.store.tick()
                    self.report()
            except BaseException:
                self.stop()
                raise
        if self.failed:
            count = len(self.failed)
            others = f"; {count - 1} more failed" if count > 1 else ""
            raise EngineError(f"{self.failed[0]}\n{self.done} runs finished and are kept{others}")

    def hand_out(self, pool: ThreadPoolExecutor, most: int) -> None:
        while self.waiting and len(self.running) < most:
            task, monitor = self.waiting.pop(), Monitor()
            future = pool.submit(self.engine.execute, task.run, monitor)
            self.running[future] = (task, monitor)

    def finish(self, future: Future[RunResult]) -> None:
        task, _ = self.running[future]
        try:
            result = future.result()
        except _core.ScenarioError as error:
            raise _Refused(task, error) from None
        except (
            EngineError,
            _core.DefectError,
        ) as error:  # fails this run only: the others continue
            del self.running[future]
            defect = isinstance(error, _core.DefectError)
            what = f"a defect of the engine {self.engine.name}: " if defect else ""
            self.failed.append(f"{task.label()}: {what}{error}")
            return
        recorded = self.store.digest(task.run.id)
        if recorded not in (None, result.digest) and self.engine.repeatable:
            del self.running[future]
            self.failed.append(
                f"{task.label()}: rerun because the store has it damaged; its digest is "
                f"{result.digest}; recorded was {recorded}: a defect of the engine "
                f"{self.engine.name}, or the store was altered"
            )
            return
        self.store.add(task.run, self.engine.name, self.engine.version, result)
        del self.running[future]
        self.done += 1
        self.done_s += task.run.duration_ns / _NS

    def stop(self) -> None:
        """Cancels all running tasks. Results that are finished by then are kept."""
        self.waiting.clear()
        for future, (_, monitor) in self.running.items():
            if not future.cancel():
                monitor.cancel()
        for future in list(self.running):
            if future.cancelled():
                continue
            if future.exception() is None and self.running[future][0].run.id not in self.store:
                try:
                    self.finish(future)
                except DumbbellError:
                    return  # the disk is full; the first error already reports this

    def report(self) -> None:
        partly_s = sum(monitor.progress_ns for _, monitor in self.running.values()) / _NS
        simulated_s = self.done_s + partly_s
        elapsed_s = time.monotonic() - self.begin
        rate = simulated_s / elapsed_s if elapsed_s > 0 else 0.0
        left_s = (self.total_s - simulated_s) / rate if rate > 0 else None
        self.progress.update(self.done, simulated_s, rate, left_s)
