"""Packets of a flow, each with its path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

#: ECN field of the IP header that a router marked.
_CE = 3


@dataclass(frozen=True, slots=True)
class Passage:
    """Passage of a packet over one direction of a link. -1 ns: never."""

    pipe: str
    offered_ns: int
    leaves_ns: int
    ended_ns: int

    @property
    def waited_ns(self) -> int:
        """Time in the queue; 0 if the packet never left it."""
        return max(0, self.leaves_ns - self.offered_ns) if self.leaves_ns >= 0 else 0

    @property
    def travelled_ns(self) -> int:
        """Time from the queue to the far end; 0 if the packet did not arrive there."""
        return (
            max(0, self.ended_ns - self.leaves_ns) if min(self.ended_ns, self.leaves_ns) >= 0 else 0
        )


@dataclass(frozen=True, slots=True)
class Packet:
    """Packet of a flow.

    Attributes:
        flow: Name of the flow.
        number: Number in its flow and direction, in order of sending.
        out: True: from the flow's source.
        sent_ns: Arrival at its first link.
        arrived_ns: Arrival at the receiving host; -1: never.
        dropped: Reason of its drop; empty: not dropped.
        dropped_at: Pipe of the drop.
        dropped_ns: Time of the drop.
        seq: First payload byte.
        payload: Payload bytes.
        ack: Next byte expected from the other side.
        flags: TCP flags.
        cause: Cause of a retransmission: fast, timeout, probe, again; empty: none.
        marked_at: Pipe that marked it CE; empty: none.
        marked_ns: Time of the mark.
        path: Passages in order.
        sack: SACK blocks, as the table `packets` writes them; None: unknown.
        window: Advertised window in bytes; -1: unknown.
        answer: True for a SYN that answers another: the receiver may open the connection.
    """

    flow: str
    number: int
    out: bool
    sent_ns: int
    arrived_ns: int
    dropped: str
    dropped_at: str
    dropped_ns: int
    seq: int
    payload: int
    ack: int
    flags: frozenset[str]
    cause: str
    marked_at: str
    marked_ns: int
    path: tuple[Passage, ...]
    sack: str | None = None
    window: int = -1
    answer: bool = False

    @property
    def end(self) -> int:
        """First payload byte after the packet."""
        return self.seq + self.payload

    @property
    def syn(self) -> bool:
        """True if it opens the connection."""
        return "syn" in self.flags

    @property
    def title(self) -> str:
        """Name at the beginning of a sentence."""
        return f"{self.name[0].upper()}{self.name[1:]}"

    @property
    def name(self) -> str:
        """Words for the packet: `segment 85432–86880`, `SYN`."""
        if self.syn:
            return "SYN-ACK" if self.answer else "SYN"
        if self.payload:
            return f"segment {self.seq}–{self.end}"
        return f"ACK {self.ack}" if not self.out or self.ack else "a packet without payload"


def packets_of(
    hops: pl.DataFrame, seen: pl.DataFrame, flow: str, ends: dict[str, str], hosts: tuple[str, str]
) -> list[Packet]:
    """Packets of a flow in the order of their sending.

    Args:
        hops: Table `hops`.
        seen: Table `packets`, of taps at the flow's sender; it may be empty.
        flow: Name of the flow.
        ends: Pipe → node at its far end.
        hosts: Sending and receiving host of the flow.
    """
    acks = {
        row["packet_number"]: (row["sack_ranges_bytes"], row["window_bytes"])
        for row in seen.filter(
            (pl.col("flow") == flow) & (pl.col("direction") == "back")
        ).iter_rows(named=True)
    }
    own = hops.filter(pl.col("flow") == flow).sort("offered_ns", maintain_order=True)
    by_packet: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in own.iter_rows(named=True):
        by_packet.setdefault((row["direction"], row["packet_number"]), []).append(row)
    found = [_packet(rows, ends, hosts, acks) for rows in by_packet.values()]
    return _with_syns(sorted(found, key=lambda one: one.sent_ns))


def _with_syns(packets: list[Packet]) -> list[Packet]:
    """Packets in which each SYN after the first is a retransmission: only a timer repeats it."""
    opener = next((one.out for one in packets if one.syn), True)
    seen: set[bool] = set()
    for number, one in enumerate(packets):
        if not one.syn:
            continue
        again = one.out in seen and not one.cause
        packets[number] = replace(
            one, cause="timeout" if again else one.cause, answer=one.out != opener
        )
        seen.add(one.out)
    return packets


def _packet(
    rows: list[dict[str, Any]],
    ends: dict[str, str],
    hosts: tuple[str, str],
    acks: dict[int, tuple[str, int]],
) -> Packet:
    first = rows[0]
    out = first["direction"] == "out"
    goal = hosts[1] if out else hosts[0]
    arrived = [
        row["ended_ns"]
        for row in rows
        if not row["dropped"] and row["ended_ns"] >= 0 and ends.get(row["pipe"]) == goal
    ]
    drop = next((row for row in rows if row["dropped"]), None)
    mark = next((row for row in rows if row["tos"] % 4 == _CE), None)
    sack, window = (None, -1) if out else acks.get(first["packet_number"], (None, -1))
    return Packet(
        first["flow"],
        first["packet_number"],
        out,
        first["offered_ns"],
        min(arrived, default=-1),
        drop["dropped"] if drop and not arrived else "",
        drop["pipe"] if drop else "",
        drop["ended_ns"] if drop else -1,
        first["seq_bytes"],
        first["payload_bytes"],
        first["ack_bytes"],
        frozenset(first["tcp_flags"].split()),
        first["cause"],
        mark["pipe"] if mark else "",
        max(mark["leaves_ns"], mark["offered_ns"]) if mark else -1,
        tuple(
            Passage(row["pipe"], row["offered_ns"], row["leaves_ns"], row["ended_ns"])
            for row in rows
        ),
        sack,
        window,
    )
