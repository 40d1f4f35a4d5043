"""Checks of this installation."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dumbbell import _core
from dumbbell.codes import Code
from dumbbell.engines import ENGINES, Monitor, Run, SimEngine
from dumbbell.engines.linux.kernel import kernels, outdated_note
from dumbbell.engines.linux.registers import needed_bytes
from dumbbell.engines.linux.trial import carry_a_flow
from dumbbell.errors import DumbbellError
from dumbbell.execution.runner import default_workers
from dumbbell.experiment.load import load_text
from dumbbell.files.shipped import shipped
from dumbbell.store import temporary_store

#: Name of the distribution whose package is `dumbbell`.
DISTRIBUTION = "dumbbell-lab"
PACKAGES = ("pydantic", "polars", "pyarrow", "typer", "rich", "ruamel.yaml", "numpy", "altair")
#: Extras that are not needed for runs, and the modules of each.
EXTRAS = {
    "query": ("duckdb",),
    "explore": ("starlette", "uvicorn"),
    "search": ("optuna",),
    "remote": ("fsspec", "s3fs"),
    "cluster": ("distributed",),
    "gym": ("gymnasium", "pettingzoo", "cma"),
}
_PROBE = """\
dumbbell: 1
name: doctor
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms}}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 1 s
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check: name, success, description."""

    name: str
    well: bool
    found: str


def _versions() -> str:
    return f"dumbbell {_core.version}, simulator {_core.engine_version}"


def _install() -> str:
    """Kind of installation: a package with its wheel's tags, or a checkout of the sources."""
    folder = shipped("_kernel").parent
    if (folder / "Cargo.toml").is_file():
        return f"checkout of the sources, {folder}"
    found = importlib.metadata.distribution(DISTRIBUTION)
    lines = (found.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    origin = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
    file = f" from {Path(origin).name}" if origin else ""
    return f"package {DISTRIBUTION} {found.version}{file} ({', '.join(tags)}), {folder}"


def _python() -> str:
    return f"{platform.python_version()} ({sys.executable}), {platform.platform()}"


def _packages() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


def _extras() -> str:
    """Extras of the package, with the command that installs what is missing."""
    absent = [
        extra
        for extra, modules in EXTRAS.items()
        if any(find_spec(name) is None for name in modules)
    ]
    here = ", ".join(extra for extra in EXTRAS if extra not in absent) or "none"
    if not absent:
        return here
    names = ",".join(absent)
    return f"{here}; not installed: pip install '{DISTRIBUTION}[{names}]'"


def _processors() -> str:
    return f"{default_workers()} processors: runs at once unless --workers says otherwise"


def _engines() -> str:
    return ", ".join(ENGINES)


def _linux() -> str:
    """Boots a guest, if a kernel is built."""
    if not kernels():
        return "no kernel is built; build one with: dumbbell kernel build"
    engine, result = carry_a_flow()
    told = f"{engine.version}: 2 s of a flow in {result.wall_s:.2f} s, digest {result.digest[:12]}"
    note = outdated_note(kernels())
    return f"{told}\n{note}" if note else told


def _registers() -> str:
    """Register area that the engine linux needs; see :mod:`dumbbell.engines.linux.registers`."""
    return f"{needed_bytes()} bytes in this processor (XSAVE); a kernel is built to hold them"


def _simulator() -> str:
    """Runs one second of a flow twice. Different digests are a defect."""
    experiment = load_text(_PROBE, Path("doctor.yaml"))
    cell = experiment.cells[0]
    run = Run("doctor", cell.scenario, 1, cell.duration_ns)
    first, second = (SimEngine().execute(run, Monitor()) for _ in range(2))
    if first.digest != second.digest:
        raise DumbbellError(
            f"two digests for one run: {first.digest}, {second.digest}", code=Code.RUN_FAILED
        )
    return f"1 s of a flow in {second.wall_s * 1e3:.1f} ms, digest {first.digest[:12]}"


def _store() -> str:
    with temporary_store():
        pass
    return f"can be written below {tempfile.gettempdir()}"


CHECKS: dict[str, Callable[[], str]] = {
    "version": _versions,
    "install": _install,
    "python": _python,
    "packages": _packages,
    "extras": _extras,
    "processors": _processors,
    "engines": _engines,
    "simulator": _simulator,
    "registers": _registers,
    "linux": _linux,
    "store": _store,
}


def examine() -> Iterator[Finding]:
    """Runs all checks. Errors become failed checks."""
    for name, check in CHECKS.items():
        try:
            yield Finding(name, True, check())
        except Exception as error:
            yield Finding(name, False, f"{type(error).__name__}: {error}")
