"""Tables of docs/disciplines.md: `dumbbell study tables disciplines`.

The queue disciplines on the simulator and on the Linux kernel: six minutes on two cores.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

import dumbbell
from dumbbell.engines.linux.kernel import kernels
from dumbbell.studies.pages import Made, Runs, markdown

PAGE = "../../docs/disciplines.md"
#: The engine that is compared; and the measure of each file, the kernel that has its disciplines.
ENGINE = "sim"
KERNELS = {
    "grid.yaml": "linux",
    "tbf.yaml": "linux",
    "htb.yaml": "linux",
    "cake.yaml": "linux",
    "dualpi2.yaml": "linux:7.3",
}
BOTTLENECK = pl.col("pipe") == "bottleneck/forward"
#: Factors that name a cell.
CELL = ("discipline", "rate", "flows", "rtt")
#: Share of a run that is left out of the mean queue length: its start.
START = 0.2
#: Two means agree within this share of the kernel's.
CRITERION = 0.1
#: Fewer drops on the kernel than this are compared by number.
FEW_DROPS = 20
#: Letters of the page's causes by discipline and rate.
CAUSES = {
    ("bfifo", "2 Mbit/s"): "A",
    ("pie", "2 Mbit/s"): "B",
    ("dualpi2", "10 Mbit/s"): "C",
}


@dataclass(frozen=True)
class Quantity:
    """What is compared: column of the measured frame, words with unit, and the factor to it."""

    column: str
    label: str
    factor: float = 1.0


DELAY = Quantity("delay_s", "queueing delay (ms)", 1e3)
DROPS = Quantity("drops", "drops and marks")
THROUGHPUT = Quantity("throughput_bps", "throughput (Mbit/s)", 1e-6)
QUANTITIES = (DELAY, DROPS, THROUGHPUT)


@dataclass(frozen=True)
class Pair:
    """One quantity of one cell: a value per seed from the simulator and from the kernel.

    Attributes:
        cell: Levels of the factors in `CELL`.
        quantity: What is compared.
        ours: The simulator's values, in the unit of the quantity's column.
        theirs: The kernel's.
    """

    cell: tuple[str, ...]
    quantity: Quantity
    ours: list[float]
    theirs: list[float]

    @property
    def difference(self) -> float:
        """How far our mean is from the kernel's, as a share of the kernel's."""
        ours, theirs = statistics.fmean(self.ours), statistics.fmean(self.theirs)
        return (ours - theirs) / theirs if theirs else 0.0

    @property
    def few(self) -> bool:
        """Too few drops for a share to say anything."""
        return self.quantity is DROPS and statistics.fmean(self.theirs) < FEW_DROPS

    @property
    def close(self) -> bool:
        """Within the criterion."""
        if not self.few:
            return abs(self.difference) <= CRITERION
        spread = max(self.theirs) - min(self.theirs)
        apart = abs(statistics.fmean(self.ours) - statistics.fmean(self.theirs))
        return apart <= max(5.0, 2 * spread)

    @property
    def apart(self) -> bool:
        """Outside the criterion, and no seed of one engine lies among those of the other."""
        below, above = sorted((self.ours, self.theirs), key=min)
        return not self.close and max(below) < min(above)


def measured(results: dumbbell.Results) -> pl.DataFrame:
    """Delay, drops and throughput of each run.

    The delay is the mean number of queued packets over the packets that leave in a second (Little's
    law), which both engines know; drops and marks are those counted with the last sample.
    """
    end = pl.col("time_ns").max().over("run")
    queues = results.queues.filter(BOTTLENECK)
    queued = queues.filter(pl.col("time_ns") > START * end).group_by("run")
    marked = pl.col("marked_packets").clip(lower_bound=0)  # -1: unknown, where nothing marks
    signals = pl.col("dropped_packets") + marked
    last = queues.group_by("run").agg(drops=signals.sort_by("time_ns").last())
    left = results.pipes.filter(BOTTLENECK).select("run", *CELL, "repeat", "left_packets")
    carried = results.flows.group_by("run").agg(
        pl.col("delivered_bytes").sum(), end_s=pl.col("end_ns").max() / 1e9
    )
    frame = left.join(carried, "run").join(last, "run")
    frame = frame.join(queued.agg(pl.col("queued_packets").mean()), "run")
    levels = results.experiment.factors
    frame = frame.sort(*(pl.col(name).cast(pl.Enum(levels[name])) for name in CELL), "repeat")
    return frame.with_columns(
        delay_s=pl.col("queued_packets") / (pl.col("left_packets") / pl.col("end_s")),
        throughput_bps=8 * pl.col("delivered_bytes") / pl.col("end_s"),
    )


def run(runs: Runs, engines: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """All runs of the files, each on its engine."""
    found = (runs.experiment(name, engine) for name, engine in engines)
    return pl.concat([measured(results) for results in found])


def pairs(ours: pl.DataFrame, theirs: pl.DataFrame) -> Iterator[Pair]:
    """Every quantity of every cell, in the order of the files."""
    for cell in theirs.select(CELL).unique(maintain_order=True).iter_rows():
        same = pl.all_horizontal(
            pl.col(name) == level for name, level in zip(CELL, cell, strict=True)
        )
        of = [frame.filter(same).sort("repeat") for frame in (ours, theirs)]
        for quantity in QUANTITIES:
            first, second = (frame[quantity.column].cast(pl.Float64).to_list() for frame in of)
            yield Pair(cell, quantity, first, second)


def median(found: Sequence[Pair], quantity: Quantity) -> str:
    """Median over cells of the difference without sign; of how many, if some are left out."""
    of = [pair for pair in found if pair.quantity is quantity]
    counted = [abs(pair.difference) for pair in of if not pair.few]
    if not counted:
        return "–"
    of_fewer = f" ({len(counted)})" if len(counted) < len(of) else ""
    return f"{100 * statistics.median(counted):.1f} %{of_fewer}"


def summary(name: str, found: Sequence[Pair]) -> list[str]:
    """A row of the first table."""
    cells = len({pair.cell for pair in found})
    medians = (median(found, quantity) for quantity in QUANTITIES)
    close, apart = sum(pair.close for pair in found), sum(pair.apart for pair in found)
    return [name, str(cells), *medians, str(close), f"{apart} of {len(found)}"]


def number(value: float) -> str:
    """Three digits or a whole number; thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def values(pair: Pair, of: Sequence[float]) -> str:
    """The mean over seeds with the least and the greatest."""
    low, mean, high = (
        number(pair.quantity.factor * one) for one in (min(of), statistics.fmean(of), max(of))
    )
    return f"{mean} ({low} to {high})"


