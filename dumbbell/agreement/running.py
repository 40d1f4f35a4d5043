"""Runs drawn cells on the simulator and on a kernel, and compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.agreement.cells import Cell
from dumbbell.agreement.experiments import SEEDS, experiments
from dumbbell.agreement.kinds import draw_cells
from dumbbell.agreement.verdict import Compared, Verdict, compare_tables

#: Seeds of a cell in which chance decides, before it is known that more are needed.
FEW_SEEDS = 6
#: Kernel → profile of the hosts. Others have that of the default kernel.
_PROFILES = {"linux:7.3": "linux-7.3", "linux:6.1": "linux-6.1"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """All comparisons.

    Attributes:
        seed: Seed of the cells.
        engine: The kernel's engine.
        cells: What was drawn.
        compared: By cell, flow and quantity, in the order of the cells.
        versions: Of the simulator and of the kernel.
    """

    seed: int
    engine: str
    cells: list[Cell]
    compared: list[Compared]
    versions: tuple[str, str]

    @property
    def outside(self) -> list[Compared]:
        """Comparisons that do not agree, the largest difference first."""
        apart = [one for one in self.compared if not one.verdict.agrees]
        return sorted(apart, key=lambda one: -abs(one.difference))


@dataclass(frozen=True, slots=True)
class _Engines:
    kernel: str
    store: Path
    workers: int | None

    def run(self, file: Mapping[str, Any]) -> tuple[dumbbell.Results, dumbbell.Results]:
        """An experiment on the simulator and on the kernel."""
        ours, kernel = (
            dumbbell.run(file, engine=engine, store=self.store, workers=self.workers)
            for engine in ("sim", self.kernel)
        )
        return ours, kernel


def compare_drawn(
    count: int,
    seed: int = 1,
    *,
    engine: str = "linux:7.3",
    store: Path,
    workers: int | None = None,
) -> Drawn:
    """Draws cells, runs them on both engines and compares them.

    Args:
        count: Number of cells.
        seed: Seed of the cells. The seeds of the runs are 1 to 24.
        engine, store, workers: As of `compare_cells`.

    Raises:
        EngineError: The kernel is not built.
        ValueError: There is no cell.
    """
    from dumbbell.engines import engine_named

    engine_named(engine)
    return compare_cells(draw_cells(count, seed), seed, engine=engine, store=store, workers=workers)


def compare_cells(
    cells: list[Cell],
    seed: int,
    *,
    engine: str,
    store: Path,
    workers: int | None = None,
) -> Drawn:
    """Runs cells on both engines and compares them.

    A cell in which chance decides has 6 seeds, and 24 if a quantity is farther apart than its aim;
    one without chance has one run. A cell that is outside is run with jitter, too.

    Args:
        cells: What is run.
        seed: Seed with which they were drawn.
        engine: The kernel.
        store: Folder that keeps the runs.
        workers: Runs at once; None: one per processor.
    """
    engines = _Engines(engine, store, workers)
    profile = _PROFILES.get(engine, "linux-6.12")
    found: dict[tuple[str, str, str], Compared] = {}
    versions = ("", "")
    for file in experiments(cells, profile, FEW_SEEDS).values():
        ours, kernel = engines.run(file)
        versions = _version(ours), _version(kernel)
        found |= {one.key: one for one in compare_tables(_by_name(cells), ours, kernel)}
    again = _apart(found, Verdict.CHANCE, Verdict.OUTSIDE)
    for file in experiments([cell for cell in again if cell.is_random], profile, SEEDS).values():
        found |= {one.key: one for one in compare_tables(_by_name(again), *engines.run(file))}
    once_more = [cell.with_jitter for cell in _apart(found, Verdict.OUTSIDE)]
    for file in experiments(once_more, profile, SEEDS).values():
        for jittered in compare_tables(_by_name(once_more), *engines.run(file)):
            if jittered.key in found and not found[jittered.key].verdict.agrees:
                found[jittered.key] = found[jittered.key].beside(jittered)
    in_order = sorted(found.values(), key=lambda one: one.cell.number)
    return Drawn(seed, engine, cells, in_order, versions)


def _apart(found: Mapping[Any, Compared], *verdicts: Verdict) -> list[Cell]:
    """Cells with such a verdict, each once."""
    cells = {one.cell.number: one.cell for one in found.values() if one.verdict in verdicts}
    return list(cells.values())


def _by_name(cells: Iterable[Cell]) -> dict[str, Cell]:
    return {cell.name: cell for cell in cells}


def _version(results: dumbbell.Results) -> str:
    return str(results.runs["engine_version"][0])
