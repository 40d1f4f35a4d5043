"""Protocol of an engine: it executes a run."""

from __future__ import annotations

from typing import Protocol

from dumbbell import _core
from dumbbell._core import Monitor as Monitor
from dumbbell.engines.preflight import Concern
from dumbbell.runs import Run as Run
from dumbbell.runs import RunResult as RunResult


class Engine(Protocol):
    """Executes runs; several at once, from several threads."""

    @property
    def name(self) -> str:
        """Name on the command line."""

    @property
    def version(self) -> str:
        """Differs whenever the same scenario and seed may give another result."""

    @property
    def workers_max(self) -> int | None:
        """Runs that may go on at once without changing each other; None: any number."""

    @property
    def repeatable(self) -> bool:
        """True if the same scenario and seed give the same digest every time."""

    def begin(self) -> list[str]:
        """Before the first run. Returns what the user should be told."""

    def concerns(self, scenario: str) -> list[Concern]:
        """Fields of a scenario that may not be what was meant."""

    def check(self, scenario: str) -> None:
        """Before anything is run.

        Raises:
            dumbbell._core.ScenarioError: The engine cannot do what the scenario asks.
        """

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """Executes a run; the interpreter's lock is released meanwhile.

        Raises:
            dumbbell._core.ScenarioError: The engine cannot do what the scenario asks.
            dumbbell._core.Cancelled: The monitor was cancelled.
        """


def scenario_error(path: str, message: str) -> _core.ScenarioError:
    """An error about a field of a scenario."""
    error = _core.ScenarioError(path, message)
    error.path, error.message = path, message
    return error
