"""Progress of a running experiment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from dumbbell.console.words import many
from dumbbell.execution.shard import Shard
from dumbbell.runs import RunResult


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs that are about to be executed.

    Attributes:
        name: Name of the experiment.
        engine: Name of the engine.
        runs: Number of runs to execute.
        kept: Number of runs that are in the store already.
        shard: Part of the experiment; None: all of it.
    """

    name: str
    engine: str
    runs: int
    kept: int
    shard: Shard | None = None

    @property
    def title(self) -> str:
        """Name in messages: `sweep, shard 3/16`."""
        return self.name if self.shard is None else f"{self.name}, shard {self.shard}"


def empty_note(name: str, shard: Shard, runs: int) -> str:
    """Message about a shard of a small experiment that has no run."""
    return f"{name}, shard {shard}: empty: the experiment has {many(runs, 'run')}"


@dataclass(frozen=True, slots=True)
class Work:
    """A run that a worker executes.

    Attributes:
        run: Id of the run.
        levels: Factor → level.
        repeat: Repeat, counted from 0.
        seed: Seed of the run.
        worker: Number of the worker, counted from 1.
        begun_s: Time at which it began, in s since 1970.
    """

    run: str
    levels: Mapping[str, str]
    repeat: int
    seed: int
    worker: int
    begun_s: float

    def label(self) -> str:
        """Name in messages: `cc=reno, repeat 2`."""
        levels = [f"{name}={level}" for name, level in self.levels.items()]
        return ", ".join([*levels, f"repeat {self.repeat}"])


class Progress:
    """Receiver of progress, which ignores it. All calls come from one thread."""

    def note(self, text: str) -> None:
        """Receives a note for the user, before the runs begin."""

    def begin(self, sweep: Sweep) -> None:
        """Receives what is about to be executed. A `DumbbellError` prevents it."""

    def started(self, work: Work) -> None:
        """Receives a run that a worker began."""

    def finished(self, work: Work, result: RunResult) -> None:
        """Receives a run that is in the store now."""

    def failed(self, work: Work, why: str) -> None:
        """Receives a run that failed."""

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """Receives the number of finished runs; `rate`: simulated seconds per second."""

    def working(self, works: Sequence[tuple[Work, float]]) -> None:
        """Receives the run of each busy worker, and the fraction of it that is done."""

    def end(self) -> None:
        """Receives the end of the experiment, also after an error."""


class Several(Progress):
    """Progress that passes everything to several receivers, in their order."""

    def __init__(self, receivers: Sequence[Progress]) -> None:
        self._receivers = receivers

    def note(self, text: str) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.note(text)

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.begin(sweep)

    def started(self, work: Work) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.started(work)

    def finished(self, work: Work, result: RunResult) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.finished(work, result)

    def failed(self, work: Work, why: str) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.failed(work, why)

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.update(done, simulated_s, rate, left_s)

    def working(self, works: Sequence[tuple[Work, float]]) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.working(works)

    def end(self) -> None:
        """See :class:`Progress`."""
        for one in self._receivers:
            one.end()


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current_progress() -> Progress:
    """Progress in use. Default: one that shows nothing."""
    return _CURRENT.get() or Progress()


@contextlib.contextmanager
def use_progress(progress: Progress) -> Iterator[None]:
    """Context in which all experiments report to `progress`."""
    token = _CURRENT.set(progress)
    try:
        yield
    finally:
        _CURRENT.reset(token)
