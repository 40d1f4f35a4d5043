"""Statistics of the congestion window."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import CONTROLLED, Metric, known, per_flow

_PLACE = "the sender's state, sampled every sampling interval"
_WINDOW = "from establishment to the flow's `stop`, or its end"

CWND_MEAN = Metric(
    name="cwnd_mean_packets",
    label="Mean congestion window",
    unit="packets",
    formula="mean over samples of the congestion window in segments",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5681 §2; Linux tcpi_snd_cwnd",
    computed=per_flow(pl.col("cwnd_mean_packets"), CONTROLLED),
)

CWND_MAX = Metric(
    name="cwnd_max_packets",
    label="Largest congestion window",
    unit="packets",
    formula="largest sampled congestion window in segments",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 5681 §2; Linux tcpi_snd_cwnd",
    computed=per_flow(known("cwnd_max_packets"), CONTROLLED),
)

IN_FLIGHT_MEAN = Metric(
    name="in_flight_mean_packets",
    label="Mean packets in flight",
    unit="packets",
    formula="mean over samples of packets out − SACKed − lost + retransmitted",
    place=_PLACE,
    window=_WINDOW,
    source="RFC 6675 §4 (pipe); Linux tcp_packets_in_flight",
    computed=per_flow(pl.col("in_flight_mean_packets"), CONTROLLED),
)

METRICS = (CWND_MEAN, CWND_MAX, IN_FLIGHT_MEAN)
