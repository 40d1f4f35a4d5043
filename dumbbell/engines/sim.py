"""Engine `sim`: the packet-level simulator."""

from __future__ import annotations

import time

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.engines.base import Run, RunResult
from dumbbell.engines.preflight import Concern, concerns_everywhere


class SimEngine:
    """Engine of the simulator: deterministic, in virtual time."""

    name = "sim"
    version = _core.engine_version
    workers_max = None
    repeatable = True

    def begin(self) -> list[str]:
        """See :class:`dumbbell.engines.base.Engine`; nothing to prepare."""
        return []

    def concerns(self, scenario: str) -> list[Concern]:
        """See :class:`dumbbell.engines.base.Engine`; only the warnings for every engine."""
        return concerns_everywhere(scenario)

    def check(self, scenario: str) -> None:
        """Accepts every scenario: the reader of scenarios has checked it."""

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.base.Engine`."""
        begin = time.perf_counter()
        output = _core.run(run.scenario, run.seed, monitor)
        wall_s = time.perf_counter() - begin
        return RunResult(
            output.tables, output.digest, wall_s, output.packets, output.events, output.capture
        )
