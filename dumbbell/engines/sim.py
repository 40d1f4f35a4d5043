"""Engine `sim`: the packet-level simulator."""

from __future__ import annotations

import time
from typing import Any

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.engines.base import Run, RunResult, scenario_error
from dumbbell.engines.preflight import Concern, concerns_everywhere
from dumbbell.errors import EngineError
from dumbbell.scenario import read_scenario

#: Values of `tcp_ecn` of a host that may negotiate Accurate ECN.
_ASK_ACCURATE = (3,)


def _tcp_ecn(node: Any) -> int | None:
    return (node.get("tcp") or {}).get("tcp_ecn")


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
        """Refuses Accurate ECN on subflows; the reader of scenarios has checked all else."""
        if '"tcp_ecn":3' not in scenario:
            return
        read = read_scenario(scenario)
        asking = (n for n, node in enumerate(read["nodes"]) if _tcp_ecn(node) in _ASK_ACCURATE)
        if read["connections"] and (number := next(asking, None)) is not None:
            message = (
                "the simulator has no Accurate ECN on subflows of Multipath TCP; 1 asks for ECN as "
                "of RFC 3168, and the engine linux:7.3 has both"
            )
            raise scenario_error(f"nodes[{number}].tcp.tcp_ecn", message)

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.base.Engine`. Code of plug-ins runs in another process."""
        if '"plugin":{' in run.scenario:
            from dumbbell.plugins.run import execute

            return execute(run, monitor)
        begin = time.perf_counter()
        try:
            output = _core.run(run.scenario, run.seed, monitor)
        except _core.PluginError as error:  # a transport stack
            raise EngineError(str(error), code=Code.PLUGIN) from None
        wall_s = time.perf_counter() - begin
        return RunResult(
            output.tables, output.digest, wall_s, output.packets, output.events, output.capture
        )
