"""Protocol of engines."""

from __future__ import annotations

from typing import Protocol

from dumbbell import _core
from dumbbell._core import Monitor as Monitor
from dumbbell.codes import Code
from dumbbell.engines.preflight import Concern
from dumbbell.runs import Run as Run
from dumbbell.runs import RunResult as RunResult


class Engine(Protocol):
    """Executor of runs. Several threads may execute runs at once."""

    @property
    def name(self) -> str:
        """Name on the command line."""

    @property
    def version(self) -> str:
        """Version: it changes whenever the same scenario and seed may give another result."""

    @property
    def workers_max(self) -> int | None:
        """Maximum number of simultaneous runs that do not affect each other; None: no limit."""

    @property
    def repeatable(self) -> bool:
        """True if the same scenario and seed always give the same digest."""

    def begin(self) -> list[str]:
        """Prepares the engine before the first run. Returns notes for the user."""

    def concerns(self, scenario: str) -> list[Concern]:
        """Warnings about a scenario."""

    def check(self, scenario: str) -> None:
        """Checks a scenario before any run.

        Raises:
            dumbbell._core.ScenarioError: The engine does not support the scenario.
        """

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """Executes a run. The interpreter's lock is released meanwhile.

        Raises:
            dumbbell._core.ScenarioError: The engine does not support the scenario.
            dumbbell._core.Cancelled: The monitor was cancelled.
        """


def scenario_error(path: str, message: str, code: Code = Code.ENGINE_LACKS) -> _core.ScenarioError:
    """Error about a field of a scenario."""
    error = _core.ScenarioError(path, message)
    error.path, error.message, error.code = path, message, code
    return error
