"""Observations of a flow around a time: what a chain of causes is made from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from dumbbell.explain.packets import Packet, packets_of
from dumbbell.metrics.stretch import typical_rtt_ns
from dumbbell.scenario import Flow, Pipe, Scenario

Row = Mapping[str, Any]
#: Payload of a segment where no packet shows one.
_MSS = 1448
#: Columns of `samples` by which limits are told.
_LIMITS = (
    *("time_ns", "state", "cwnd_packets", "in_flight_packets", "sacked_packets", "lost_packets"),
    *("rwnd_bytes", "unsent_bytes"),
)


@dataclass(frozen=True)
class Observed:
    """Observations of one flow.

    Attributes:
        scenario: Scenario of the run.
        flow: Name of the flow.
        totals: Its row of the table `flows`.
        starts: Flow → its first packet, ns, of all flows.
        from_ns: Start of the stretch of time that is kept.
        to_ns: End of this stretch.
        packets: Its packets in this stretch, in order of sending.
        hops: Table `hops`, of all flows.
        samples: Rows of `samples` of the flow in this stretch.
        queues: Table `queues` in this stretch.
        windows: Rows of `samples` of the flow in the whole run.
        connection: Rows of `samples` of its Multipath TCP connection in the whole run.
    """

    scenario: Scenario
    flow: str
    totals: Row
    starts: Mapping[str, int]
    from_ns: int
    to_ns: int
    packets: Sequence[Packet]
    hops: pl.DataFrame
    samples: Sequence[Row]
    queues: pl.DataFrame
    windows: pl.DataFrame
    connection: pl.DataFrame

    @cached_property
    def spec(self) -> Flow | None:
        """Flow of the scenario; None: it arrived during the run."""
        return next((one for one in self.scenario["flows"] if one["name"] == self.flow), None)

    @cached_property
    def has_sack(self) -> bool:
        """True if both ends have SACK (RFC 2018 §2)."""
        ends = self.totals["from_host"], self.totals["to_host"]
        tcp = [one["tcp"] for one in self.scenario["nodes"] if one["name"] in ends]
        return all(one is not None and one["tcp_sack"] for one in tcp)

    @cached_property
    def data(self) -> list[Packet]:
        """Packets of the sender with payload or SYN."""
        return [one for one in self.packets if one.out and (one.payload or one.syn)]

    @cached_property
    def acks(self) -> list[Packet]:
        """Packets of the receiver that arrived at the sender, in order of arrival."""
        found = [one for one in self.packets if not one.out and one.arrived_ns >= 0]
        return sorted(found, key=lambda one: one.arrived_ns)

    @cached_property
    def ack_times(self) -> list[int]:
        """Arrivals of `acks`."""
        return [one.arrived_ns for one in self.acks]

    @cached_property
    def life(self) -> Sequence[Row]:
        """Rows of `samples` of the whole run, from which limits are read."""
        return self.windows.select(_LIMITS).to_dicts()

    @cached_property
    def connection_unsent(self) -> dict[int, int]:
        """Time → bytes that the Multipath TCP connection has given to no subflow; -1: unknown."""
        return dict(self.connection.select("time_ns", "unsent_bytes").iter_rows())

    @cached_property
    def times(self) -> list[int]:
        """Times of `samples`."""
        return [row["time_ns"] for row in self.samples]

    @cached_property
    def mss(self) -> int:
        """Largest payload of a segment, bytes."""
        return max((one.payload for one in self.data), default=0) or _MSS

    @cached_property
    def rtt_ns(self) -> int:
        """Typical RTT: median of the smoothed ones, else the minimum of the run."""
        return typical_rtt_ns(self.samples, self.totals)

    @cached_property
    def pipes(self) -> dict[str, Pipe]:
        """Pipe of the scenario by its name in tables."""
        return {
            f"{link['name']}/{way}": pipe
            for link in self.scenario["links"]
            for way, pipe in (("forward", link["forward"]), ("backward", link["backward"]))
        }

    def acks_within(self, from_ns: int, to_ns: int) -> list[Packet]:
        """ACKs that arrived after `from_ns`, up to `to_ns`."""
        first = bisect_right(self.ack_times, from_ns)
        return self.acks[first : bisect_right(self.ack_times, to_ns)]

    def acknowledged_ns(self, byte: int, after_ns: int) -> int | None:
        """Arrival of the first ACK that covers a byte; None: not in the stretch."""
        for one in self.acks[bisect_left(self.ack_times, after_ns) :]:
            if one.ack >= byte and (byte > 0 or one.syn):
                return one.arrived_ns
        return None

    def before(self, time_ns: int) -> Row | None:
        """Last sample before a time."""
        index = bisect_left(self.times, time_ns) - 1
        return self.samples[index] if index >= 0 else None

    def after(self, time_ns: int) -> Row | None:
        """First sample after a time."""
        index = bisect_right(self.times, time_ns)
        return self.samples[index] if index < len(self.samples) else None

    def within(self, from_ns: int, to_ns: int) -> Sequence[Row]:
        """Samples in a time, both ends included."""
        return self.samples[bisect_left(self.times, from_ns) : bisect_right(self.times, to_ns)]

    def queue_before(self, pipe: str, time_ns: int) -> Row | None:
        """Last row of `queues` of a pipe up to a time."""
        rows = self.queues.filter((pl.col("pipe") == pipe) & (pl.col("time_ns") <= time_ns))
        return rows.sort("time_ns").row(-1, named=True) if rows.height else None

    def queue_after(self, pipe: str, time_ns: int) -> Row | None:
        """First row of `queues` of a pipe after a time."""
        rows = self.queues.filter((pl.col("pipe") == pipe) & (pl.col("time_ns") > time_ns))
        return rows.sort("time_ns").row(0, named=True) if rows.height else None


def ends_of(scenario: Scenario) -> dict[str, str]:
    """Pipe → node at its far end."""
    found = {}
    for link in scenario["links"]:
        found[f"{link['name']}/forward"] = link["b"]
        found[f"{link['name']}/backward"] = link["a"]
    return found


def observe(
    scenario: Scenario,
    flow: str,
    tables: Mapping[str, pl.DataFrame],
    stretch: tuple[int, int],
) -> Observed:
    """Observations from tables of one run.

    Args:
        scenario: Scenario of the run.
        flow: Name of the flow.
        tables: `flows`, `hops`, `packets`, `samples` and `queues` of the run.
        stretch: Start and end of the time that `hops` keeps.
    """
    totals = tables["flows"].filter(pl.col("flow") == flow).row(0, named=True)
    starts = dict(tables["flows"].select("flow", "start_ns").iter_rows())
    hosts = (str(totals["from_host"]), str(totals["to_host"]))
    within = pl.col("time_ns").is_between(*stretch)
    windows = tables["samples"].filter(pl.col("flow") == flow).sort("time_ns")
    connection = tables["samples"].filter(pl.col("flow") == totals["connection"])
    packets = packets_of(tables["hops"], tables["packets"], flow, ends_of(scenario), hosts)
    return Observed(
        scenario,
        flow,
        totals,
        starts,
        stretch[0],
        stretch[1],
        packets,
        tables["hops"],
        windows.filter(within).to_dicts(),
        tables["queues"].filter(within),
        windows,
        connection,
    )
