"""Round-trip times, at the tap and at the sender."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import CONTROLLED, Metric, known, per_flow

_TAP = "the flow's tap (study 1: router 1's interface towards the source hosts)"
_TAP_RULE = (
    "one sample per data segment that passed the tap exactly once: from its passing to the first "
    "cumulative ACK at the tap that covers its last byte; a SACK block does not end a sample, "
    "and retransmitted segments give none (Karn)"
)
_LIFE = "the whole run"

_MEAN_NS = (
    pl.when(pl.col("tap_rtt_samples") > 0).then(pl.col("tap_rtt_mean_ns")).otherwise(float("nan"))
)

RTT_MEAN = Metric(
    name="rtt_mean_ms",
    label="Mean RTT at the tap",
    unit="ms",
    formula="Σ (t_ack − t_data) / samples; " + _TAP_RULE,
    place=_TAP,
    window=_LIFE,
    source="Wireshark's tcp.analysis.ack_rtt; RFC 6298 §3 (Karn's algorithm)",
    computed=per_flow(_MEAN_NS * 1e-6, CONTROLLED),
)

RTT_MIN = Metric(
    name="rtt_min_ms",
    label="Smallest RTT at the tap",
    unit="ms",
    formula="min (t_ack − t_data) over the samples of rtt_mean_ms",
    place=_TAP,
    window=_LIFE,
    source="as rtt_mean_ms",
    computed=per_flow(known("tap_rtt_min_ns") * 1e-6, CONTROLLED),
)

RTT_MAX = Metric(
    name="rtt_max_ms",
    label="Largest RTT at the tap",
    unit="ms",
    formula="max (t_ack − t_data) over the samples of rtt_mean_ms",
    place=_TAP,
    window=_LIFE,
    source="as rtt_mean_ms",
    computed=per_flow(known("tap_rtt_max_ns") * 1e-6, CONTROLLED),
)

SRTT_MEAN = Metric(
    name="srtt_mean_ms",
    label="Mean smoothed RTT",
    unit="ms",
    formula="mean over samples of the sender's smoothed RTT",
    place="the sender's RTT estimator, sampled every sampling interval",
    window="from establishment to the flow's `stop`, or its end",
    source="RFC 6298 §2; Linux tcpi_rtt",
    computed=per_flow(pl.col("srtt_mean_ns") * 1e-6, CONTROLLED),
)

#: Of a stack from outside (`smoltcp:cubic`) the tap's is no RTT of its path.
_OF_TAP = pl.when(~pl.col("congestion_control").str.contains(":")).then(_MEAN_NS)

PING_RTT = Metric(
    name="ping_rtt_ms",
    label="Mean RTT of ping",
    unit="ms",
    formula="mean (t_reply − t_request) over answered requests",
    place="the host that pings",
    window=_LIFE,
    source="RFC 2681 (round-trip delay), RFC 792",
    computed=per_flow(pl.col("rtt_mean_ns") * 1e-6, ("ping",)),
)

RTT = Metric(
    name="rtt_ms",
    label="RTT",
    unit="ms",
    formula="srtt_mean_ms; where it is not known, rtt_mean_ms; of ping, ping_rtt_ms. NaN for a "
    "stack that tells no smoothed RTT: at a tap, holes count until they are repaired",
    place="the sender; where only a tap knows it, the tap",
    window=_LIFE,
    source="RFC 6298 §2; RFC 2681",
    computed=per_flow(
        pl.when(pl.col("kind") == "ping")
        .then(pl.col("rtt_mean_ns"))
        .otherwise(pl.coalesce(pl.col("srtt_mean_ns").fill_nan(None), _OF_TAP))
        * 1e-6,
        (*CONTROLLED, "ping"),
    ),
)

METRICS = (RTT, RTT_MEAN, RTT_MIN, RTT_MAX, SRTT_MEAN, PING_RTT)
