"""Throughput and sending rate: bytes on the wire per second, headers counted."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, known, per_flow, ratio

_WINDOW = "from the first packet sent (start_ns, the SYN for TCP) to end_ns"
_SPAN_S = (
    pl.when((pl.col("start_ns") >= 0) & (pl.col("end_ns") > pl.col("start_ns")))
    .then((pl.col("end_ns") - pl.col("start_ns")) / 1e9)
    .otherwise(0.0)
)

THROUGHPUT = Metric(
    name="throughput_mbps",
    label="Throughput",
    unit="Mbit/s",
    formula="8 · received_bytes / (end_ns − start_ns) · 10³",
    place="arrival at the receiving host: all packets of the sender, duplicates and control "
    "included, each counted as its Ethernet frame without FCS (14 bytes of Ethernet header, IP, "
    "transport, payload)",
    window=_WINDOW,
    source="RFC 1242 §3.17, RFC 5136 §2.3 (link-layer bits received)",
    computed=per_flow(ratio(known("received_bytes") * 8e-6, _SPAN_S)),
)

SENDING_RATE = Metric(
    name="sending_rate_mbps",
    label="Sending rate",
    unit="Mbit/s",
    formula="8 · sent_bytes / (end_ns − start_ns) · 10³",
    place="the sender's link: all packets it put there, retransmissions and control included, "
    "each as its Ethernet frame without FCS",
    window=_WINDOW,
    source="RFC 5136 §2.3, at the sender",
    computed=per_flow(ratio(known("sent_bytes") * 8e-6, _SPAN_S)),
)

METRICS = (THROUGHPUT, SENDING_RATE)
