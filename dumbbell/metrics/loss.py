"""Losses, by place and reason."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys, known, per_flow, ratio

#: Reasons for which a pipe drops a packet, as in the names of its columns.
REASONS = ("overflow", "random", "scripted", "policed", "corrupted", "aqm")


def losses(tables: Tables) -> pl.DataFrame:
    """Losses of each pipe by reason, one row per run, pipe and reason.

    Columns: `run`, the factors, `repeat`, `seed`, `pipe`, `reason`, `arrived_packets`,
    `dropped_packets`, `loss_ratio` (dropped / offered, 0–1). Source: RFC 7680 (one-way loss),
    taken per pipe.
    """
    columns = [f"dropped_{reason}_packets" for reason in REASONS]
    return (
        tables.pipes.select(*keys(tables), "pipe", "arrived_packets", *columns)
        .unpivot(
            on=columns,
            index=[*keys(tables), "pipe", "arrived_packets"],
            variable_name="reason",
            value_name="dropped_packets",
        )
        .with_columns(
            pl.col("reason").str.strip_prefix("dropped_").str.strip_suffix("_packets"),
            ratio(known("dropped_packets"), pl.col("arrived_packets")).alias("loss_ratio"),
        )
        .sort([*keys(tables), "pipe"], maintain_order=True)
    )


def _measure_pipe_loss(tables: Tables) -> pl.DataFrame:
    # What an engine cannot tell apart stands in one column, and -1 in the other.
    columns = (pl.col(f"dropped_{reason}_packets").clip(lower_bound=0) for reason in REASONS)
    dropped = pl.sum_horizontal(columns)
    return tables.pipes.select(
        *keys(tables), "pipe", ratio(dropped, pl.col("arrived_packets")).alias("value")
    )


PIPE_LOSS = Metric(
    name="loss_ratio",
    label="Loss ratio of a pipe",
    unit="share",
    formula="Σ over reasons of dropped packets / packets offered to the pipe; "
    "`dumbbell.metrics.losses` gives it by reason (overflow, random, scripted, policed, "
    "corrupted, aqm)",
    place="each direction of each link",
    window="the whole run",
    source="RFC 7680 (one-way loss), taken per pipe",
    computed=_measure_pipe_loss,
    of=("pipe",),
    bounds=(0.0, 1.0),
)

DROPPED = Metric(
    name="dropped_packets",
    label="Dropped packets",
    unit="packets",
    formula="packets of the flow, both directions, that were dropped anywhere",
    place="all pipes and hosts on the flow's way",
    window="the whole run",
    source="RFC 7680",
    computed=per_flow(known("dropped_packets")),
)

METRICS = (PIPE_LOSS, DROPPED)
