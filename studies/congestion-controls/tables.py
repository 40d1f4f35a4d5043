"""Tables of docs/congestion-controls.md: `dumbbell study tables congestion-controls`.

Every congestion control that Linux has, on the simulator and on the kernel; the others alone, in
`without_kernel.py`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import without_kernel

import dumbbell
from dumbbell.catalogue import congestion_controls
from dumbbell.engines.linux.kernel import kernels
from dumbbell.experiment.load import Overrides
from dumbbell.studies.pages import Made, Runs, markdown

PAGE = "../../docs/congestion-controls.md"
#: The engine that is compared, and the measure.
ENGINES = ("sim", "linux")
#: Files of the experiments, and words about their cells.
FILES = {
    "alone.yaml": "",
    "beside-cubic.yaml": ", beside CUBIC",
    "marking.yaml": ", beside its like",
}
#: Kernel with the patch of BBR v3, and what to run there.
BBR3 = "bbr3"
BBR3_FILES = {name: FILES[name] for name in ("alone.yaml", "beside-cubic.yaml")}
BBR3_CHOSEN = {"cc": "bbr3", "hosts.defaults.profile": "linux-6.12"}
#: Kernel with the patch of Prague, and what to run there.
PRAGUE = "prague"
PRAGUE_FILES = {"l4s.yaml": ", beside its like", "l4s-beside-cubic.yaml": ", beside CUBIC"}
#: Algorithms that draw random numbers, over more seeds.
RANDOM = {"cc": ["nv", "cdg", "lp"], "repeats": 10}
RANDOM_FILES = BBR3_FILES
#: Factors that name a cell, after the words of its file.
FACTORS = ("cc", "rate", "rtt", "queue")
CELL = (*FACTORS, "beside")


@dataclass(frozen=True)
class Quantity:
    """Quantity that is compared, and its tolerance.

    Attributes:
        column: Column of the measured frame.
        label: Words with unit.
        share: Tolerance as a share of the kernel's mean.
        units: Tolerance in units; the wider of both holds.
    """

    column: str
    label: str
    share: float
    units: float = 0.0


GOODPUT = Quantity("goodput_mbps", "goodput (Mbit/s)", 0.05)
RTT = Quantity("rtt_ms", "mean RTT (ms)", 0.10)
AGAIN = Quantity("retransmitted_packets", "retransmissions", 0.25, 20)
MARKS = Quantity("marked_packets", "marks", 0.25, 20)
QUANTITIES = (GOODPUT, RTT, AGAIN, MARKS)


@dataclass(frozen=True)
class Pair:
    """One quantity of the flow in one cell, a value per seed from either engine."""

    cell: tuple[str, ...]
    quantity: Quantity
    ours: list[float]
    theirs: list[float]

    @property
    def means(self) -> tuple[float, float]:
        """Means over seeds, ours first."""
        return statistics.fmean(self.ours), statistics.fmean(self.theirs)

    @property
    def difference(self) -> float:
        """How far our mean is from the kernel's, as a share of the kernel's."""
        ours, theirs = self.means
        return (ours - theirs) / theirs if theirs else 0.0

    @property
    def few(self) -> bool:
        """Too few retransmissions for a share to say anything."""
        return self.means[1] < self.quantity.units

    @property
    def close(self) -> bool:
        """Within the tolerance, or among the kernel's seeds."""
        ours, theirs = self.means
        allowed = max(self.quantity.share * theirs, self.quantity.units)
        return abs(ours - theirs) <= allowed or min(self.theirs) <= ours <= max(self.theirs)


def measured(results: dumbbell.Results, beside: str) -> pl.DataFrame:
    """Goodput, mean RTT and retransmissions of the flow in each run, marks of its queue."""
    levels = results.experiment.factors
    active_s = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    marks = results.pipes.filter(pl.col("pipe") == "bottleneck/forward")
    own = results.flows.filter(pl.col("flow") == "own")
    frame = own.join(marks.select("run", "marked_packets"), "run").with_columns(
        goodput_mbps=8e-6 * pl.col("delivered_bytes") / active_s,
        rtt_ms=pl.col("srtt_mean_ns") / 1e6,
        beside=pl.lit(beside),
    )
    by = [pl.col(name).cast(pl.Enum(levels[name])) for name in FACTORS]
    columns = [*CELL, "repeat", *(one.column for one in QUANTITIES)]
    return frame.sort(*by, "repeat").select(columns)


def run(
    runs: Runs,
    engine: str,
    files: Mapping[str, str] = FILES,
    chosen: Overrides | None = None,
) -> pl.DataFrame:
    """All runs of one engine."""
    found = [measured(runs.experiment(name, engine, chosen), files[name]) for name in files]
    return pl.concat(found)


