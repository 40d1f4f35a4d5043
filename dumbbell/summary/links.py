"""Bottlenecks of a run: what they carried, how full and how long their queues were."""

from __future__ import annotations

import math

import polars as pl

from dumbbell.limits.pipes import capacity_bits, policed_bits
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.load import queueing_delays
from dumbbell.scenario import Pipe, Scenario, read_scenario

#: A pipe that carried this share of its rate, or of the fullest pipe's share, is a bottleneck.
_BUSY, _OF_THE_FULLEST = 0.9, 0.9
#: A pipe whose queue dropped this share of the packets offered is one, too.
_DROPPED = 1e-3
#: Bottlenecks of a run that are named: those used most.
MOST = 4
_QUANTILES = {"delay_p10_ms": 0.10, "delay_p50_ms": 0.50, "delay_p95_ms": 0.95}
#: Reasons of drops, and a word for each.
DROPS = {
    "overflow": "overflow", "random": "random loss", "scripted": "scripted loss",
    "policed": "policer", "corrupted": "corruption", "aqm": "AQM",
}  # fmt: skip


def links(tables: Tables) -> pl.DataFrame:
    """One row per run and bottleneck.

    `run`, `pipe`, `throughput_mbps`, `used` (share of what it could carry; null if unknown),
    `marked` and `dropped` (shares of the packets offered), drops by reason (`DROPS`), and where
    queues were sampled the queueing delay `delay_p10_ms`, `delay_p50_ms`, `delay_p95_ms` over the
    time of load.
    """
    scenarios: dict[str, Scenario] = {}
    rows = []
    for run, text in tables.runs.select("run", "scenario").iter_rows():
        spec = scenarios.get(text) or scenarios.setdefault(text, read_scenario(text))
        rows += [(run, name, *_capacity(pipe, spec)) for name, pipe in _pipes(spec)]
    known = pl.DataFrame(rows, schema=_CAPACITY, orient="row")
    pipes = tables.pipes.drop(tables.experiment.factors)
    found = pipes.join(known, on=["run", "pipe"], maintain_order="left")
    sampled = METRICS["utilisation"].measure(tables).select("run", "pipe", "value")
    found = found.join(sampled, on=["run", "pipe"], how="left", maintain_order="left")
    on_wire = pl.col("left_bytes") + pl.col("overhead_bytes") * pl.col("left_packets")
    by_reason = {
        reason: pl.col(f"dropped_{reason}_packets").clip(lower_bound=0) for reason in DROPS
    }
    dropped = pl.sum_horizontal(by_reason.values())
    offered = pl.when(pl.col("arrived_packets") > 0).then(pl.col("arrived_packets"))
    under_load = pl.when(pl.col("overhead_bytes") == 0).then(pl.col("value").fill_nan(None))
    fullness = pl.coalesce(under_load, on_wire * 8 / pl.col("bits"))
    # A policer below the link's rate is what limits it.
    admitted = (pl.col("left_bytes") * 8 / pl.col("policed_bits")).fill_null(0)
    fullness = pl.max_horizontal(fullness, admitted).clip(0, 1)
    found = found.with_columns(
        fullness.alias("fullness"),
        pl.when(~pl.col("atm")).then(fullness).alias("used"),
        (pl.col("left_bytes") * 8e-6 / pl.col("duration_s")).alias("throughput_mbps"),
        (pl.when(pl.col("marked_packets") > 0).then(pl.col("marked_packets")) / offered).alias(
            "marked"
        ),
        (dropped / offered).alias("dropped"),
        *((count / offered).alias(reason) for reason, count in by_reason.items()),
    ).filter(pl.col("left_bytes") > 0)
    delays = queueing_delays(tables, _QUANTILES)
    found = found.join(delays, on=["run", "pipe"], how="left", maintain_order="left")
    fullness = pl.col("fullness").fill_null(0)
    fullest = fullness.max().over("run")
    busy = (fullness >= _BUSY) | (fullness >= _OF_THE_FULLEST * fullest)
    overflows = (pl.col("dropped_overflow_packets") + pl.col("dropped_aqm_packets")) / pl.col(
        "arrived_packets"
    ) >= _DROPPED
    # Where several are full, those that drop come first.
    rank = pl.struct(fullness.round(2), pl.col("dropped").fill_null(0))
    rank = rank.rank("ordinal", descending=True)
    columns = ["run", "pipe", "throughput_mbps", "used", "marked", "dropped", *DROPS, *_QUANTILES]
    return found.filter((busy | overflows) & (rank.over("run") <= MOST)).select(columns)


def _pipes(spec: Scenario) -> list[tuple[str, Pipe]]:
    """Directions of links where packets can wait, by name."""
    every = [
        (f"{link['name']}/{way}", link[way])
        for link in spec["links"]
        for way in ("forward", "backward")
    ]
    return [
        (name, pipe)
        for name, pipe in every
        if pipe["shaper"] != "none" or "drop_tail" not in pipe["queue"]
    ]


_CAPACITY = {
    "run": pl.String,
    "pipe": pl.String,
    "bits": pl.Float64,
    "policed_bits": pl.Float64,
    "duration_s": pl.Float64,
    "overhead_bytes": pl.Int64,
    "atm": pl.Boolean,
}


def _capacity(pipe: Pipe, spec: Scenario) -> tuple[float | None, float | None, float, int, bool]:
    """The columns of `_CAPACITY` from `bits` on; bits are those of the whole run.

    With ATM the length of a frame on the wire depends on each frame, so its use is not known.
    """
    bits = capacity_bits(pipe, 0, spec["duration_ns"])
    policed = policed_bits(pipe, 0, spec["duration_ns"])
    framing = pipe["framing"]
    return (
        bits if math.isfinite(bits) else None,
        policed if math.isfinite(policed) else None,
        spec["duration_ns"] * 1e-9,
        framing["overhead_bytes"],
        framing["atm"],
    )
