"""The way of packets that were seen at some points, from one to the next.

What lies between two points is one hop; where a packet was seen last although others of its flow
went on, it was lost, or is still there.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

#: A pair of points, and what the way between them is called; None: it is inside a node.
PipeOf = Callable[[str, str], str | None]
_PACKET = ["flow", "direction", "packet_number"]


def steps(packets: pl.DataFrame, place: pl.Expr) -> pl.DataFrame:
    """Each sighting with the one after it: `tap`, `next_tap`, `time_ns`, `next_ns` (null: none).

    Args:
        packets: The table `packets`.
        place: What decides the order of sightings at the same time.
    """
    ordered = packets.with_columns(place=place).sort(*_PACKET, "time_ns", "place")
    return ordered.with_columns(
        next_tap=pl.col("tap").shift(-1).over(_PACKET),
        next_ns=pl.col("time_ns").shift(-1).over(_PACKET),
    )


def usual_next(seen: pl.DataFrame) -> pl.DataFrame:
    """Where packets of a flow and direction mostly go from a tap: `usual` (null: nowhere)."""
    counts = seen.group_by("flow", "direction", "tap", "next_tap").len()
    most = counts.sort("len", descending=True).group_by("flow", "direction", "tap").first()
    return most.select("flow", "direction", "tap", usual="next_tap")


def hops(seen: pl.DataFrame, pipe_of: PipeOf) -> pl.DataFrame:
    """The table `hops` of what `steps` returned, for points with one pipe between each two.

    A packet that was seen last where others go on was dropped (`unseen`) if one that was seen there
    later did go on; else it is still under way. Only sightings are known: the time in queues and on
    the line is one.
    """
    known = seen.join(usual_next(seen), on=["flow", "direction", "tap"], how="left")
    known = known.with_columns(to=pl.coalesce("next_tap", "usual")).filter(
        pl.col("to").is_not_null()
    )
    last_on = pl.col("time_ns").filter(pl.col("next_ns").is_not_null()).max()
    took = (pl.col("next_ns") - pl.col("time_ns")).median()
    way = ["flow", "direction", "tap", "to"]
    known = known.with_columns(overtaken=last_on.over(way), took=took.over(way))
    lost = pl.col("next_ns").is_null() & (pl.col("time_ns") < pl.col("overtaken"))
    pairs = known.select("tap", "to").unique()
    names = {(a, b): pipe_of(a, b) for a, b in pairs.rows()}
    known = known.with_columns(
        pipe=pl.struct("tap", "to").map_elements(
            lambda pair: names[(pair["tap"], pair["to"])], return_dtype=pl.String
        ),
        dropped=pl.when(lost).then(pl.lit("unseen")).otherwise(pl.lit("")),
        ended_ns=pl.when(lost)
        .then(pl.col("time_ns") + pl.col("took").fill_null(0).cast(pl.Int64))
        .otherwise(pl.col("next_ns"))
        .fill_null(-1),
    ).filter(pl.col("pipe").is_not_null())
    return table(known, pl.col("time_ns"), pl.col("time_ns"))


def table(rows: pl.DataFrame, offered: pl.Expr, leaves: pl.Expr) -> pl.DataFrame:
    """Rows with `pipe`, `dropped`, `ended_ns` and the columns of `packets`, as the table `hops`."""
    tcp = pl.col("flow_kind") == "tcp"
    data = pl.col("payload_bytes") > 0
    kind = (
        pl.when(tcp & data)
        .then(pl.lit("tcp"))
        .when(tcp)
        .then(pl.lit("ack"))
        .when(pl.col("flow_kind") == "ping")
        .then(pl.lit("ping"))
        .otherwise(pl.lit("udp"))
    )
    # Sent before: the first of its packets to carry these bytes came earlier.
    first = pl.col("packet_number").min().over("flow", "direction", "seq_bytes", "payload_bytes")
    again = tcp & data & (pl.col("packet_number") > first)
    return rows.select(
        offered_ns=offered,
        leaves_ns=leaves,
        ended_ns="ended_ns",
        pipe="pipe",
        dropped="dropped",
        flow="flow",
        direction="direction",
        packet_number="packet_number",
        kind=kind,
        frame_bytes="frame_bytes",
        tos="tos",
        seq_bytes=pl.when(pl.col("seq_bytes") < 0).then("packet_number").otherwise("seq_bytes"),
        payload_bytes="payload_bytes",
        ack_bytes="ack_bytes",
        tcp_flags="tcp_flags",
        cause=pl.when(again).then(pl.lit("again")).otherwise(pl.lit("")),
    ).sort("offered_ns", maintain_order=True)
