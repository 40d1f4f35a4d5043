"""Setting of a cell: its bottlenecks and flows as its scenario describes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.limits.applications import read_mbps, written_mbps
from dumbbell.limits.datagrams import burst_packets
from dumbbell.limits.flows import FRAME_BYTES, longest_frame_bytes, network_limits
from dumbbell.limits.pipes import pipes_of, rate_steps, wire_bytes
from dumbbell.limits.sharing import buffers_of
from dumbbell.scenario import Pipe
from dumbbell.summary.pipe_words import change_words

#: Times of a change closer than this are the same.
_SAME_TIME_S = 1e-3
#: Disciplines that signal nothing while delays are below a target.
_WITH_TARGET = ("codel", "fq_codel")


@dataclass(frozen=True)
class PipeSetting:
    """A direction of a link.

    Attributes:
        rates_bps: Lowest and highest rate in the run; None without a rate, or if it is 0.
        discipline: Name of the queue's discipline, as `drop_tail`.
        limit_bytes: Queue limit in bytes of full frames; None without one.
        frame_bytes: A full frame, of the largest MTU of all hosts.
        wire_bytes: What it takes on the wire, with cells and overhead.
        target_ms: Delay below which its discipline signals nothing (CoDel); None without one.
        loss: True if packets are lost at random before the queue.
        bursty_loss: True if these losses come in bursts (Gilbert–Elliott).
        changes: Changes of the link: second, words.
        filters_acks: True if its discipline removes needless ACKs (CAKE).
        in_bytes: True if the queue limit counts bytes.
        inside: Names of the discipline and of those of its classes or bands.
        policer_bytes: Burst of its policer; None without one.
    """

    rates_bps: tuple[float, float] | None
    discipline: str
    limit_bytes: float | None
    loss: bool
    bursty_loss: bool
    changes: tuple[tuple[float, str], ...]
    filters_acks: bool = False
    in_bytes: bool = False
    inside: tuple[str, ...] = ()
    policer_bytes: int | None = None
    frame_bytes: int = FRAME_BYTES
    wire_bytes: int = FRAME_BYTES
    target_ms: float | None = None

    def change_in(self, begin_s: float, end_s: float) -> str:
        """Words about the changes at the beginning of a stretch and inside; empty without any.

        `5 Mbit/s and 75 % loss, from 12.2 s no loss`.
        """
        first = begin_s + _SAME_TIME_S
        return ", ".join(
            words if at_s < first else f"from {at_s:.6g} s {words}"
            for at_s, words in self.changes
            if begin_s - _SAME_TIME_S < at_s < end_s - _SAME_TIME_S
        )

    @property
    def limit_packets(self) -> float | None:
        """Queue limit in full frames."""
        return None if self.limit_bytes is None else self.limit_bytes / self.frame_bytes

    @property
    def limit_ms(self) -> tuple[float, float] | None:
        """Time in which a full queue drains, at the highest and at the lowest rate of the run."""
        if self.limit_bytes is None or self.rates_bps is None:
            return None
        least, most = self.rates_bps
        bits = 8e3 * self.limit_bytes * (self.wire_bytes / self.frame_bytes)
        return bits / most, bits / least


@dataclass(frozen=True)
class FlowSetting:
    """A flow.

    Attributes:
        base_rtt_ms: Round trip without queues, over its longest path.
        bdp_packets: Rate of its narrowest links times that, in full frames; None without a rate.
        narrowest: Pipes that are the narrowest of its path, or of its paths.
        pipes: All pipes that its data may pass.
        paths: Number of its paths.
        rate_mbps: Rate of the narrowest links of all its paths together; None without a limit.
        burst_packets: Packets that its datagrams of one interval make; 0 but for UDP.
        written_mbps: Rate at which its application writes; None without a limit.
        read_mbps: Rate at which the application of its receiver reads; None without a limit.
        buffers: Largest send and receive buffer of its TCP: `tcp_wmem`, `tcp_rmem` → bytes.
        frame_bytes: Its full frame.
        backups: True if some of its subflows are backups.
    """

    base_rtt_ms: float
    bdp_packets: float | None
    narrowest: tuple[str, ...]
    paths: int
    rate_mbps: float | None
    burst_packets: float
    written_mbps: float | None
    read_mbps: float | None
    buffers: Mapping[str, int] = field(default_factory=dict)
    frame_bytes: int = FRAME_BYTES
    backups: bool = False
    pipes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Setting:
    """Network and flows of a cell.

    Attributes:
        pipes: Pipes by name.
        flows: Flows by name.
        spraying: How routers choose among equal paths; empty: they do not.
        sack: True if all hosts have SACK, False if none has, else None.
    """

    pipes: Mapping[str, PipeSetting]
    flows: Mapping[str, FlowSetting]
    spraying: str
    sack: bool | None = None


def setting(scenario: str, flows: Iterable[str]) -> Setting:
    """Setting of a scenario and some of its flows; flows of pages and arrivals are left out."""
    known = network_limits(scenario)
    spec = known.paths.spec
    frame = longest_frame_bytes(spec)
    pipes = {name: _pipe(pipe, frame) for name, pipe in pipes_of(spec).items()}
    found = {}
    hosts = {node["name"]: node["tcp"] for node in spec["nodes"]}
    flows_of = {flow["name"]: flow for flow in spec["flows"]}
    backups = {
        one["name"]
        for one in spec.get("connections", ())
        if any(subflow["backup"] for subflow in one["subflows"])
    }
    for name in dict.fromkeys(flows):
        try:
            limits, narrow = known.of(name), known.narrowest_pipes(name)
        except (KeyError, ValueError):
            continue
        rate = limits.rate_bps * 1e-6 if limits.rate_bps < float("inf") else None
        own = flows_of.get(name)
        udp = own["traffic"].get("udp") if own else None
        found[name] = FlowSetting(
            base_rtt_ms=1e3 * limits.base_rtt_s,
            bdp_packets=limits.bdp_packets if math.isfinite(limits.bdp_packets) else None,
            narrowest=tuple(narrow),
            paths=limits.paths,
            rate_mbps=rate,
            burst_packets=burst_packets(udp) if udp else 0.0,
            written_mbps=written_mbps(own) if own else None,
            read_mbps=read_mbps(own) if own else None,
            buffers=buffers_of(hosts, own) if own else {},
            frame_bytes=limits.frame_bytes,
            backups=name in backups,
            pipes=known.pipes_of_data(name),
        )
    spraying = {node["spray"]["policy"] for node in spec["nodes"] if node["spray"]}
    sack = {node["tcp"]["tcp_sack"] for node in spec["nodes"] if node["tcp"]}
    return Setting(
        pipes,
        found,
        next(iter(spraying)) if len(spraying) == 1 else "",
        next(iter(sack)) if len(sack) == 1 else None,
    )


def _pipe(pipe: Pipe, frame_bytes: int) -> PipeSetting:
    kind, options = next(iter(pipe["queue"].items()))
    if kind == "htb" and len(options["classes"]) == 1:
        kind, options = next(iter(options["classes"][0]["queue"].items()))
    packets, size = options.get("limit_packets"), options.get("limit_bytes")
    limits = [*([packets * frame_bytes] if packets else []), *([size] if size else [])]
    changes = tuple((one["at_ns"] * 1e-9, change_words(one)) for one in pipe["changes"])
    lost = pipe["loss"]
    if "netem" in pipe["queue"] and pipe["queue"]["netem"].get("words"):
        lost = pipe["queue"]["netem"]["words"]["loss"]
    loss = lost if isinstance(lost, dict) else {}
    limit = min(limits, default=None)
    bursty = not loss.keys().isdisjoint(("gilbert_elliott", "gemodel", "state"))
    filters = options.get("ack_filter", "no-ack-filter") != "no-ack-filter"
    rates = [rate for _, rate in rate_steps(pipe)]
    return PipeSetting(
        (min(rates), max(rates)) if rates and min(rates) > 0 else None,
        kind,
        limit,
        bool(loss),
        bursty,
        changes,
        filters,
        size is not None and limit == size,
        tuple(dict.fromkeys(_names({kind: options}))),
        pipe["policer"]["burst_bytes"] if pipe["policer"] else None,
        frame_bytes,
        wire_bytes(pipe, frame_bytes),
        options["target_ns"] * 1e-6 if kind in _WITH_TARGET else None,
    )


def _names(queue: Any) -> Iterator[str]:
    """Names of a discipline and of those of its classes or bands."""
    kind, options = next(iter(queue.items()))
    yield kind
    for one in (*options.get("classes", ()), *options.get("bands", ())):
        yield from _names(one["queue"])
