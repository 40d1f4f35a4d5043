"""Reordering of arriving packets (RFC 4737)."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import CONTROLLED, Metric, known, per_flow, ratio

_PLACE = "arrival at the receiving host"
_RUN = "the whole run"

REORDERED_RATIO = Metric(
    name="reordered_ratio",
    label="Reordered packets",
    unit="share",
    formula="reordered_packets / received_packets: a data packet is reordered if one sent later "
    "arrived before it; a retransmission is a new packet. The denominator counts every packet "
    "of the sender that arrived, the few of handshake and close included",
    place=_PLACE,
    window=_RUN,
    source="RFC 4737 §3 (Type-P-Reordered), §4.1 (ratio)",
    computed=per_flow(
        ratio(known("reordered_packets"), known("received_packets")), (*CONTROLLED, "udp")
    ),
    bounds=(0.0, 1.0),
)

EXTENT_MEAN = Metric(
    name="reordering_extent_mean_packets",
    label="Mean reordering extent",
    unit="packets",
    formula="mean over the reordered packets of e = i − j, where i is the packet's place in the "
    "order of arrival and j that of the earliest arrival sent after it; NaN without reordering",
    place=_PLACE,
    window=_RUN,
    source="RFC 4737 §4.2.1 (reordering extent)",
    computed=per_flow(
        pl.when(pl.col("reordered_packets") > 0)
        .then(pl.col("reordering_extent_mean_packets"))
        .otherwise(float("nan")),
        (*CONTROLLED, "udp"),
    ),
)

EXTENT_MAX = Metric(
    name="reordering_extent_max_packets",
    label="Largest reordering extent",
    unit="packets",
    formula="largest e of reordering_extent_mean_packets; 0 without reordering",
    place=_PLACE,
    window=_RUN,
    source="RFC 4737 §4.2.1",
    computed=per_flow(known("reordering_extent_max_packets"), (*CONTROLLED, "udp")),
)

DEGREE = Metric(
    name="reordering_degree",
    label="Sender's reordering degree",
    unit="packets",
    formula="tcpi_reordering at the end of the run: how many packets the sender lets pass before "
    "it takes a hole for a loss",
    place="the sender",
    window="the end of the run",
    source="Linux tcp_reordering and tcp_max_reordering; RFC 4653 for the idea",
    computed=per_flow(known("reordering_packets"), CONTROLLED),
)

METRICS = (REORDERED_RATIO, EXTENT_MEAN, EXTENT_MAX, DEGREE)
