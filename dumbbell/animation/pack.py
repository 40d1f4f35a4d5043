"""A scene as a header and columns of numbers, small enough for a page."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.animation.scene import Link, Pipe, Scene
from dumbbell.animation.series import series

#: Order of causes and kinds in the columns.
CAUSES = ("", "fast", "timeout", "probe", "again")
KINDS = ("tcp", "ack", "udp", "ping")
REASONS = (
    "",
    "overflow",
    "random",
    "scripted",
    "policed",
    "corrupted",
    "aqm",
    "filtered",
    "link_down",
    "queue",
    "line",
    "unseen",
)
#: gzip, as browsers decompress it.
_GZIP = 16 + zlib.MAX_WBITS


def packed(scene: Scene) -> tuple[dict[str, Any], str]:
    """The header, and its columns compressed, as base64.

    The header's `columns` names them in their order: name, type as of NumPy, length. Times are
    whole nanoseconds as 64-bit floats, which are exact to 104 days: `offered` as the difference to
    the hop before, `waited` from there to leaving the queue, `took` from leaving the queue (if it
    ever did) to the end; -1: never.
    """
    hops = scene.hops.sort("offered_ns", maintain_order=True).with_row_index("row")
    pipes = [pipe for link in scene.links for pipe in (link.forward, link.backward)]
    packet = pl.struct("flow", "direction", "packet_number").rank("dense").cast(pl.Int64) - 1
    hops = hops.with_columns(packet=packet)
    sent = hops.unique("packet", keep="first").sort("packet")
    columns = {**_hop_columns(hops, pipes), **_packet_columns(sent, scene)}
    header = {
        "title": scene.title,
        "from_ns": scene.from_ns,
        "to_ns": scene.to_ns,
        "counts": scene.counts,
        "nodes": [{"name": n.name, "kind": n.kind, "x": n.x, "y": n.y} for n in scene.nodes],
        "pipes": [one for link in scene.links for one in _pipes(link)],
        "flows": [
            {"name": one.name, "kind": one.kind, "from": one.from_host, "to": one.to_host}
            for one in scene.flows
        ],
        "causes": CAUSES,
        "kinds": KINDS,
        "reasons": REASONS,
        "charts": series(scene),
        "states": _states(scene),
        "explained": _explained(scene),
        "remarks": [{"time_ns": at, "text": text} for at, text in scene.remarks],
        "notes": scene.notes,
        "columns": [[name, str(data.dtype), int(data.size)] for name, data in columns.items()],
    }
    compress = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    data = b"".join(compress.compress(_bytes(one)) for one in columns.values()) + compress.flush()
    return header, base64.b64encode(data).decode("ascii")


def _bytes(data: npt.NDArray[Any]) -> bytes:
    """Little-endian, each column beginning at a multiple of 8."""
    raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
    return raw + b"\0" * (-len(raw) % 8)


def _hop_columns(hops: pl.DataFrame, pipes: list[Pipe]) -> dict[str, npt.NDArray[Any]]:
    numbers = {pipe.name: number for number, pipe in enumerate(pipes)}
    offered = hops["offered_ns"].to_numpy().astype(np.float64)
    leaves = hops["leaves_ns"].to_numpy().astype(np.float64)
    ended = hops["ended_ns"].to_numpy().astype(np.float64)
    from_ = np.where(leaves >= 0, leaves, offered)
    return {
        "offered": np.diff(offered, prepend=0.0),
        "waited": np.where(leaves >= 0, leaves - offered, -1.0),
        "took": np.where(ended >= 0, ended - from_, -1.0),
        "packet": hops["packet"].to_numpy().astype(np.uint32),
        "pipe": hops["pipe"].replace_strict(numbers, return_dtype=pl.UInt16).to_numpy(),
        "dropped": _coded(hops["dropped"], REASONS),
        "marked": ((hops["tos"].to_numpy() & 3) == 3).astype(np.uint8),
    }


def _packet_columns(sent: pl.DataFrame, scene: Scene) -> dict[str, npt.NDArray[Any]]:
    flows = {flow.name: number for number, flow in enumerate(scene.flows)}
    flags = [sum(bit for name, bit in _FLAGS if name in text) for text in sent["tcp_flags"]]
    return {
        "seq": sent["seq_bytes"].to_numpy().astype(np.float64),
        "ack": sent["ack_bytes"].to_numpy().astype(np.float64),
        "number": sent["packet_number"].to_numpy().astype(np.uint32),
        "bytes": sent["frame_bytes"].to_numpy().astype(np.uint32),
        "payload": sent["payload_bytes"].to_numpy().astype(np.int32),
        "flow": sent["flow"].replace_strict(flows, return_dtype=pl.UInt16).to_numpy(),
        "back": (sent["direction"] == "back").to_numpy().astype(np.uint8),
        "kind": _coded(sent["kind"], KINDS),
        "cause": _coded(sent["cause"], CAUSES),
        "flags": np.array(flags, dtype=np.uint8),
    }


_FLAGS = (("syn", 1), ("fin", 2), ("ece", 4), ("cwr", 8))


def _coded(texts: pl.Series, codes: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    numbers = {text: number for number, text in enumerate(codes)}
    coded = texts.replace_strict(numbers, default=len(codes) - 1, return_dtype=pl.UInt8)
    return coded.to_numpy()


def _pipes(link: Link) -> list[dict[str, Any]]:
    ways = ((link.forward, link.a, link.b), (link.backward, link.b, link.a))
    return [
        {
            "name": pipe.name,
            "from": from_,
            "to": to,
            "rate_bps": pipe.rate_bps,
            "overhead_bytes": pipe.overhead_bytes,
            "limit_packets": pipe.limit_packets,
            "words": pipe.words,
            "down_ns": pipe.down_ns,
        }
        for pipe, from_, to in ways
    ]


def _explained(scene: Scene) -> list[dict[str, Any]]:
    """Explanations, with the numbers of their flows and packets."""
    numbers = {flow.name: number for number, flow in enumerate(scene.flows)}
    return [
        {
            "flow": numbers[one.explanation.flow],
            "from_ns": one.start_ns,
            "to_ns": one.end_ns,
            "sent": one.sent,
            "answered": one.answered,
            "links": [
                {"step": link.step.value, "time_ns": link.time_ns, "sentence": link.sentence}
                for link in one.explanation.links
            ],
        }
        for one in scene.explained
        if one.explanation.flow in numbers
    ]


def _states(scene: Scene) -> list[dict[str, Any]]:
    """Times at which a sender's congestion state was first sampled as a new one."""
    samples = scene.samples
    if samples.is_empty():
        return []
    numbers = {flow.name: number for number, flow in enumerate(scene.flows)}
    rows = samples.filter((pl.col("state") != "") & pl.col("flow").is_in(list(numbers)))
    rows = rows.sort("flow", "time_ns").with_columns(before=pl.col("state").shift().over("flow"))
    changes = rows.filter(pl.col("state") != pl.col("before")).sort("time_ns")
    within = changes.filter(pl.col("time_ns").is_between(scene.from_ns, scene.to_ns))
    return [
        {"time_ns": at, "flow": numbers[flow], "before": before, "state": state}
        for at, flow, before, state in within.select(
            "time_ns", "flow", "before", "state"
        ).iter_rows()
    ]
