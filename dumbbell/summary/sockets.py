"""TCP sockets of programs: their names, what each did, and their states over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.catalogue import congestion_controls
from dumbbell.metrics import Tables
from dumbbell.metrics.sockets import among_most, socket_totals

#: Ports of built-in flows: flow `n` goes from the first plus `n` to the second plus `n`.
_FLOW_PORTS = (20001, 5001)
#: First port that Linux gives to clients (`ip_local_port_range`).
_CLIENT_PORTS = 32768
#: Sockets of a run that are told, at most.
MOST = 200
#: Columns that tell the sockets of a run apart.
KEY = ("run", "host", "local", "remote")
#: Columns of the table that :func:`named` reads.
ADDRESSES = (*KEY, "congestion_control", "time_ns", "acked_bytes")

#: Columns of a table of sockets.
HEADINGS = (
    "socket", "congestion control", "from s", "to s", "sent kB", "Mbit/s", "cwnd mean", "max",
    "RTT ms mean", "min", "retransmitted",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Socket:
    """A TCP socket of a host that runs programs, in one run.

    Attributes:
        levels: Factor → level of its run.
        name: Both ends with their ports.
        congestion_control: Its algorithm, by Linux's name.
        from_s: Time of its first row.
        to_s: Time of its last row.
        sent_bytes: Payload that was acknowledged.
        rate_mbps: Rate of the acknowledged payload between both times; None: one row.
        cwnd_mean: Mean congestion window, in packets.
        cwnd_max: Largest congestion window, in packets.
        rtt_mean_ms: Mean smoothed RTT; None: not measured.
        rtt_min_ms: Minimum RTT; None: not measured.
        retransmissions: Retransmitted segments.
    """

    levels: dict[str, str]
    name: str
    congestion_control: str
    from_s: float
    to_s: float
    sent_bytes: int
    rate_mbps: float | None
    cwnd_mean: float
    cwnd_max: int
    rtt_mean_ms: float | None
    rtt_min_ms: float | None
    retransmissions: int


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table `sockets` with columns `socket` and `title`, without built-in flows.

    `socket` is unique in its run: `s1:40000→d1:5201`. `title` has the algorithm, and ports of
    clients only where two sockets would be called the same.
    """
    if frame.is_empty():
        return frame.with_columns(socket=pl.lit("", pl.String), title=pl.lit("", pl.String))
    parts = {end: pl.col(end).str.split_exact(":", 1) for end in ("local", "remote")}
    address = {end: one.struct.field("field_0") for end, one in parts.items()}
    port = {
        end: one.struct.field("field_1").cast(pl.Int64, strict=False) for end, one in parts.items()
    }
    client, server = (port[end] - base for end, base in zip(port, _FLOW_PORTS, strict=True))
    back, forth = (port[end] - base for end, base in zip(port, reversed(_FLOW_PORTS), strict=True))
    of_flow = ((client == server) & (client >= 0)) | ((back == forth) & (back >= 0))
    ends = frame.select(*KEY).unique(maintain_order=True).with_columns(
        address["local"].alias("at"),
        address["remote"].alias("to"),
        port["local"].alias("own_port"),
        port["remote"].alias("other_port"),
        of_flow.alias("of_flow"),
    )  # fmt: skip
    ends = ends.filter(~pl.col("of_flow"))
    hosts = ends.group_by("run", pl.col("at").alias("to"), maintain_order=True).agg(
        pl.col("host").first().alias("other")
    )
    loop = pl.col("to").str.starts_with("127.")
    ends = ends.join(hosts, on=["run", "to"], how="left", maintain_order="left").with_columns(
        pl.when(loop).then("host").otherwise(pl.coalesce("other", "to")).alias("other")
    )
    name = pl.format("{}:{}→{}:{}", "host", "own_port", "other", "other_port")
    short = pl.format("{}{}→{}{}", "host", _service("own_port"), "other", _service("other_port"))
    ends = ends.with_columns(name.alias("socket"), short.alias("short"))
    last = frame.group_by(KEY, maintain_order=True).agg(pl.col("congestion_control").last())
    ends = ends.join(last, on=KEY, maintain_order="left")
    ends = ends.join(among_most(frame, KEY), on=KEY, maintain_order="left")
    some = pl.col("some")
    alone = (some.cast(pl.Int64).sum().over("run", "short") == 1) & some
    known = congestion_controls()
    titles = {one: info.title for one, info in known.items()}
    words = pl.col("congestion_control").replace(titles)
    chosen = pl.when(alone).then("short").otherwise("socket")
    ends = ends.with_columns(pl.format("{} {}", words, chosen).alias("title"))
    return frame.join(
        ends.select(*KEY, "socket", "title"), on=KEY, how="inner", maintain_order="left"
    )


def _service(column: str) -> pl.Expr:
    """`:5201`; nothing for a port of a client."""
    text = pl.format(":{}", pl.col(column))
    return pl.when(pl.col(column) < _CLIENT_PORTS).then(text).otherwise(pl.lit(""))


def sockets(tables: Tables, repeat: int = 0) -> list[Socket]:
    """Sockets of one repeat of each cell that sent data, in order of their beginning.

    Of very many in a run, those that sent most.
    """
    if not tables.has("sockets"):
        return []
    runs = tables.runs.filter(pl.col("repeat") == repeat)
    factors = list(tables.experiment.factors)
    found: list[Socket] = []
    for run in runs.iter_rows(named=True):
        levels = {name: str(run[name]) for name in factors}
        found += _of_run(tables.of_repeat("sockets", {"run": run["run"]}, repeat), levels)
    return found


def _of_run(frame: pl.DataFrame, levels: dict[str, str]) -> list[Socket]:
    grouped = socket_totals(named(frame))
    most = (
        grouped.filter(pl.col("sent_bytes") > 1)
        .top_k(MOST, by="sent_bytes")
        .sort("from_ns", "socket")
    )
    return [_socket(row, levels) for row in most.iter_rows(named=True)]


def _socket(row: dict[str, Any], levels: dict[str, str]) -> Socket:
    return Socket(
        levels=levels,
        name=row["socket"],
        congestion_control=row["congestion_control"],
        from_s=row["from_ns"] * 1e-9,
        to_s=row["to_ns"] * 1e-9,
        sent_bytes=row["sent_bytes"],
        rate_mbps=row["rate_mbps"],
        cwnd_mean=row["cwnd_mean"],
        cwnd_max=row["cwnd_max"],
        rtt_mean_ms=row["rtt_mean_ms"],
        rtt_min_ms=row["rtt_min_ms"],
        retransmissions=row["retransmissions"],
    )
