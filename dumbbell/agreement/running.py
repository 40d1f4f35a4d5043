"""Runs drawn cells on the simulator and on a kernel, and compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.agreement.cells import Cell
from dumbbell.agreement.experiments import SEEDS, experiments, neighbours
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
    count: int, seed: int = 1, *, engine: str = "linux:7.3", store: Path,
    workers: int | None = None,
) -> Drawn:  # fmt: skip
    """Draws cells, runs them on both engines and compares them.

    A cell in which chance decides has 6 seeds, and 24 if a quantity is farther apart than its aim.
    One without chance has one run; if a quantity is outside, it is run with 23 neighbours.

    Args:
        count: Number of cells.
        seed: Seed of the cells. The seeds of the runs are 1 to 24.
        engine: The kernel.
        store: Folder that keeps the runs.
        workers: Runs at once; None: one per processor.

    Raises:
        EngineError: The kernel is not built.
        ValueError: There is no cell.
    """
    from dumbbell.engines import engine_named

    engine_named(engine)
    cells = draw_cells(count, seed)
    engines = _Engines(engine, store, workers)
    profile = _PROFILES.get(engine, "linux-6.12")
    found: dict[tuple[str, str, str], Compared] = {}
    versions = ("", "")
    for file in experiments(cells, profile, FEW_SEEDS).values():
        ours, kernel = engines.run(file)
        versions = _version(ours), _version(kernel)
        found |= {one.key: one for one in compare_tables(_by_name(cells), ours, kernel)}
    apart = {
        one.cell.number: one.cell
        for one in found.values()
        if one.verdict in (Verdict.CHANCE, Verdict.OUTSIDE)
    }
    again = [cell for cell in apart.values() if cell.is_random]
    for file in experiments(again, profile, SEEDS).values():
        found |= {one.key: one for one in compare_tables(_by_name(again), *engines.run(file))}
    once = [cell for cell in apart.values() if not cell.is_random]
    for file in neighbours(once, profile).values():
        for near in compare_tables(_by_name(once), *engines.run(file)):
            if near.key in found and not found[near.key].verdict.agrees:
                found[near.key] = found[near.key].with_neighbours(near)
    in_order = sorted(found.values(), key=lambda one: one.cell.number)
    return Drawn(seed, engine, cells, in_order, versions)


def _by_name(cells: Iterable[Cell]) -> dict[str, Cell]:
    return {cell.name: cell for cell in cells}


def _version(results: dumbbell.Results) -> str:
    return str(results.runs["engine_version"][0])
