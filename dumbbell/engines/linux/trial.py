"""A kernel that was built counts once a guest of it boots here and carries a flow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.engines.base import Run, RunResult
from dumbbell.engines.linux.build import build
from dumbbell.engines.linux.compile import Progress
from dumbbell.engines.linux.debian import Package
from dumbbell.engines.linux.engine import LinuxEngine
from dumbbell.engines.linux.kernel import Kernel, make_default
from dumbbell.errors import EngineError
from dumbbell.experiment.load import load_text

_BYTES = 100_000
_FLOW = f"""\
dumbbell: 1
name: trial
template: {{dumbbell: {{rate: 10 Mbit/s, rtt: 20 ms, buffer: 50 packets}}}}
flows: [{{from: s1, to: d1, tcp: {{congestion_control: cubic, bytes: {_BYTES} bytes}}}}]
duration: 2 s
"""


def carry_a_flow(kernel: str | Kernel = "") -> tuple[LinuxEngine, RunResult]:
    """Boots a guest and sends 100 kB through it; the engine and what the run gave.

    Args:
        kernel: A kernel or its name; empty: the default.

    Raises:
        EngineError: There is no such kernel, it does not run here, or the bytes did not arrive.
    """
    engine = LinuxEngine(kernel)
    cell = load_text(_FLOW, Path("trial.yaml")).cells[0]
    result = engine.execute(Run("trial", cell.scenario, 1, cell.duration_ns), Monitor())
    row = pl.read_ipc_stream(io.BytesIO(result.tables["flows"])).row(0, named=True)
    if row["delivered_bytes"] != _BYTES:
        arrived = f"{row['delivered_bytes']} of {_BYTES} bytes arrive"
        raise EngineError(f"{engine.version}: a guest boots, but {arrived}", code=Code.GUEST)
    return engine, result


def build_and_try(
    source: Path | Package | None,
    name: str | None,
    progress: Progress,
    *,
    jobs: int | None = None,
    patches: Sequence[Path] = (),
    modules: Sequence[Path] = (),
    keep: bool = False,
) -> Kernel:
    """Builds a kernel, tries it, and makes the one from Debian's default source the default.

    Args:
        source: A kernel tree or a package; None for Debian's default source.
        name: What to call it; by default the first two numbers of its version.
        progress: Told a phase and the fraction of the build that is behind.
        jobs: Compilers at once; by default one per core.
        patches: Patches to apply besides the project's.
        modules: Sources of congestion controls, compiled in.
        keep: Keeps the compiled tree for builds with modules.

    Raises:
        EngineError: It cannot be built, or it does not run here: then the default stays as it was.
    """
    kernel = build(source, name, progress, jobs=jobs, patches=patches, modules=modules, keep=keep)
    progress("booting a guest", 1.0)
    try:
        carry_a_flow(kernel)
    except EngineError as error:
        raise EngineError(
            f"{error}\nThe kernel {kernel.name} was built and is not usable here; "
            "the default kernel is the one it was before",
            code=Code.GUEST,
        ) from None
    if source is None and not patches and not modules:
        make_default(kernel)
    return kernel