def cause(pair: Pair) -> str:
    """The letter of the page's list of causes; a question mark where it has none."""
    return CAUSES.get((pair.cell[0], pair.cell[1]), "?")


def row(pair: Pair) -> list[str]:
    """A row of the second table."""
    discipline, rate, flows, rtt = pair.cell
    where = f"{rate}, {flows} × {rtt}"
    numbers = (values(pair, pair.theirs), values(pair, pair.ours))
    apart = f"{100 * pair.difference:+.0f} %"
    return [discipline, where, pair.quantity.label, *numbers, apart, cause(pair)]


def tables(runs: Runs) -> Iterator[Made]:
    """Both tables of the page, if all kernels are there."""
    built = {f"linux:{kernel.name}" for kernel in kernels()} | {"linux"}
    if not runs.allows(ENGINE, "linux") or not built.issuperset(KERNELS.values()):
        return
    ours = run(runs, [(name, ENGINE) for name in KERNELS])
    theirs = run(runs, KERNELS.items())
    found = list(pairs(ours, theirs))
    names = dict.fromkeys(pair.cell[0] for pair in found)
    heads = ["discipline", "cells", "delay", "drops and marks", "throughput", "close", "apart"]
    rows = [summary(name, [pair for pair in found if pair.cell[0] == name]) for name in names]
    yield PAGE, "medians", markdown(heads, [*rows, summary("**all**", found)])
    apart = [pair for pair in found if pair.apart]
    apart.sort(key=lambda pair: -abs(pair.difference))
    heads = ["discipline", "cell", "quantity", "kernel", "simulator", "difference", "cause"]
    yield PAGE, "apart", markdown(heads, map(row, apart))
