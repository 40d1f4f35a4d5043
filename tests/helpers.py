"""What several tests share: small experiments, and an engine that needs no simulator."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell import _core
from dumbbell.catalogue import Traffic, traffic_kinds
from dumbbell.engines import Monitor, Run, RunResult
from dumbbell.engines.preflight import Concern
from dumbbell.errors import ExperimentError
from dumbbell.experiment import Experiment, load_text
from dumbbell.store.tables import table_schemas

ROOT = Path(__file__).parent.parent
BASE = """\
dumbbell: 1
name: two flows
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: cubic}
  - {from: s2, to: d2, tcp: bbr, start: 5 s}
duration: 100 s
"""


def loaded(text: str, **options: Any) -> Experiment:
    """An experiment from its text."""
    return load_text(text, Path("e.yaml"), **options)


def scenario(text: str, cell: int = 0) -> dict[str, Any]:
    """The scenario of a cell."""
    found: dict[str, Any] = json.loads(loaded(text).cells[cell].scenario)
    return found


def message(text: str, **options: Any) -> str:
    """The message about a text that is wrong."""
    with pytest.raises(ExperimentError) as raised:
        loaded(text, **options)
    return str(raised.value)


def size(path: Path) -> int:
    """Bytes of a file, 0 if it is gone: a store that is written to folds its journals away."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def stream(table: str, rows: list[dict[str, Any]]) -> bytes:
    """A result table as an engine gives it; columns not named are filled."""
    fill = {pl.Int64(): -1, pl.Float64(): float("nan"), pl.String(): ""}
    schema = table_schemas()[table]
    full = [{name: row.get(name, fill[kind]) for name, kind in schema.items()} for row in rows]
    buffer = io.BytesIO()
    pl.DataFrame(full, schema=schema).write_ipc_stream(buffer)
    return buffer.getvalue()


class FakeEngine:
    """Gives tables that follow from scenario and seed, after `wait_s`."""

    name = "fake"

    def __init__(self, version: str = "1", wait_s: float = 0.0) -> None:
        self.version = version
        self.wait_s = wait_s
        self.executed: list[str] = []
        self.fail: Callable[[Run], Exception | None] = lambda run: None
        self._lock = threading.Lock()

    workers_max = None
    repeatable = True

    def begin(self) -> list[str]:
        return []

    def concerns(self, scenario: str) -> list[Concern]:
        return []

    def check(self, scenario: str) -> None:
        pass

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """See :class:`dumbbell.engines.Engine`."""
        until = time.monotonic() + self.wait_s
        while time.monotonic() < until:
            if monitor.cancelled:
                raise _core.Cancelled("cancelled")
            time.sleep(0.002)
        error = self.fail(run)
        if error is not None:
            raise error
        with self._lock:
            self.executed.append(run.id)
        digest = hashlib.sha256(f"{run.scenario}{run.seed}".encode()).hexdigest()
        flows = [flow["name"] for flow in json.loads(run.scenario)["flows"]]
        kept = json.loads(run.scenario)["sampling"]["samples"]
        tables = {
            "flows": stream("flows", [{"flow": f, "delivered_bytes": run.seed} for f in flows]),
            "pipes": stream("pipes", [{"pipe": "bottleneck/forward"}]),
            "transfers": stream("transfers", []),
            "samples": stream("samples", [{"time_ns": t} for t in range(3)] if kept else []),
            "queues": stream("queues", []),
            "drops": stream("drops", []),
            "packets": stream("packets", []),
        }
        return RunResult(tables, digest, 0.0, 7, 9)


def simulated(files: Iterable[Path]) -> list[Path]:
    """The experiment files that the simulator runs: those without programs."""
    return [file for file in files if not re.search(r"^programs:", file.read_text(), re.MULTILINE)]


#: Kinds of traffic with parameters in the catalogue, by name.
KINDS = {name: one for name, one in traffic_kinds().items() if one.parameters}


def spec_name(kind: Traffic) -> str:
    """Name of a kind of traffic in the JSON Schema."""
    return f"{kind.name.title().replace('_', '')}Spec"
