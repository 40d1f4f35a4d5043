"""The way of packets that were seen at some points, from one to the next.

What lies between two points is one hop; where a packet was seen last although others of its flow
went on, it was lost, or is still there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import polars as pl

from dumbbell import layout
from dumbbell.layout import distances
from dumbbell.scenario import Sampling, Scenario, Stretch, Tap

#: A pair of points, and what the way between them is called; None: it is inside a node.
PipeOf = Callable[[str, str], str | None]
#: Part of a kernel run's identity: a hash of the sources that make hops of packets.
VERSION = (
    "hops-"
    + hashlib.sha256(
        b"\0".join(Path(file).read_bytes() for file in (__file__, layout.__file__))
    ).hexdigest()[:8]
)
_PACKET = ["flow", "direction", "packet_number"]
#: Time around a stretch in which packets are followed, too.
_MARGIN_NS = 2_000_000_000


def steps(packets: pl.DataFrame, place: pl.Series) -> pl.DataFrame:
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
    """Next tap of most packets of a flow and direction: `usual` (null: none)."""
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


def everywhere(scenario: Scenario) -> Scenario:
    """A scenario that asks for `hops`, for an engine that sees packets at taps only.

    It has a tap at every interface, the scenario's own first, and keeps what passes them.
    """
    known = {(one["node"], one["link"]) for one in scenario["taps"]}
    more: list[Tap] = [
        {"name": f"{node}/{link['name']}", "node": node, "link": link["name"]}
        for link in scenario["links"]
        for node in (link["a"], link["b"])
        if (node, link["name"]) not in known
    ]
    # Of the packets at the beginning of the stretch it must be known where they came from, of those
    # at its end where they arrive. A guest keeps in its memory what taps see.
    kept = scenario["sampling"].get("hops") or {"from_ns": 0, "to_ns": scenario["duration_ns"]}
    stretch: Stretch = {
        "from_ns": max(0, kept["from_ns"] - _MARGIN_NS),
        "to_ns": min(scenario["duration_ns"], kept["to_ns"] + _MARGIN_NS),
    }
    sampling: Sampling = {**scenario["sampling"], "packets": stretch, "hops": None}
    return {**scenario, "taps": [*scenario["taps"], *more], "sampling": sampling}


def hops_of_run(packets: pl.DataFrame, scenario: Scenario) -> pl.DataFrame:
    """The table `hops` of a run whose engine saw packets at every interface.

    A tap sees a packet after the queue. It came to a link when it arrived at the node; what
    arrived at a node and never left it was dropped in the queue of the link that its flow takes
    there, if one that came later has left: why, taps do not know (`unseen`).

    Args:
        packets: The table `packets` of one run.
        scenario: As `everywhere` returned it.
    """
    taps = {one["name"]: (one["node"], one["link"]) for one in scenario["taps"]}
    ends = {one["name"]: (one["a"], one["b"]) for one in scenario["links"]}
    kinds = {one["name"]: next(iter(one["traffic"])) for one in scenario["flows"]}
    hosts = {one["name"]: (one["from"], one["to"]) for one in scenario["flows"]}
    pipes = {}
    for tap, (node, link) in taps.items():
        pipes[tap] = f"{link}/forward" if ends[link][0] == node else f"{link}/backward"
    far = _far(scenario)
    rows = []
    for flow, (from_, to) in hosts.items():
        for direction, source, target in (("out", from_, to), ("back", to, from_)):
            for tap, (node, link) in taps.items():
                a, b = ends[link]
                other = b if node == a else a
                leaves = far[source].get(other, 0) > far[source].get(node, 0)
                place = 2 * far[source].get(node, 0) + int(leaves)
                rows.append((flow, direction, tap, place, leaves, node == target))
    known = pl.DataFrame(
        rows, ["flow", "direction", "tap", "place", "leaves", "is_end"], orient="row"
    )
    seen = packets.join(known, on=["flow", "direction", "tap"], maintain_order="left")
    seen = steps(seen.drop("place"), seen["place"]).with_columns(
        before_ns=pl.col("time_ns").shift().over(_PACKET),
        flow_kind=pl.col("flow").replace_strict(kinds, return_dtype=pl.String),
    )
    way = ["flow", "direction", "tap"]
    usual = seen.filter(pl.col("next_ns").is_not_null())
    most = usual.group_by(*way, "next_tap").len().sort("len", descending=True)
    usual = most.group_by(way).agg(usual=pl.col("next_tap").first())
    went = pl.col("time_ns").filter(pl.col("next_ns").is_not_null()).max().over(way)
    took = (pl.col("next_ns") - pl.col("time_ns")).median().over(way)
    seen = seen.join(usual, on=way, how="left", maintain_order="left").with_columns(
        lost=pl.col("next_ns").is_null() & (pl.col("time_ns") < went), took=took
    )
    dropped = pl.when("lost").then(pl.lit("unseen")).otherwise(pl.lit(""))
    on_line = seen.filter("leaves").with_columns(
        pipe=pl.col("tap").replace_strict(pipes),
        dropped=dropped,
        came=pl.coalesce("before_ns", "time_ns"),
        left=pl.col("time_ns"),
        ended_ns=pl.when("lost")
        .then(pl.col("time_ns") + pl.col("took").fill_null(0).cast(pl.Int64))
        .otherwise("next_ns")
        .fill_null(-1),
    )
    stayed = pl.col("next_ns").is_null() & ~pl.col("leaves") & ~pl.col("is_end")
    in_queue = seen.filter(stayed & pl.col("usual").is_not_null()).with_columns(
        pipe=pl.col("usual").replace_strict(pipes),
        dropped=dropped,
        came=pl.col("time_ns"),
        left=pl.lit(-1, pl.Int64),
        ended_ns=pl.when("lost").then("time_ns").otherwise(-1),
    )
    return table(pl.concat([on_line, in_queue]), pl.col("came"), pl.col("left"))


def _far(scenario: Scenario) -> dict[str, dict[str, int]]:
    """Links between each flow's ends and every node."""
    neighbours: dict[str, list[str]] = {node["name"]: [] for node in scenario["nodes"]}
    for link in scenario["links"]:
        neighbours[link["a"]].append(link["b"])
        neighbours[link["b"]].append(link["a"])
    hosts = {host for flow in scenario["flows"] for host in (flow["from"], flow["to"])}
    return {host: distances([host], neighbours) for host in hosts}
