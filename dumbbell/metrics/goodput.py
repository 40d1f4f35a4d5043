"""Goodput: application bytes delivered per second."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import (
    CONTROLLED,
    LIFE_S,
    LIFE_WORDS,
    Metric,
    known,
    per_flow,
    ratio,
)

GOODPUT = Metric(
    name="goodput_mbps",
    label="Goodput",
    unit="Mbit/s",
    formula="8 · delivered_bytes / (end_ns − established_ns) · 10³; 0 for a connection that was "
    "never established, NaN for one that was never opened",
    place="the receiver's in-order stream: unique payload bytes, no headers, no duplicates",
    window=LIFE_WORDS,
    source="RFC 2647 §3.17 (goodput); what iperf3 prints for its receiver; study 1 calls it "
    "throughput",
    computed=per_flow(
        pl.when(pl.col("start_ns") >= 0).then(ratio(known("delivered_bytes") * 8e-6, LIFE_S)),
        (*CONTROLLED, "udp"),
    ),
)

METRICS = (GOODPUT,)


def goodput_over_time(samples: pl.DataFrame, step_ns: int) -> pl.DataFrame:
    """Goodput of some flows of a run together in stretches of time.

    Args:
        samples: Their rows of `samples`.
        step_ns: Length of a stretch; the last ends with the last sample.

    Returns:
        `begin_ns` of each stretch, and `mbps`: growth of delivered_bytes over its length, in
        Mbit/s. A sample at the end of a stretch is of what was delivered in it.
    """
    begin_ns = (pl.col("time_ns") - 1).clip(0) // step_ns * step_ns
    per_flow_bytes = samples.group_by("flow", begin_ns.alias("begin_ns")).agg(
        pl.col("delivered_bytes").max().alias("bytes")
    )
    gained = per_flow_bytes.sort("flow", "begin_ns").with_columns(
        pl.col("bytes").diff().over("flow").fill_null(pl.col("bytes")).alias("gained")
    )
    total = gained.group_by("begin_ns").agg(pl.col("gained").sum()).sort("begin_ns")
    last_ns = samples.select(pl.col("time_ns").max()).item() or 0
    length_ns = (pl.lit(last_ns) - pl.col("begin_ns")).clip(0, step_ns)
    rate = (pl.col("gained") * 8e3 / length_ns).alias("mbps")
    return total.filter(length_ns > 0).select("begin_ns", rate)