def pairs(ours: pl.DataFrame, theirs: pl.DataFrame) -> Iterator[Pair]:
    """Every quantity of every cell, in the order of the file."""
    for cell in theirs.select(CELL).unique(maintain_order=True).iter_rows():
        same = pl.all_horizontal(
            pl.col(name) == level for name, level in zip(CELL, cell, strict=True)
        )
        of = [frame.filter(same).sort("repeat") for frame in (ours, theirs)]
        for quantity in QUANTITIES:
            first, second = (frame[quantity.column].cast(pl.Float64).to_list() for frame in of)
            if quantity is not MARKS or any((*first, *second)):
                yield Pair(cell, quantity, first, second)


def spread(found: Sequence[Pair], quantity: Quantity) -> str:
    """Median and 90th percentile over cells of the difference without sign."""
    of = [pair for pair in found if pair.quantity is quantity and not pair.few]
    if not of:
        return ""
    differences = pl.Series([100 * abs(pair.difference) for pair in of])
    median, high = (differences.quantile(share, "linear") for share in (0.5, 0.9))
    fewer = f" ({len(of)})" if len(of) < len({pair.cell for pair in found}) else ""
    return f"{median:.1f} / {high:.1f} %{fewer}"


def summary(name: str, found: Sequence[Pair]) -> list[str]:
    """A row of the first table."""
    cells = len({pair.cell for pair in found})
    close = sum(pair.close for pair in found)
    columns = [spread(found, quantity) for quantity in QUANTITIES]
    return [name, str(cells), *columns, f"{close} of {len(found)}"]


def number(value: float) -> str:
    """Three digits or a whole number; thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def values(of: Sequence[float]) -> str:
    """The mean over seeds with the least and the greatest."""
    low, mean, high = (number(one) for one in (min(of), statistics.fmean(of), max(of)))
    return f"{mean} ({low} to {high})"


def row(pair: Pair) -> list[str]:
    """A row of the second table."""
    name, rate, rtt, queue, beside = pair.cell
    where = f"{rate}, {rtt}, {queue}{beside}"
    apart = f"{100 * pair.difference:+.0f} %"
    title = congestion_controls()[name].title
    return [title, where, pair.quantity.label, values(pair.theirs), values(pair.ours), apart]


def tables(runs: Runs) -> Iterator[Made]:
    """The tables of the page; those of BBR v3 and Prague if their kernels are there."""
    yield PAGE, "alone", without_kernel.alone(runs)
    yield PAGE, "shares", without_kernel.shares(runs)
    if not runs.allows(*ENGINES):
        return
    medians, apart = compared(runs, ENGINES, FILES)
    yield PAGE, "medians", medians
    yield PAGE, "apart", apart
    medians, apart = compared(runs, ENGINES, RANDOM_FILES, RANDOM)
    yield PAGE, "medians-random", medians
    yield PAGE, "apart-random", apart
    if BBR3 in {kernel.name for kernel in kernels()}:
        engines = ("sim", f"linux:{BBR3}")
        medians, apart = compared(runs, engines, BBR3_FILES, BBR3_CHOSEN)
        yield PAGE, "medians-bbr3", medians
        yield PAGE, "apart-bbr3", apart
    if PRAGUE in {kernel.name for kernel in kernels()}:
        medians, apart = compared(runs, ("sim", f"linux:{PRAGUE}"), PRAGUE_FILES)
        yield PAGE, "medians-prague", medians
        yield PAGE, "apart-prague", apart


def compared(
    runs: Runs,
    engines: Sequence[str],
    files: Mapping[str, str],
    chosen: Overrides | None = None,
) -> tuple[list[str], list[str]]:
    """Tables of medians per algorithm, and of the quantities that are not close."""
    ours, theirs = (run(runs, engine, files, chosen) for engine in engines)
    found = list(pairs(ours, theirs))
    heads = ["algorithm", "cells", "goodput", "mean RTT", "retransmissions", "marks", "close"]
    rows = []
    algorithms = list(dict.fromkeys(pair.cell[0] for pair in found))
    for name in algorithms:
        title = congestion_controls()[name].title
        rows.append(summary(title, [pair for pair in found if pair.cell[0] == name]))
    if len(algorithms) > 1:
        rows.append(summary("**all**", found))
    medians = markdown(heads, rows)
    apart = sorted((pair for pair in found if not pair.close), key=lambda one: -abs(one.difference))
    heads = ["algorithm", "cell", "quantity", "kernel", "simulator", "difference"]
    return medians, markdown(heads, map(row, apart))
