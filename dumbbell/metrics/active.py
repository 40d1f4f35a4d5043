"""Time in which anything happens in a run: from its first packet to the end of its last flow."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Tables

WORDS = (
    "the time in which flows are under way: from the first start_ns to the last end_ns of the "
    "run's flows (of a Multipath TCP connection its own)"
)


def active_windows(tables: Tables) -> pl.DataFrame:
    """One row per run: `run`, `begin_ns`, `end_ns`; of a run in which no packet was sent, none."""
    started = (pl.col("start_ns") >= 0) & (pl.col("kind") != "subflow")
    found = tables.flows.filter(started).group_by("run")
    window = found.agg(
        pl.col("start_ns").min().alias("begin_ns"), pl.col("end_ns").max().alias("end_ns")
    )
    return window.filter(pl.col("end_ns") > pl.col("begin_ns"))


#: Its length in seconds, in a frame with `begin_ns` and `end_ns`.
ACTIVE_S = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
