"""Goodput: application bytes delivered per second."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import LIFE_S, LIFE_WORDS, TCP, Metric, known, per_flow, ratio

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
        (*TCP, "udp"),
    ),
)

METRICS = (GOODPUT,)
