"""Comparison of the two engines, by cell, congestion control and quantity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import polars as pl

from dumbbell.agreement.cells import Cell
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.statistics import SEED, draws_of_mean, percentiles


@dataclass(frozen=True, slots=True)
class Quantity:
    """A compared metric.

    Attributes:
        metric: Name of the metric.
        label: Name in tables.
        median, most: Aim for the median and for 95 % of the differences, as shares.
        least: Differences are shares of the kernel's value, or of this value if it is larger.
    """

    metric: str
    label: str
    median: float
    most: float
    least: float = 0.0


#: What is compared. Twenty retransmissions are the smallest number of which a share is taken.
QUANTITIES = (
    Quantity("goodput_mbps", "goodput", 0.01, 0.05),
    Quantity("rtt_mean_ms", "mean RTT", 0.02, 0.10),
    Quantity("retransmissions_at_tap", "retransmissions", 0.10, 0.25, least=20.0),
)


class Verdict(Enum):
    """How the engines compare in one quantity.

    - `EQUAL`: equal in every run.
    - `CLOSE`: within the aim for 95 %.
    - `CHANCE`: farther apart, but the difference of the means over the seeds may be 0.
    - `PHASE`: farther apart, but close or by chance if ACKs have jitter (`Cell.with_jitter`).
    - `OUTSIDE`: none of these.
    """

    EQUAL = "equal"
    CLOSE = "close"
    CHANCE = "chance"
    PHASE = "phase"
    OUTSIDE = "outside"

    @property
    def agrees(self) -> bool:
        """True for all but `OUTSIDE`."""
        return self is not Verdict.OUTSIDE


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity of the flows of one congestion control.

    Attributes:
        cell: Its cell.
        flows: Its flows: their congestion control, after their kind if that is not TCP.
        quantity: What is compared.
        ours, kernel: Value of each seed, or of the one run.
        verdict: How they compare.
        jittered: Comparison of the cell with jitter; None: there was no need.
    """

    cell: Cell
    flows: str
    quantity: Quantity
    ours: tuple[float, ...]
    kernel: tuple[float, ...]
    verdict: Verdict
    jittered: Compared | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Cell, flows and metric."""
        return self.cell.name, self.flows, self.quantity.metric

    def beside(self, jittered: Compared) -> Compared:
        """The comparison beside that of the cell with jitter."""
        verdict = Verdict.PHASE if jittered.verdict.agrees else Verdict.OUTSIDE
        return replace(self, jittered=jittered, verdict=verdict)

    @property
    def difference(self) -> float:
        """Difference of the means, as a share of the kernel's (see `Quantity.least`)."""
        return _difference(self.quantity, self.ours, self.kernel)


def compared(cell: Cell, flows: str, quantity: Quantity, ours: Sequence[float],
             kernel: Sequence[float]) -> Compared:  # fmt: skip
    """Compares the values of some seeds. Raises `ValueError` if a side has none."""
    if not ours or not kernel:
        raise ValueError("nothing to compare")
    mine, theirs = tuple(ours), tuple(kernel)
    return Compared(cell, flows, quantity, mine, theirs, _verdict(quantity, mine, theirs))


def _verdict(quantity: Quantity, ours: tuple[float, ...], kernel: tuple[float, ...]) -> Verdict:
    if ours == kernel:
        return Verdict.EQUAL
    if abs(_difference(quantity, ours, kernel)) <= quantity.most:
        return Verdict.CLOSE
    if min(len(ours), len(kernel)) > 1:
        # Both engines draw numbers of their own, so the seeds are not paired.
        low, high = percentiles(draws_of_mean(ours) - draws_of_mean(kernel, seed=SEED + 1))
        if low <= 0 <= high:
            return Verdict.CHANCE
    return Verdict.OUTSIDE


def _difference(
    quantity: Quantity, ours: tuple[float, ...], kernel: tuple[float, ...]
) -> float:  # fmt: skip
    apart = float(np.mean(ours)) - float(np.mean(kernel))
    whole = max(abs(float(np.mean(kernel))), quantity.least)
    return apart / whole if whole else (0.0 if apart == 0 else math.copysign(math.inf, apart))


def compare_tables(cells: Mapping[str, Cell], ours: Tables, kernel: Tables) -> Iterator[Compared]:
    """Compares two results of one experiment by the name of the cell. Leaves unknown values out.

    A value is the mean over the flows of one kind with one congestion control.
    """
    for quantity in QUANTITIES:
        mine, theirs = (_values(quantity.metric, tables) for tables in (ours, kernel))
        for (cell, flows), values in mine.items():
            if (cell, flows) in theirs:
                yield compared(cells[cell], flows, quantity, values, theirs[cell, flows])


def _values(metric: str, tables: Tables) -> dict[tuple[str, str], list[float]]:
    """Values of the runs, by cell and kind of flow."""
    of = ("cell", "repeat", "kind", "congestion_control")
    measured = METRICS[metric].measure(tables)
    means = measured.group_by(of).agg(pl.col("value").mean()).sort(of)
    found: dict[tuple[str, str], list[float]] = {}
    for cell, _, kind, control, value in means.select(*of, "value").iter_rows():
        if value == value:
            flows = control if kind == "tcp" else f"{kind} {control}"
            found.setdefault((cell, flows), []).append(value)
    return found
