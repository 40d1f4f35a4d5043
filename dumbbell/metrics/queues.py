"""Lengths of the queues of one run over its samples, from the table `queues`."""

from __future__ import annotations

import polars as pl


def queue_lengths(queues: pl.DataFrame) -> pl.DataFrame:
    """Length of each queue over its samples, the longest mean first.

    Args:
        queues: Rows of `queues` of one run.

    Returns:
        One row per queue whose length is known: `pipe`, `most` and `mean` (packets).
    """
    known = queues.filter(pl.col("queued_packets") >= 0)
    found = known.group_by("pipe", maintain_order=True).agg(
        pl.col("queued_packets").max().alias("most"), pl.col("queued_packets").mean().alias("mean")
    )
    return found.sort("mean", descending=True, maintain_order=True)


def longest_waits(queues: pl.DataFrame) -> pl.DataFrame:
    """Mean time in each queue over the samples in which a packet left it, the longest first.

    Args:
        queues: Rows of `queues` of one run.

    Returns:
        One row per queue whose times are known: `pipe`, `mean_ns`.
    """
    known = queues.filter(pl.col("sojourn_mean_ns").is_not_nan())
    found = known.group_by("pipe", maintain_order=True).agg(
        pl.col("sojourn_mean_ns").mean().alias("mean_ns")
    )
    return found.sort("mean_ns", descending=True, maintain_order=True)


def codel_states(rows: pl.DataFrame) -> pl.DataFrame:
    """Times in one queue and what CoDel does there, at each sample.

    Args:
        rows: Rows of `queues` of one queue, in order of time.

    Returns:
        `time_ns`; `mean_ms` and `least_ms`, the time in the queue of the packets that left it since
        the sample before; `count`, CoDel's count while it drops, else 0 (RFC 8289 §5.3); `drops`,
        packets dropped there since the sample before. Null where it is not known.
    """
    dropped = pl.when(pl.col("dropped_packets") >= 0).then(pl.col("dropped_packets"))
    before = dropped.forward_fill().shift(1).fill_null(0)
    known, least_ns = pl.col("dropping") >= 0, pl.col("sojourn_min_ns")
    return rows.select(
        "time_ns",
        (pl.col("sojourn_mean_ns").fill_nan(None) / 1e6).alias("mean_ms"),
        pl.when(least_ns >= 0).then(least_ns / 1e6).alias("least_ms"),
        pl.when(known).then(pl.col("drop_count") * pl.col("dropping")).alias("count"),
        (dropped - before).alias("drops"),
    )
