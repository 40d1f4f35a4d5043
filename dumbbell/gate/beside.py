"""What another engine says of the quantities that fail a gate: the same cells, fewer repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell.gate.gate import Measured, Outcome, run_gate
from dumbbell.gate.queues import QueueSide
from dumbbell.gate.sides import Side, StoreSide
from dumbbell.gate.verdict import Quantity

#: Repeats on the other engine: a kernel takes a second for a run.
REPEATS = 6


#: Name of an experiment, and the level of each factor.
Cell = tuple[str, Mapping[str, str]]


def judged_beside(
    outcome: Outcome,
    suite: Mapping[str, Mapping[str, Any]],
    engine: str,
    store: Path,
    *,
    tolerance: float,
    workers: int | None = None,
    cells: Sequence[Cell] | None = None,
    measured: Mapping[str, Measured] | None = None,
) -> dict[tuple[str, tuple[str, ...]], Quantity]:
    """Quantities of cells on another engine, by experiment and key.

    Args:
        outcome: Result of a gate.
        suite: Contents of its experiments by name.
        engine: The other engine. A side that names its own engine keeps it.
        store: Folder for the stores.
        tolerance: As of the gate.
        workers: Runs at once; None: one per processor.
        cells: What is run; None: the cells with a failure.
        measured: As of the gate.
    """
    base, new = (_on(side, engine) for side in (outcome.base, outcome.new))
    found: dict[tuple[str, tuple[str, ...]], Quantity] = {}
    for part, levels in failing(outcome) if cells is None else cells:
        cell = {part: suite[part]}
        there = run_gate(
            base, new, cell, store, tolerance=tolerance, looks=(REPEATS,), workers=workers,
            levels=levels, measured=measured,
        )  # fmt: skip
        found |= {(one.part, one.sample.key): one for one in there.quantities}
    return found


def _on(side: Side | QueueSide | StoreSide, engine: str) -> Side | QueueSide:
    """A side on the other engine. Raises `TypeError` for a store, which nothing runs."""
    if isinstance(side, StoreSide):
        raise TypeError(f"{side.name} is a store")
    return side if side.names_engine else replace(side, engine=engine)


def failing(outcome: Outcome) -> list[Cell]:
    """Cells with a quantity that fails, each once."""
    cells = {
        (one.part, *one.sample.levels.items()): one.sample.levels
        for one in outcome.quantities
        if not one.verdict.passes
    }
    return [(str(part), levels) for (part, *_), levels in cells.items()]
