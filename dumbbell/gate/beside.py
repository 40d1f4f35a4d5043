"""What another engine says of the quantities that fail a gate: the same cells, fewer repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell.gate.gate import Outcome, run_gate
from dumbbell.gate.verdict import Quantity

#: Repeats on the other engine: a kernel takes a second for a run.
REPEATS = 6


def judged_beside(
    outcome: Outcome,
    suite: Mapping[str, Mapping[str, Any]],
    engine: str,
    store: Path,
    *,
    tolerance: float,
    workers: int | None = None,
) -> dict[tuple[str, tuple[str, ...]], Quantity]:
    """Quantities of the cells with a failure on another engine, by experiment and key.

    Args:
        outcome: Result of a gate.
        suite: Contents of its experiments by name.
        engine: The other engine. A side that names its own engine keeps it.
        store: Folder for the stores.
        tolerance: As of the gate.
        workers: Runs at once; None: one per processor.
    """
    base, new = (
        side if side.names_engine else replace(side, engine=engine)
        for side in (outcome.base, outcome.new)
    )
    found: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    for part, levels in _cells(outcome):
        cell = {part: suite[part]}
        there = run_gate(
            base, new, cell, store, tolerance=tolerance, looks=(REPEATS,), workers=workers,
            levels=levels,
        )  # fmt: skip
        found |= {(one.part, one.sample.key): one for one in there.quantities}
    return found


def _cells(outcome: Outcome) -> list[tuple[str, dict[str, str]]]:
    """Cells with a quantity that fails, each once."""
    cells = {
        (one.part, *one.sample.levels.items()): one.sample.levels
        for one in outcome.quantities
        if not one.verdict.passes
    }
    return [(str(part), levels) for (part, *_), levels in cells.items()]
