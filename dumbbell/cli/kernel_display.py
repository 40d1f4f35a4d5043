"""Output of `dumbbell kernel`: a progress bar of builds, a table of kernels."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from dumbbell.engines.linux.kernel import Kernel

#: Seconds between two lines where there is no terminal.
_BETWEEN_S = 30.0


class BuildBar:
    """Progress bar of a kernel build; called with a phase and a fraction.

    Without a terminal: a line per phase, and one each half minute.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phase = ""
        self._begun, self._told_s = time.monotonic(), 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=1.0)

    def __enter__(self) -> BuildBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, phase: str, fraction: float) -> None:
        """Shows the phase and the fraction."""
        if fraction > 0 and not self._console.is_terminal:
            elapsed_s = time.monotonic() - self._begun
            if phase != self._phase:
                self._console.print(phase)
            elif elapsed_s > self._told_s + _BETWEEN_S:
                left_s = elapsed_s * (1 - fraction) / fraction
                self._console.print(
                    f"{phase}: {fraction:.0%} after {elapsed_s:.0f} s, about {left_s:.0f} s left"
                )
                self._told_s = elapsed_s
        self._phase = phase
        self._bar.update(self._task, description=phase, completed=fraction)


def kernels_table(kernels: Iterable[Kernel]) -> Table:
    """One row per kernel."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "version", "built from", "hash"):
        table.add_column(column, overflow="fold", no_wrap=column == "hash")
    for kernel in kernels:
        own = f" with {', '.join(kernel.modules)}" if kernel.modules else ""
        cells = (kernel.name or "–", kernel.version, f"{kernel.built_from}{own}", kernel.hash)
        table.add_row(*map(Text, cells))
    return table
