"""Times and rates of a group of connections, such as a page's objects of one size.

Flows name their group (`group:`); flows without one are in none.
"""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import CONNECTIONS, Metric, Tables, keys, known

_TIME_S = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
_SPAN_S = (pl.col("end_ns").max() - pl.col("start_ns").min()) / 1e9
_WINDOW = "each connection from start_ns to end_ns; NaN if one of the group is not finished"


def _connections(tables: Tables) -> pl.DataFrame:
    """The TCP and MPTCP flows in a group, with `finished`: all was sent and acknowledged."""
    done = tables.transfers.select("run", "flow", pl.lit(value=True).alias("finished"))
    grouped = pl.col("kind").is_in(CONNECTIONS) & (pl.col("group") != "")
    return (
        tables.flows.filter(grouped)
        .join(done, on=["run", "flow"], how="left", maintain_order="left")
        .with_columns(pl.col("finished").fill_null(value=False))
    )


def _of_run(tables: Tables, value: pl.Expr) -> pl.DataFrame:
    return _over(tables, keys(tables), value, needs_all=True)


def _of_group(tables: Tables, value: pl.Expr, *, needs_all: bool) -> pl.DataFrame:
    return _over(tables, [*keys(tables), "group"], value, needs_all=needs_all)


def _over(tables: Tables, columns: list[str], value: pl.Expr, *, needs_all: bool) -> pl.DataFrame:
    """`value` over the connections that are alike in these columns."""
    known = pl.col("finished").all() if needs_all else pl.lit(value=True)
    return (
        _connections(tables)
        .group_by(columns, maintain_order=True)
        .agg(pl.when(known).then(value.cast(pl.Float64)).otherwise(float("nan")).alias("value"))
    )


TIME = Metric(
    name="group_time_s",
    label="Time of a group's connections",
    unit="s",
    formula="Σ over the connections of the group: (end_ns − start_ns) / 10⁹",
    place="the sender: from its SYN until all is acknowledged",
    window=_WINDOW,
    source="Wireshark's duration of a conversation, added up; what study 2 calls transfer time",
    computed=lambda tables: _of_group(tables, _TIME_S.sum(), needs_all=True),
    of=("group",),
)

COMPLETION = Metric(
    name="group_completion_s",
    label="Completion of a group",
    unit="s",
    formula="(latest end_ns − earliest start_ns) / 10⁹ over the connections of the group",
    place="the sender",
    window=_WINDOW,
    source="the wait of a person who has asked for all of them",
    computed=lambda tables: _of_group(tables, _SPAN_S, needs_all=True),
    of=("group",),
)

RATE = Metric(
    name="group_rate_kbps",
    label="Rate of a group's connections",
    unit="kbit/s",
    formula="mean over the connections of the group: 8 · delivered_bytes / "
    "(end_ns − start_ns) · 10⁶",
    place="the receivers' in-order streams: payload without headers",
    window=_WINDOW,
    source="as goodput_mbps, with the handshake's time",
    computed=lambda tables: _of_group(
        tables, (known("delivered_bytes") * 8e-3 / _TIME_S).mean(), needs_all=True
    ),
    of=("group",),
)

_SEEN = (pl.col("tap_data_packets") >= 0) & (pl.col("tap_retransmissions") >= 0)
_DATA_PACKETS = pl.col("tap_data_packets").filter(_SEEN).sum()
_RETRANSMITTED_PERCENT = (
    pl.when(_DATA_PACKETS > 0)
    .then(100 * pl.col("tap_retransmissions").filter(_SEEN).sum() / _DATA_PACKETS)
    .otherwise(float("nan"))
)

RETRANSMITTED = Metric(
    name="group_retransmitted_percent",
    label="Retransmissions of a group",
    unit="%",
    formula="100 · Σ tap_retransmissions / Σ tap_data_packets over the connections of the group "
    "that the tap saw",
    place="the flows' tap; retransmissions of what was lost before it count",
    window="the whole run",
    source="as retransmissions_at_tap",
    computed=lambda tables: _of_group(
        tables,
        _RETRANSMITTED_PERCENT,
        needs_all=False,
    ),
    of=("group",),
    bounds=(0.0, 100.0),
)

TIMEOUTS = Metric(
    name="group_timeouts",
    label="Retransmission time-outs of a group",
    unit="",
    formula="Σ timeouts over the connections of the group",
    place="the senders",
    window="the whole run",
    source="RFC 6298 §5",
    computed=lambda tables: _of_group(tables, known("timeouts").sum(), needs_all=False),
    of=("group",),
)

PAGE_TIME = Metric(
    name="groups_time_s",
    label="Time of all groups' connections",
    unit="s",
    formula="Σ of group_time_s over the groups of a run",
    place=TIME.place,
    window=_WINDOW,
    source=TIME.source,
    computed=lambda tables: _of_run(tables, _TIME_S.sum()),
    of=(),
)

PAGE_COMPLETION = Metric(
    name="groups_completion_s",
    label="Completion of all groups",
    unit="s",
    formula="(latest end_ns − earliest start_ns) / 10⁹ over the TCP flows that are in a group",
    place=COMPLETION.place,
    window=_WINDOW,
    source=COMPLETION.source,
    computed=lambda tables: _of_run(tables, _SPAN_S),
    of=(),
)

METRICS = (PAGE_TIME, PAGE_COMPLETION, TIME, COMPLETION, RATE, RETRANSMITTED, TIMEOUTS)
