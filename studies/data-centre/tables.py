"""Table of docs/data-centre.md: `dumbbell study tables data-centre`.

N servers answer one client at once, on the simulator and on the Linux kernel.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import polars as pl

import dumbbell
from dumbbell.studies.pages import Made, Runs, markdown

PAGE = "../../docs/data-centre.md"
FILE = "grid.yaml"
ENGINES = ("sim", "linux")
#: Factors that name a cell.
CELL = ("cc", "rate", "rtt", "senders", "queue")
#: Student's t for 99 % and two times 24 seeds (46 degrees of freedom).
STUDENT = 2.69
#: Two means are close within this share of the kernel's, too.
CRITERION = 0.02
#: A flow that takes longer had a time-out: no path queues as long as the least RTO of Linux.
RTO_MIN_MS = 200.0


@dataclass(frozen=True)
class Quantity:
    """What is compared: column of the measured frame, words with unit, decimals."""

    column: str
    label: str
    decimals: int


QUANTITIES = (
    Quantity("flow_ms", "median completion time (ms)", 2),
    Quantity("timed_out", "share of runs with a time-out", 2),
    Quantity("retransmitted", "retransmissions", 1),
)


def measured(results: dumbbell.Results) -> pl.DataFrame:
    """The quantities of each run."""
    took = (pl.col("end_ns") - pl.col("start_ns")) / 1e6
    return results.flows.group_by("run", *CELL, "repeat", maintain_order=True).agg(
        flow_ms=took.median(),
        timed_out=(took > RTO_MIN_MS).any().cast(pl.Float64),
        retransmitted=pl.col("retransmitted_packets").sum().cast(pl.Float64),
    )


def interval(values: Sequence[float]) -> float:
    """Half the 99 % interval of the mean."""
    return STUDENT * statistics.stdev(values) / sqrt(len(values))


def is_close(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Returns true if the means differ by less than their intervals, or by less than 2 %."""
    apart = abs(statistics.fmean(ours) - statistics.fmean(theirs))
    within = sqrt(interval(ours) ** 2 + interval(theirs) ** 2)
    return apart <= max(within, CRITERION * statistics.fmean(theirs))


def rows(ours: pl.DataFrame, theirs: pl.DataFrame) -> Iterator[list[str]]:
    """A row per cell and quantity."""
    for cell in theirs.select(CELL).unique(maintain_order=True).iter_rows():
        here = pl.all_horizontal(
            pl.col(name) == level for name, level in zip(CELL, cell, strict=True)
        )
        for quantity in QUANTITIES:
            values = [frame.filter(here)[quantity.column].to_list() for frame in (theirs, ours)]
            shown = [
                f"{statistics.fmean(one):.{quantity.decimals}f} ± "
                f"{interval(one):.{quantity.decimals}f}"
                for one in values
            ]
            close = "yes" if is_close(values[1], values[0]) else "**no**"
            yield [*cell, quantity.label, *shown, close]


def tables(runs: Runs) -> Iterator[Made]:
    """The table of the page."""
    if not runs.allows(*ENGINES):
        return
    ours, theirs = (measured(runs.experiment(FILE, engine)) for engine in ENGINES)
    heads = ["control", "rate", "base RTT", "servers", "queue", "quantity", "kernel", "simulator"]
    yield PAGE, "incast", markdown([*heads, "close"], rows(ours, theirs))
