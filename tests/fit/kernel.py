"""Captures of drawn cases on a real kernel."""

from __future__ import annotations

from dumbbell import _core
from dumbbell.engines import engine_named
from dumbbell.experiment.load import load
from dumbbell.runs import Run
from tests.fit.cases import Case


def captured_on(case: Case, engine: str) -> bytes:
    """Capture of a case on an engine, as `linux:7.3`."""
    chosen = engine_named(engine)
    cell = load(case.experiment).cells[0]
    run = Run("fit", cell.scenario, case.seed, cell.duration_ns)
    found = chosen.execute(run, _core.Monitor())
    if found.capture is None:
        raise AssertionError("no capture")
    return found.capture
