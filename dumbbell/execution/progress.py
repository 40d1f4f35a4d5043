"""Progress of a running experiment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Protocol


class Progress(Protocol):
    """Receiver of progress. All calls come from one thread."""

    def note(self, text: str) -> None:
        """Receives a note for the user, before the runs begin."""

    def begin(self, name: str, runs: int, kept: int) -> None:
        """Receives the number of runs to execute, and of runs already in the store (`kept`)."""

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """Receives the number of finished runs; `rate`: simulated seconds per second."""

    def end(self) -> None:
        """Receives the end of the experiment."""


class Silent:
    """Progress that shows nothing."""

    def note(self, text: str) -> None:
        """Does nothing."""

    def begin(self, name: str, runs: int, kept: int) -> None:
        """Does nothing."""

    def update(self, done: int, simulated_s: float, rate: float, left_s: float | None) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Does nothing."""


_CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current_progress() -> Progress:
    """Progress in use. Default: one that shows nothing."""
    return _CURRENT.get() or Silent()


@contextlib.contextmanager
def use_progress(progress: Progress) -> Iterator[None]:
    """Context in which all experiments report to `progress`."""
    token = _CURRENT.set(progress)
    try:
        yield
    finally:
        _CURRENT.reset(token)
