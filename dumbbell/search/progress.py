"""Progress of a whole search, shown as that of one experiment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dumbbell.errors import Interrupted
from dumbbell.execution.progress import Progress, Several, Sweep, current_progress, use_progress


class _Steps(Several):
    """Receiver of the progress of each batch.

    Attributes:
        done: Number of finished runs, those in the store before included.
        before: Runs finished before the current batch.
    """

    def __init__(self, shown: Progress, runs: int) -> None:
        super().__init__([shown])
        self._shown, self._runs, self._part = shown, runs, 0
        self._told: set[str] = set()
        self.done = self.before = 0

    def note(self, text: str) -> None:
        """Passes on a note, once."""
        if text not in self._told:
            self._told.add(text)
            self._shown.note(text)

    def begin(self, sweep: Sweep) -> None:
        """Counts the runs that are in the store already."""
        self.before = self.done
        self.done, self._part = self.done + sweep.kept, sweep.runs
        self.update(0, 0.0, 0.0, None)

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """Passes on the number of finished runs; the time left is not known."""
        del left_s
        self._shown.update(min(self.done + done, self._runs), simulated_s, rate, None)

    def end(self) -> None:
        """Counts the runs of a batch."""
        self.done += self._part


@contextlib.contextmanager
def one_progress(name: str, engine: str, runs: int) -> Iterator[None]:
    """Context in which all experiments are steps of one with so many runs at most.

    Raises:
        Interrupted: A signal stopped a run; with the numbers of the whole search.
    """
    shown = current_progress()
    steps = _Steps(shown, runs)
    shown.begin(Sweep(name, engine, runs, kept=0))
    try:
        with use_progress(steps):
            yield
    except Interrupted as error:
        raise Interrupted(min(steps.before + error.done, runs), runs) from None
    finally:
        shown.end()
