"""Progress of a running experiment: a bar on a terminal, lines of text elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from dumbbell.console import Pulse
from dumbbell.console.words import many
from dumbbell.execution.progress import Progress, Sweep, Work


def progress_on(console: Console, *, verbose: bool = False) -> Progress:
    """Progress for a console. `verbose`: shows what each worker does."""
    return (
        _BarProgress(console, verbose) if console.is_terminal else _LineProgress(console, verbose)
    )


class _Shown(Progress):
    """Notes, and the line about runs that are in the store."""

    def __init__(self, console: Console, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose

    def note(self, text: str) -> None:
        """See :class:`Progress`."""
        self._console.print(text, soft_wrap=True)

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        if sweep.kept:
            self.note(
                f"{sweep.title}: {many(sweep.kept, 'run is', 'runs are')} in the store already"
            )

    def failed(self, work: Work, why: str) -> None:
        """See :class:`Progress`."""
        if self._verbose:
            self.note(f"failed: {why}")


class _BarProgress(_Shown):
    """Bar: finished runs, simulated seconds per second, time left; a line per worker below."""

    def __init__(self, console: Console, verbose: bool) -> None:
        super().__init__(console, verbose)
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._sweep, self._begun_s = Sweep("", "", 0, 0), 0.0
        self._workers: dict[int, TaskID] = {}

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        super().begin(sweep)
        if not sweep.runs:
            return
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[words]}"),
            console=self._console,
        )
        self._sweep, self._begun_s, self._workers = sweep, time.monotonic(), {}
        self._task = self._bar.add_task(sweep.title, total=sweep.runs, words="")
        self._bar.start()

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """See :class:`Progress`."""
        if self._bar is not None and self._task is not None:
            words = f"{done}/{many(self._sweep.runs, 'run')}, {_rate(rate)} simulated s/s, "
            words += duration_text(time.monotonic() - self._begun_s)
            words += "" if left_s is None else f", {duration_text(left_s)} left"
            self._bar.update(self._task, completed=done, words=words)

    def working(self, works: Sequence[tuple[Work, float]]) -> None:
        """See :class:`Progress`."""
        if self._bar is None or not self._verbose:
            return
        for work, fraction in works:
            if work.worker not in self._workers:
                self._workers[work.worker] = self._bar.add_task("", total=100, words="")
            self._bar.update(
                self._workers[work.worker],
                description=f"  worker {work.worker}",
                completed=100 * fraction,
                words=f"{int(100 * fraction)} % of {work.label()}",
            )

    def end(self) -> None:
        """See :class:`Progress`."""
        if self._bar is not None:
            for task in self._workers.values():
                self._bar.remove_task(task)
            self._bar.stop()
            self._bar = None


class _LineProgress(_Shown):
    """Lines at growing intervals, and one at the end."""

    def __init__(self, console: Console, verbose: bool) -> None:
        super().__init__(console, verbose)
        self._sweep: Sweep | None = None
        self._pulse = Pulse(console)
        self._begun_s = 0.0
        self._done, self._rate = 0, 0.0
        self._works = ""

    def begin(self, sweep: Sweep) -> None:
        """See :class:`Progress`."""
        super().begin(sweep)
        self._sweep = sweep if sweep.runs else None
        self._pulse, self._begun_s = Pulse(self._console), time.monotonic()
        self._done, self._rate, self._works = 0, 0.0, ""

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """See :class:`Progress`."""
        self._done, self._rate = done, rate
        if self._sweep is not None:
            left = "" if left_s is None else f", {duration_text(left_s)} left"
            self._pulse(f"{self._so_far(self._sweep)}{left}{self._works}")

    def working(self, works: Sequence[tuple[Work, float]]) -> None:
        """See :class:`Progress`."""
        if self._verbose:
            self._works = "".join(
                f"\n  worker {work.worker}: {work.label()}, {int(100 * fraction)} %"
                for work, fraction in works
            )

    def end(self) -> None:
        """See :class:`Progress`."""
        if self._sweep is not None:
            took = duration_text(time.monotonic() - self._begun_s)
            self.note(f"{self._so_far(self._sweep)}, in {took}")
            self._sweep = None

    def _so_far(self, sweep: Sweep) -> str:
        runs = f"{self._done} of {many(sweep.runs, 'run')}"
        return f"{sweep.title}: {runs}, {_rate(self._rate)} simulated s/s"


def _rate(rate: float) -> str:
    """Rate in simulated seconds per second; a slow run has one, too: `0.3`."""
    if rate >= 10 or not rate:
        return f"{rate:.0f}" if rate else "–"
    return f"{rate:.2g}" if rate >= 0.01 else "<0.01"


def duration_text(seconds: float) -> str:
    """`75` → `1 min 15 s`."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
