"""Values of a search at its points, from the tables of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.experiment.contents import ConstraintSpec, SearchSpec
from dumbbell.limits.sharing import bottlenecks
from dumbbell.metrics import METRICS, Interval, interval
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import DATA
from dumbbell.results import Results


@dataclass(frozen=True)
class Quantity:
    """A metric with what counts of its rows.

    Attributes:
        metric: Name of the metric.
        flow: Name of a flow; None: all.
        where: Column → level.
        over: `worst` or `mean` of what remains.
        large_is_bad: True if the worst is the largest.
    """

    metric: str
    flow: str | None
    where: Mapping[str, str]
    over: str
    large_is_bad: bool

    @property
    def title(self) -> str:
        """`queue_delay_p95_ms`, with its flow or other place."""
        place = [*([] if self.flow is None else [self.flow]), *self.where.values()]
        return self.metric + (f" ({', '.join(place)})" if place else "")


def aim_of(spec: SearchSpec) -> Quantity:
    """The quantity that is optimised or attacked.

    The worst of several rows is the largest where small values are sought by `optimise`, and the
    smallest where they are sought by `attack`: an attack asks for the one that suffers most.
    """
    aim = spec.aim
    large_is_bad = spec.maximises if spec.attack is not None else not spec.maximises
    return Quantity(aim.measured, aim.flow, aim.where, aim.over, large_is_bad)


def quantity_of(constraint: ConstraintSpec) -> Quantity:
    """The quantity of a constraint."""
    return Quantity(
        constraint.metric,
        constraint.flow,
        constraint.where,
        constraint.over,
        large_is_bad=constraint.above is None,
    )


def rows_of(results: Results, quantity: Quantity) -> pl.DataFrame:
    """Rows of a metric that count, with `value`.

    Of a metric of pipes, those of the bottlenecks of data flows, unless `where` names a pipe.
    """
    metric = METRICS[quantity.metric]
    frame = metric.measure(results).filter(pl.col("value").is_not_nan())
    if quantity.flow is not None:
        frame = frame.filter(pl.col("flow") == quantity.flow)
    for column, level in quantity.where.items():
        frame = frame.filter(pl.col(column) == level)
    if "pipe" in metric.of and "pipe" not in quantity.where:
        frame = frame.join(_bottlenecks(results), on=["run", "pipe"], how="semi")
    return frame


def _bottlenecks(results: Results) -> pl.DataFrame:
    """Runs with the pipes that limit their data flows; all pipes where none does."""
    flows = without_arrivals(results).flows.filter(pl.col("kind").is_in(DATA))
    names = dict(flows.group_by("run").agg(pl.col("flow")).iter_rows())
    pipes = dict(results.pipes.group_by("run").agg(pl.col("pipe")).iter_rows())
    known: dict[str, frozenset[str]] = {}
    rows = []
    for run, scenario in results.runs.select("run", "scenario").iter_rows():
        if scenario not in known:
            found = bottlenecks(scenario, names.get(run, [])).pipes.values()
            known[scenario] = frozenset[str]().union(*found)
        limiting = known[scenario]
        if not limiting:
            limiting = frozenset(pipes.get(run, []))
        rows += [(run, pipe) for pipe in sorted(limiting)]
    return pl.DataFrame(rows, schema={"run": pl.String, "pipe": pl.String}, orient="row")


def values(
    results: Results, quantity: Quantity, names: Sequence[str]
) -> dict[tuple[str, ...], Interval]:
    """Levels of these factors → mean over repeats.

    Of several rows of a repeat (flows, pipes, other cells) the worst counts, or their mean.
    """
    frame = rows_of(results, quantity)
    taken = pl.col("value").max() if quantity.large_is_bad else pl.col("value").min()
    if quantity.over == "mean":
        taken = pl.col("value").mean()
    per_repeat = frame.group_by([*names, "repeat"], maintain_order=True).agg(taken)
    return {
        tuple(levels): interval(own.sort("repeat")["value"].to_numpy())
        for levels, own in per_repeat.group_by(list(names), maintain_order=True)
    }


def violation(constraint: ConstraintSpec, found: Interval) -> float:
    """By how much a mean misses its bounds, as a share of the bound; 1 where nothing is known."""
    if found.count == 0:
        return 1.0
    above, below = constraint.above, constraint.below
    missed = 0.0
    if above is not None and found.mean <= above:
        missed += max((above - found.mean) / (abs(above) or 1.0), 1e-9)
    if below is not None and found.mean >= below:
        missed += max((found.mean - below) / (abs(below) or 1.0), 1e-9)
    return missed
