"""Values of a metric over repeats, by cell and by what it is measured of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.metrics import METRICS
from dumbbell.results import Results

#: Metrics of a comparison that names none. Those without values are left out.
USUAL = ("goodput_mbps", "rtt_ms", "loss_ratio", "retransmissions", "jain", "utilisation")
#: Columns that describe what is measured, and differ between levels.
DESCRIPTIONS = ("kind", "congestion_control")


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of a metric in a cell, one per repeat that has one.

    Attributes:
        metric: Name of the metric.
        levels: Factor → level of the cell.
        of: What is measured: flow, pipe …; empty for a whole run.
        repeats: Number of each repeat.
        values: In the unit of the metric.
    """

    metric: str
    levels: dict[str, str]
    of: dict[str, str]
    repeats: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """Metric, levels and what is measured."""
        return (self.metric, *self.levels.values(), *self.of.values())

    @property
    def place(self) -> str:
        """`rtt=10 ms, flow1`."""
        levels = [f"{name}={level}" for name, level in self.levels.items()]
        return ", ".join([*levels, *self.of.values()])

    def common(self, other: Sample) -> tuple[list[float], list[float]]:
        """Values of both in the repeats that both have."""
        theirs = dict(zip(other.repeats, other.values, strict=True))
        pairs = [
            (value, theirs[repeat])
            for repeat, value in zip(self.repeats, self.values, strict=True)
            if repeat in theirs
        ]
        return [one for one, _ in pairs], [other for _, other in pairs]


def samples(results: Results, metrics: Sequence[str]) -> list[Sample]:
    """Values of metrics, in order of the metrics and of the cells."""
    factors = list(results.experiment.factors)
    found = []
    for name in metrics:
        metric = METRICS[name]
        of = [column for column in metric.of if column not in DESCRIPTIONS]
        key = [*factors, *of]
        measured = metric.measure(results).filter(pl.col("value").is_not_nan())
        per_run = measured.group_by([*key, "repeat"], maintain_order=True).agg(
            pl.col("value").mean()
        )
        for names, rows in per_run.group_by(key or [pl.lit(0)], maintain_order=True):
            ordered = rows.sort("repeat")
            texts = [str(one) for one in names]
            found.append(
                Sample(
                    name,
                    dict(zip(factors, texts, strict=False)),
                    dict(zip(of, texts[len(factors) :], strict=False)),
                    tuple(ordered["repeat"]),
                    tuple(ordered["value"]),
                )
            )
    return found
