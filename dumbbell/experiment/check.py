"""Check of all cells of an experiment file; many cells are checked on all processors."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.experiment.load import Opened

#: Minimum number of cells for several processes.
LEAST = 2000
#: Parts per process. More parts report progress more often, and read shared sections more often.
PARTS = 4


@dataclass(frozen=True)
class Checked:
    """Summary of checked cells.

    Attributes:
        cells: Number of cells.
        duration_ns: Sum of their virtual times, one repeat of each.
        flows: Names of all flows.
    """

    cells: int
    duration_ns: int
    flows: frozenset[str]


def check_cells(experiment: Opened) -> Iterator[Checked]:
    """Checks cells in order, part by part. Raises `ExperimentError` for the first bad one."""
    processors = len(os.sched_getaffinity(0))
    each = max(LEAST, -(-experiment.count // (PARTS * processors)))
    parts = [
        (begin, min(begin + each, experiment.count)) for begin in range(0, experiment.count, each)
    ]
    workers = min(len(parts), processors)
    if workers < 2:
        for begin, end in parts:
            yield _part(experiment, begin, end)
        return
    # Spawned, not forked: this process may have threads.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        text, file = experiment.info.yaml, experiment.file
        futures = [pool.submit(_elsewhere, text, file, begin, end) for begin, end in parts]
        try:
            for future, (begin, end) in zip(futures, parts, strict=True):
                found = future.result()
                # Read in this process, the cell is refused again, with line and field.
                yield _part(experiment, begin, end) if found is None else found
        finally:
            pool.shutdown(cancel_futures=True)


def _part(experiment: Opened, begin: int, end: int) -> Checked:
    duration_ns, flows = 0, set[str]()
    # Shared parts stay alive, and the collector would traverse them repeatedly: a third of the
    # time. Cells leave no cycles.
    collected = gc.isenabled()
    gc.disable()
    try:
        for cell in experiment.cells(begin, end):
            duration_ns += cell.duration_ns
            flows |= cell.rtt_ns.keys()
    finally:
        if collected:
            gc.enable()
    return Checked(end - begin, duration_ns, frozenset(flows))


@lru_cache(maxsize=1)
def _opened(text: str, file: str) -> Opened:
    return Opened(text, Path(file))


def _elsewhere(text: str, file: str, begin: int, end: int) -> Checked | None:
    """Summary of cells, computed in another process; None: a cell is refused."""
    try:
        return _part(_opened(text, file), begin, end)
    except ExperimentError:
        return None
