"""Metrics of Multipath TCP and of the links that its connections begin with."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import (
    CONTROLLED,
    LIFE_S,
    LIFE_WORDS,
    Metric,
    Tables,
    keys,
    known,
    per_flow,
    ratio,
)

ETHERNET_HEADER_BYTES = 14

#: A subflow may stand with an earlier start_ns than its connection.
_BEGAN = (pl.col("start_ns") >= 0) & (pl.col("kind") != "subflow")
_SPAN = (pl.col("end_ns").max() - pl.col("start_ns").filter(_BEGAN).min()) / 1e9


def _measure_pipe_rate(tables: Tables) -> pl.DataFrame:
    spans = tables.flows.group_by("run").agg(_SPAN.alias("span_s"))
    ip_bytes = known("left_bytes") - ETHERNET_HEADER_BYTES * known("left_packets")
    return tables.pipes.join(spans, on="run", maintain_order="left").select(
        *keys(tables), "pipe", ratio(ip_bytes * 1e-3, pl.col("span_s")).alias("value")
    )


PIPE_RATE = Metric(
    name="pipe_ip_kbytes_per_s",
    label="Throughput of a pipe",
    unit="kB/s",
    formula="(left_bytes − 14 · left_packets) / 1000 / span: IP packets that arrived at the next "
    "node, every copy counted",
    place="each direction of each link, where it ends",
    window="from the first start_ns to the last end_ns of the run's flows",
    source="ns-2's event trace: sizes of the `r` lines of a link, added up, over time (study 3)",
    computed=_measure_pipe_rate,
    of=("pipe",),
)

FLOW_LOSS = Metric(
    name="flow_loss_ratio",
    label="Drops per packet of a flow",
    unit="",
    formula="dropped_packets / sent_packets; both directions and "
    "duplicates made on the path are in the numerator, so it may exceed 1",
    place="all pipes on the flow's path",
    window="the whole run",
    source="study 3: (sent − received) / sent; RFC 7680",
    computed=per_flow(ratio(known("dropped_packets"), known("sent_packets")), (*CONTROLLED, "udp")),
)


def _measure_connections(tables: Tables, value: pl.Expr) -> pl.DataFrame:
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    own = tables.connections.rename({"connection": "flow"})
    rows = tables.flows.join(own, on=["run", "flow"], maintain_order="left", suffix="_connection")
    return rows.select(*columns, value.alias("value"))


def _share_of_carried(column: str) -> pl.Expr:
    return ratio(known(column), known("carried_bytes"))


DUPLICATES = Metric(
    name="duplicate_share",
    label="Duplicate bytes",
    unit="share",
    formula="duplicate_bytes / carried_bytes of a connection",
    place="the receiving end of a Multipath TCP connection",
    window="the whole run",
    source="RFC 8684 §3.3: data sequence numbers identify duplicates",
    computed=lambda tables: _measure_connections(tables, _share_of_carried("duplicate_bytes")),
    bounds=(0.0, 1.0),
)

BLOCKED = Metric(
    name="blocked_ms",
    label="Time blocked by head-of-line blocking",
    unit="ms",
    formula="blocked_ns / 10⁶ of a connection",
    place="the receiving end of a Multipath TCP connection",
    window="the whole run",
    source="head-of-line blocking, RFC 6182 §3.2",
    computed=lambda tables: _measure_connections(tables, known("blocked_ns") * 1e-6),
)

BLOCKED_SHARE = Metric(
    name="blocked_share",
    label="Share of the time blocked by head-of-line blocking",
    unit="share",
    formula="blocked_ns / (end_ns − established_ns) of a connection",
    place=BLOCKED.place,
    window=LIFE_WORDS,
    source=BLOCKED.source,
    computed=lambda tables: _measure_connections(tables, ratio(known("blocked_ns") / 1e9, LIFE_S)),
    bounds=(0.0, 1.0),
)

METRICS = (PIPE_RATE, FLOW_LOSS, DUPLICATES, BLOCKED, BLOCKED_SHARE)
