"""Workers that execute runs: threads of this process, or any executor."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from dumbbell.codes import Code
from dumbbell.engines.base import Engine, Monitor
from dumbbell.errors import EngineError
from dumbbell.execution.plan import Task
from dumbbell.execution.progress import Work
from dumbbell.execution.remote import Answer, execute_remotely
from dumbbell.runs import RunResult

#: Times that a run is handed out again because its worker or its scheduler was lost.
MOST_LOSSES = 5


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run.

    Attributes:
        work: Who executed it, and since when.
        result: Its result; without tables if a worker has stored it.
        stored: True if a worker has stored it.
    """

    work: Work
    result: RunResult
    stored: bool


class Pool(Protocol):
    """Workers. All calls come from one thread."""

    @property
    def size(self) -> int:
        """Number of runs at once, now: a cluster may grow."""

    @property
    def depth(self) -> int:
        """Runs handed out at a time, per worker: the first runs, the others wait."""

    def submit(self, task: Task) -> Future[Done]:
        """Hands out a run."""

    def begun(self) -> list[Work]:
        """Runs that workers began since the last call, where that is known."""

    def done_ns(self, future: Future[Done]) -> int:
        """Virtual time that a run has reached, in ns; 0 where that is not known."""

    def cancel(self, future: Future[Done]) -> None:
        """Stops a run."""

    def close(self) -> None:
        """Waits for runs that were not stopped, and frees the workers."""


def work_of(task: Task, worker: int, begun_s: float) -> Work:
    """A task as the work of a worker."""
    one = task.planned
    return Work(one.run, one.levels, one.repeat, one.seed, worker, begun_s)


class Threads:
    """Threads of this process. Engines release the interpreter's lock."""

    depth = 2

    def __init__(self, engine: Engine, size: int) -> None:
        self.size = size
        self._engine = engine
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="run")
        self._begun: SimpleQueue[Work] = SimpleQueue()
        self._monitors: dict[Future[Done], Monitor] = {}

    def submit(self, task: Task) -> Future[Done]:
        """See :class:`Pool`."""
        monitor = Monitor()
        future = self._pool.submit(self._execute, task, monitor)
        self._monitors[future] = monitor
        future.add_done_callback(lambda done: self._monitors.pop(done, None))
        return future

    def _execute(self, task: Task, monitor: Monitor) -> Done:
        worker = threading.current_thread().name.rpartition("_")[2]
        work = work_of(task, 1 + int(worker), time.time())
        self._begun.put(work)
        return Done(work, self._engine.execute(task.run, monitor), stored=False)

    def begun(self) -> list[Work]:
        """See :class:`Pool`."""
        found = []
        while not self._begun.empty():
            found.append(self._begun.get())
        return found

    def done_ns(self, future: Future[Done]) -> int:
        """See :class:`Pool`."""
        monitor = self._monitors.get(future)
        return 0 if monitor is None else monitor.progress_ns

    def cancel(self, future: Future[Done]) -> None:
        """See :class:`Pool`."""
        monitor = self._monitors.get(future)
        if not future.cancel() and monitor is not None:
            monitor.cancel()

    def close(self) -> None:
        """See :class:`Pool`."""
        self._pool.shutdown()


class LostError(Exception):
    """A run was lost with its worker or its scheduler. It can be handed out again."""


class Remote:
    """Any executor whose workers have Dumbbell. The caller closes it.

    Workers of another version are refused. A run whose worker is lost is handed out again.
    """

    def __init__(self, engine: Engine, executor: Executor, shared: Path | None = None) -> None:
        """`shared`: store that the workers write themselves; None: results are returned."""
        self._engine, self._executor = engine, executor
        self._shared = None if shared is None else str(shared.absolute())
        self._workers: dict[str, int] = {}

    #: Round trips of a scheduler are longer than short runs.
    depth = 8

    @property
    def size(self) -> int:
        """See :class:`Pool`."""
        known = getattr(self._executor, "size", getattr(self._executor, "_max_workers", 1))
        most = self._engine.workers_max
        return int(known) if most is None else min(int(known), most)

    def submit(self, task: Task) -> Future[Done]:
        """See :class:`Pool`."""
        found: Future[Done] = Future()
        found.set_running_or_notify_cancel()
        self._hand_out(task, found, 0)
        return found

    def _hand_out(self, task: Task, found: Future[Done], losses: int) -> None:
        name, version = self._engine.name, self._engine.version
        try:
            inner = self._executor.submit(execute_remotely, name, version, task.run, self._shared)
        except Exception as error:
            found.set_exception(
                EngineError(f"the workers cannot be reached: {error}", code=Code.CLUSTER)
            )
            return
        inner.add_done_callback(lambda one: self._answered(task, found, one, losses))

    def _answered(
        self, task: Task, found: Future[Done], inner: Future[Answer], losses: int
    ) -> None:
        with contextlib.suppress(InvalidStateError):  # the run was abandoned
            self._settle(task, found, inner, losses)

    def _settle(self, task: Task, found: Future[Done], inner: Future[Answer], losses: int) -> None:
        error = LostError() if inner.cancelled() else inner.exception()
        if isinstance(error, LostError) and losses < MOST_LOSSES:
            self._hand_out(task, found, losses + 1)
        elif isinstance(error, LostError):
            found.set_exception(
                EngineError(f"lost {1 + losses} times with its worker", code=Code.CLUSTER)
            )
        elif isinstance(error, BrokenExecutor):
            found.set_exception(EngineError(f"the workers are gone: {error}", code=Code.CLUSTER))
        elif error is not None:
            found.set_exception(error)
        else:
            found.set_result(self._done(task, inner.result()))

    def _done(self, task: Task, answer: Answer) -> Done:
        worker = self._workers.setdefault(answer.worker, 1 + len(self._workers))
        work = work_of(task, worker, answer.begun_s)
        return Done(work, answer.result, answer.stored)

    def begun(self) -> list[Work]:
        """See :class:`Pool`. Workers tell with the result when they began."""
        return []

    def done_ns(self, future: Future[Done]) -> int:
        """See :class:`Pool`."""
        del future
        return 0

    def cancel(self, future: Future[Done]) -> None:
        """Abandons a run. The result of its worker is discarded."""
        with contextlib.suppress(InvalidStateError):  # it is finished
            future.set_exception(LostError())

    def close(self) -> None:
        """See :class:`Pool`; the executor is the caller's."""
