"""The engine `linux`: the kernel itself, in virtual time."""

from __future__ import annotations

import io
import time

import polars as pl

from dumbbell._core import Monitor
from dumbbell.engines.base import Run, RunResult
from dumbbell.engines.linux.guest import guest_program, guest_version, refuse_impossible
from dumbbell.engines.linux.kernel import kernel_named
from dumbbell.engines.linux.launch import MEMORY, run_guest


class LinuxEngine:
    """Runs scenarios on a Linux kernel in virtual time, one guest per run.

    `kernel`: name of a built kernel; empty: the one that `dumbbell kernel build` makes. Raises
    `EngineError` if it was not built.
    """

    def __init__(self, kernel: str = "") -> None:
        self._kernel = kernel_named(kernel)
        self.name = f"linux:{kernel}" if kernel else "linux"
        self.version = f"{self._kernel.version}-{self._kernel.hash[:12]}+{guest_version()}+{MEMORY}"

    def check(self, scenario: str) -> None:
        """See :class:`dumbbell.engines.base.Engine`."""
        refuse_impossible(scenario)

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.base.Engine`."""
        begin = time.perf_counter()
        output = run_guest(self._kernel.executable, guest_program(), run, monitor)
        wall_s = time.perf_counter() - begin
        flows = pl.read_ipc_stream(io.BytesIO(output.tables["flows"]))
        packets = int(flows["sent_packets"].sum())
        return RunResult(output.tables, output.digest, wall_s, packets, 0)
