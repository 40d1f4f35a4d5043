"""Progress of a running experiment on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar

from dumbbell.console import Pulse


class RichProgress:
    """Progress bar: finished runs, simulated seconds per second, time left.

    Without a terminal: lines of text.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._pulse = Pulse(console)
        self._name, self._runs = "", 0

    def note(self, text: str) -> None:
        """See :class:`Progress`."""
        self._console.print(text, soft_wrap=True)

    def begin(self, name: str, runs: int, kept: int) -> None:
        """See :class:`Progress`."""
        if kept:
            self._console.print(f"{name}: {kept} runs are in the store already")
        self._name, self._runs, self._pulse = name, runs, Pulse(self._console)
        if not runs:
            return
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, {task.fields[rate]} simulated s/s,"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
        )
        self._task = self._bar.add_task(name, total=runs, rate="–", left="")
        self._bar.start()

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """See :class:`Progress`."""
        if self._bar is not None and self._task is not None:
            left = "" if left_s is None else f"{duration_text(left_s)} left"
            text = f"{rate:.0f}" if rate else "–"
            self._bar.update(self._task, completed=done, rate=text, left=left)
            so_far = f"{done} of {self._runs} runs, {text} simulated s/s"
            self._pulse(f"{self._name}: {so_far}" + (f", {left}" if left else ""))

    def end(self) -> None:
        """See :class:`Progress`."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def duration_text(seconds: float) -> str:
    """`75` → `1 min 15 s`."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
