"""The engine `linux`: the kernel itself, in virtual time."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.engines.base import Run, RunResult, scenario_error
from dumbbell.engines.linux.guest import guest_program, guest_version, needs
from dumbbell.engines.linux.kernel import Kernel, kernel_named
from dumbbell.engines.linux.launch import MEMORY, GuestDied, boot_command, run_guest
from dumbbell.engines.linux.leftovers import sweep
from dumbbell.engines.linux.parts import check_modules, check_parts, module_parameters
from dumbbell.engines.linux.registers import check_fit, sizes
from dumbbell.engines.preflight import Concern, concerns, refused_in_virtual_time
from dumbbell.engines.programs import check_programs
from dumbbell.engines.virtual_time import concerns_in_virtual_time
from dumbbell.errors import EngineError
from dumbbell.scenario import Scenario, Stretch, read_scenario
from dumbbell.trace import taps


class LinuxEngine:
    """Runs scenarios on a Linux kernel in virtual time, one guest per run.

    `kernel`: a kernel or its name; empty: the one that `dumbbell kernel build` makes. Raises
    `EngineError` if it was not built, or does not hold this processor's registers.
    """

    workers_max = None
    repeatable = True

    def __init__(self, kernel: str | Kernel = "") -> None:
        self._kernel = kernel_named(kernel) if isinstance(kernel, str) else kernel
        check_fit(self._kernel.version, self._kernel.config)
        self.command = boot_command(self._kernel.executable, self._kernel.version)
        name = kernel if isinstance(kernel, str) else kernel.name
        self.name = f"linux:{name}" if name else "linux"
        built = f"{self._kernel.version}-{self._kernel.hash[:12]}"
        self.version = f"{built}+{guest_version()}+{MEMORY}+{taps.VERSION}"

    def begin(self) -> list[str]:
        """See :class:`dumbbell.engines.base.Engine`."""
        return sweep()

    def concerns(self, scenario: str) -> list[Concern]:
        """See :class:`dumbbell.engines.base.Engine`."""
        return [*concerns(scenario), *concerns_in_virtual_time(scenario)]

    def check(self, scenario: str) -> None:
        """See :class:`dumbbell.engines.base.Engine`."""
        needs(scenario)
        check_parts(scenario, self._kernel)
        check_modules(scenario, self._kernel)
        check_programs(scenario)
        check_hops(scenario)
        refused = refused_in_virtual_time(scenario)
        if refused is not None:
            raise scenario_error(refused.path, refused.message)

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.base.Engine`."""
        try:
            return timed([*self.command, *module_parameters(run.scenario)], run, monitor)
        except GuestDied as died:
            if not died.of_registers:
                raise
            version, config = self._kernel.version, self._kernel.config
            raise EngineError(f"{sizes(version, config)}\n{died}", code=Code.GUEST) from None


def check_hops(scenario: str) -> None:
    """Raises `ScenarioError` for what cannot be kept beside the way of every packet."""
    sampling = read_scenario(scenario)["sampling"]
    for other in ("packets", "capture"):
        if sampling.get("hops") and sampling.get(other):
            message = f"the kernel's engines keep either hops or {other}: both are seen at taps"
            raise scenario_error("sampling.hops", message)


def timed(command: Sequence[str], run: Run, monitor: Monitor) -> RunResult:
    """Runs a scenario by a command and times it; see `dumbbell.engines.linux.launch.run_guest`."""
    spec = read_scenario(run.scenario)
    stretch = spec["sampling"].get("hops")
    if stretch:
        spec = taps.everywhere(spec)
        run = replace(run, scenario=json.dumps(spec))
    begin = time.perf_counter()
    output = run_guest(command, guest_program(), run, monitor)
    wall_s = time.perf_counter() - begin
    tables = {**output.tables, **_hops(output.tables, spec, stretch)} if stretch else output.tables
    flows = pl.read_ipc_stream(io.BytesIO(output.tables["flows"]))
    packets = int(flows["sent_packets"].sum())
    return RunResult(tables, output.digest, wall_s, packets, 0, output.capture)


def _hops(tables: Mapping[str, bytes], spec: Scenario, stretch: Stretch) -> dict[str, bytes]:
    """The table `hops` of a stretch in place of `packets`, of which it is made."""
    packets = pl.read_ipc_stream(io.BytesIO(tables["packets"]))
    offered = pl.col("offered_ns").is_between(stretch["from_ns"], stretch["to_ns"], closed="left")
    made = {"hops": taps.hops_of_run(packets, spec).filter(offered), "packets": packets.clear()}
    written = {}
    for name, frame in made.items():
        buffer = io.BytesIO()
        frame.write_ipc_stream(buffer)
        written[name] = buffer.getvalue()
    return written
