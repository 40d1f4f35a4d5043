"""Plug-ins as experiments use them: facts of a file, and runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell._core import Monitor
from dumbbell.codes import Code
from dumbbell.errors import EngineError
from dumbbell.plugins.compile import COMPILED, NO_TABLE, REGISTERS_NOTHING, library_of
from dumbbell.plugins.declare import Declared
from dumbbell.plugins.kept import keep, kept
from dumbbell.plugins.page import Where
from dumbbell.plugins.process import EndedError, worker
from dumbbell.plugins.requests import Defect, Execute, Probe, Refused, Unfit
from dumbbell.plugins.unusable import UnusableError
from dumbbell.runs import Run, RunResult

#: Time that a file may take to load, s. Modules of Python may import much, WebAssembly is compiled.
_LOAD_S = {".so": 5.0, ".wasm": 20.0, ".py": 20.0, ".onnx": 5.0, ".c": 5.0}
#: Processor time that a file may take to load, s.
_LOAD_CPU_S = {".wasm": 20.0}
_LOAD_CPU_DEFAULT_S = 5.0
#: Time in which a run outside of plug-ins moves on, s.
_SILENT_S = 600.0

_FACTS: dict[tuple[str, str], Declared] = {}


def facts_of(path: Path, name: str) -> tuple[str, Declared]:
    """SHA-256 and facts of a plug-in's file.

    Raises:
        UnusableError: It is no plug-in, with the reason.
        OSError: It cannot be read.
    """
    sha256, copy = keep(path, name)
    known = _FACTS.get((sha256, name))
    if known is not None:
        return sha256, known
    try:
        runnable = _runnable(copy)
    except UnusableError as error:
        raise UnusableError(str(error).replace(f"{COMPILED}:", f"{path.name}:")) from None
    try:
        with worker() as chosen:
            request = Probe(runnable, name)
            cpu_s = _LOAD_CPU_S.get(path.suffix, _LOAD_CPU_DEFAULT_S)
            found = chosen.ask(request, lambda _: True, _LOAD_S[path.suffix], cpu_s)
    except EndedError as ended:
        raise UnusableError(f"while it was loaded, {ended.reason}") from None
    if isinstance(found, Refused):
        nothing = path.suffix == ".c" and NO_TABLE in found.reason
        raise UnusableError(REGISTERS_NOTHING if nothing else found.reason)
    assert isinstance(found, Declared)
    _FACTS[sha256, name] = found
    return sha256, found


def _runnable(copy: Path) -> Path:
    """What a worker loads: of a module of Linux its library."""
    return library_of(copy) if copy.suffix == ".c" else copy


def execute(run: Run, monitor: Monitor) -> RunResult:
    """Executes a run with plug-ins on the simulator, in a worker process.

    Raises:
        EngineError: A plug-in failed: which, the flow, and the virtual time.
        _core.Cancelled: The monitor was cancelled.
        _core.ScenarioError: The scenario cannot be run.
    """
    plugins = dict(_plugins(json.loads(run.scenario)))

    def look(where: Where) -> bool:
        monitor.report(where.at_ns)
        return not monitor.cancelled

    try:
        with worker() as chosen:
            request = Execute(run.scenario, run.seed, plugins, chosen.page.path)
            reply = chosen.ask(request, look, _SILENT_S)
    except EndedError as ended:
        if monitor.cancelled:
            raise _core.Cancelled("cancelled") from None
        raise EngineError(_told(run, ended), code=Code.PLUGIN) from None
    match reply:
        case RunResult():
            return reply
        case Unfit(path, message):
            error = _core.ScenarioError(path, message)
            error.path, error.message = path, message
            raise error
        case Defect(message):
            raise _core.DefectError(message)
        case Refused(reason):
            raise EngineError(reason, code=Code.PLUGIN)
    raise AssertionError(reply)


def _plugins(scenario: dict[str, Any]) -> Iterator[tuple[str, tuple[Path, str]]]:
    for _, facts in _users(scenario):
        try:
            yield facts["sha256"], (_runnable(kept(facts["sha256"])), facts["name"])
        except UnusableError as error:
            raise EngineError(f"plug-in {facts['name']}: {error}", code=Code.PLUGIN) from None


def _users(scenario: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Flows with plug-ins, and the facts of these, in the order in which flows begin."""
    named = [(flow["name"], flow["traffic"].get("tcp")) for flow in scenario["flows"]]
    named += [(one["name"], one["tcp"]) for one in scenario["arrivals"]]
    for flow, tcp in named:
        control = tcp and tcp["congestion_control"]
        if isinstance(control, dict):
            yield flow, control["plugin"]


def _told(run: Run, ended: EndedError) -> str:
    """Sentence about a process that ended in a run."""
    users, where = list(_users(json.loads(run.scenario))), ended.where
    names = sorted({facts["name"] for _, facts in users})
    at = f"at {where.at_ns / 1e9:.6f} s"
    if where.inside and where.flow < len(users):
        flow, facts = users[where.flow]
        return f"plug-in {facts['name']}, flow {flow}, {at}: {ended.reason}"
    return f"plug-in {' or '.join(names)}, {at}: {ended.reason}"
