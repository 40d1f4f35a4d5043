"""Engine `netns`: the host's own kernel, in real time, as root."""

from __future__ import annotations

import json
import os
import subprocess
from functools import lru_cache

from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.engines.base import Run, RunResult, scenario_error
from dumbbell.engines.linux.engine import check_hops, timed
from dumbbell.engines.linux.guest import guest_program, guest_version, needs
from dumbbell.engines.linux.leftovers import sweep
from dumbbell.engines.linux.parts import check_modules
from dumbbell.engines.preflight import Concern, concerns, refused_in_real_time
from dumbbell.errors import EngineError
from dumbbell.trace import taps


class NetnsEngine:
    """Engine with network namespaces of the host's kernel, one run at a time.

    Raises `EngineError` without root privileges.
    """

    name = "netns"
    #: Simultaneous runs would compete for processor time.
    workers_max = 1
    #: Real time varies from run to run.
    repeatable = False

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise EngineError(
                "the engine netns needs the rights of root; the engine linux does not",
                code=Code.RIGHTS,
            )
        self.version = f"{os.uname().release}+{guest_version()}+{taps.VERSION}"

    def begin(self) -> list[str]:
        """See :class:`dumbbell.engines.base.Engine`."""
        return sweep()

    def concerns(self, scenario: str) -> list[Concern]:
        """See :class:`dumbbell.engines.base.Engine`."""
        return concerns(scenario)

    def check(self, scenario: str) -> None:
        """See :class:`dumbbell.engines.base.Engine`; `EngineError` if the host lacks something."""
        wanted = needs(scenario)
        check_hops(scenario)
        check_modules(scenario, None)
        refused = refused_in_real_time(scenario)
        if refused is not None:
            raise scenario_error(refused.path, refused.message)
        missing = _missing(wanted)
        if missing:
            raise EngineError(
                f"this host's kernel ({os.uname().release}) lacks what the experiment needs: "
                + ", ".join(missing)
                + "; a kernel with these options has it, as distributions' own have, or the "
                "engine linux",
                code=Code.HOST_KERNEL,
            )

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.base.Engine`."""
        return timed([str(guest_program()), "netns"], run, monitor)


@lru_cache(maxsize=64)
def _missing(wanted: frozenset[str]) -> tuple[str, ...]:
    """Features that the host's kernel lacks, found by trying each."""
    command = [str(guest_program()), "lacks", *sorted(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    if "message" in found:
        raise EngineError(f"the engine netns cannot begin: {found['message']}", code=Code.RIGHTS)
    return tuple(found["missing"])
