"""Three seeds of one kernel beside three others: `python studies/multipath/seeds.py STORE`.

Runs study 1's part `delay`, set up as `kernel.csv` was, with 24 seeds on the engine linux (half an
hour on two cores; what the store holds is not run again), and writes the table `seeds` of
docs/agreement.md: in how many of its 40 cells the mean RTT is within 5 %, over 4000 draws of three
seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from tables import FOLDER, KERNEL, LAYOUT, PAGE

import dumbbell
from dumbbell.compare.agreement import read_reference
from dumbbell.execution import use_progress
from dumbbell.execution.bar import progress_on
from dumbbell.metrics import METRICS
from dumbbell.studies.pages import renewed
from dumbbell.studies.reference import plain

#: One that no other run has: kernel-rebuilt.csv begins at 1.
SEED, SEEDS, DRAWS = 500, 24, 4000
WITHIN = 0.05

Cells = dict[tuple[str, str], np.ndarray]


def kernel() -> Cells:
    """Mean RTTs of `kernel.csv` by delay and algorithm, one per seed."""
    return {
        (key[2], key[4]): np.array(values["1", "rtt_mean_ms"])
        for key, values in read_reference(KERNEL, LAYOUT).items()
        if key[0] == "delay"
    }


def ours(store: Path) -> Cells:
    """The same from the engine, of many seeds."""
    file = FOLDER / "agreement" / "delay.yaml"
    with use_progress(progress_on(Console(stderr=True))):
        results = dumbbell.run(file, engine="linux", store=store, repeats=SEEDS, seed=SEED)
    found: dict[tuple[str, str], list[float]] = {}
    for row in METRICS["rtt_mean_ms"].measure(results).sort("repeat").iter_rows(named=True):
        found.setdefault((plain(row["delay"]), row["cc"]), []).append(row["value"])
    return {cell: np.array(values) for cell, values in found.items()}


def close(left: Cells, right: Cells) -> int:
    """Cells whose means are within the tolerance."""
    return sum(abs(left[cell].mean() / right[cell].mean() - 1) <= WITHIN for cell in left)


def chosen(cells: Cells, seeds: np.ndarray) -> Cells:
    """Some of the seeds: one draw for all cells, since a seed decides when the kernel uses ARP."""
    return {cell: values[seeds] for cell, values in cells.items()}


def row(words: str, counts: list[int], cells: int) -> str:
    """Median, range and how often all cells are close."""
    every = 100 * sum(count == cells for count in counts) / len(counts)
    return f"| {words} | {np.median(counts):.0f} | {min(counts)} to {max(counts)} | {every:.0f} % |"


def table(engine: Cells, reference: Cells) -> Iterator[str]:
    """The rows, with the draws behind them."""
    random = np.random.default_rng(1)
    draws = [random.permutation(SEEDS) for _ in range(DRAWS)]
    each = {
        "three seeds and three others": [
            close(chosen(engine, draw[:3]), chosen(engine, draw[3:6])) for draw in draws
        ],
        "three seeds and all the others": [
            close(chosen(engine, draw[:3]), chosen(engine, draw[3:])) for draw in draws
        ],
        "three seeds and `kernel.csv`": [
            close(chosen(engine, draw[:3]), reference) for draw in draws
        ],
        "all seeds and `kernel.csv`": [close(engine, reference)],
    }
    yield f"| mean RTT within 5 %, of {len(engine)} cells | median | range | in all cells |"
    yield "| --- | --- | --- | --- |"
    yield from (row(words, counts, len(engine)) for words, counts in each.items())


def main(store: Path) -> None:
    """Runs what the store lacks, and writes the page."""
    reference = kernel()
    engine = ours(store)
    console = Console(highlight=False)
    if engine.keys() != reference.keys():
        raise SystemExit(f"cells differ: {sorted(engine.keys() ^ reference.keys())}")
    for cell, values in sorted(engine.items(), key=lambda one: (one[0][1], float(one[0][0]))):
        console.print(
            f"{cell[1]:>6} {cell[0]:>4} ms: {values.mean():7.2f} ± {values.std(ddof=1):5.2f} "
            f"[{values.min():.2f}, {values.max():.2f}], kernel.csv {reference[cell].mean():7.2f}"
        )
    page = FOLDER / PAGE
    text = page.read_text(encoding="utf-8")
    lines = list(table(engine, reference))
    page.write_text(renewed(text, "seeds", lines, str(page)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
