"""Overflow of queues once flows have started: of each queue, from its samples."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys, present
from dumbbell.metrics.load import WORDS, load_windows

_BY = ["run", "pipe"]


def _measure(tables: Tables) -> pl.DataFrame:
    """Growth of the counter from the last sample before the half to the last before the end."""
    middle_ns = (pl.col("load_start_ns") + pl.col("load_end_ns")) / 2
    counted = present("dropped_overflow_packets")
    windows = load_windows(tables)
    found = [pl.DataFrame(schema={"run": pl.String, "pipe": pl.String, "value": pl.Float64})]
    for part in tables.parts("queues", ("pipe", "time_ns", "dropped_overflow_packets")):
        rows = part.join(windows, on="run")
        rows = rows.filter(pl.col("time_ns") <= pl.col("load_end_ns"))
        before = counted.filter(pl.col("time_ns") <= middle_ns).max().fill_null(0)
        grown = (counted.max() - before).cast(pl.Float64)
        found.append(rows.group_by(_BY).agg(grown.alias("value")))
    base = tables.pipes.select(*keys(tables), "pipe")
    joined = base.join(pl.concat(found), on=_BY, how="left", maintain_order="left")
    return joined.with_columns(pl.col("value").fill_null(float("nan")))


LATE = Metric(
    name="late_overflow_packets",
    label="Overflow in the second half of the load",
    unit="packets",
    formula="growth of dropped_overflow_packets [queues] in the window, after the slow start of "
    "most flows. NaN without samples of queues, and where the engine does not count them",
    place="each direction of each link",
    window=f"the second half of {WORDS}",
    source="RFC 7680 (one-way loss), at one queue",
    computed=_measure,
    of=("pipe",),
)

METRICS = (LATE,)
