"""Workloads of Flent. Each expands to flows.

Høiland-Jørgensen et al., "Flent: The FLExible Network Tester", VALUETOOLS 2017; RRUL after D. Täht,
"Realtime Response Under Load" (2012). Codepoints of RRUL are Flent's: BE, BK (CS1), CS5, EF.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.experiment.fields import (
    Flag,
    Name,
    PositiveTime,
    Strict,
    Time,
    exactly_one,
    problem,
    whole_number,
)
from dumbbell.experiment.traffic import Algorithm, FlowSpec

Streams = Annotated[int, whole_number(0, 10_000)]
SomeStreams = Annotated[int, whole_number(1, 10_000)]
#: Codepoints of the TCP flows of RRUL, in order, and of its UDP probes.
CLASSES = ("BE", "CS1", "CS5", "EF")
UDP_PROBES = {"udp_be": "BE", "udp_bk": "CS1", "udp_ef": "EF"}


class LoadSpec(Strict):
    """Fields of every workload: probes during the whole run, and load for the time `length`."""

    client: Name
    congestion_control: Algorithm = "cubic"
    before: Time = 5_000_000_000
    length: PositiveTime = 60_000_000_000
    interval: PositiveTime = 200_000_000
    start_jitter: Time = 20_000_000

    def tcp(self, name: str, ends: tuple[str, str], dscp: str = "BE") -> FlowSpec:
        """Bulk flow for the time of the load."""
        return _flow(
            name,
            ends,
            dscp=dscp,
            start=f"{self.before} ns",
            stop=f"{self.before + self.length} ns",
            start_jitter=f"{self.start_jitter} ns",
            tcp=self.congestion_control,
        )

    def probe(self, name: str, to: str, protocol: str, dscp: str = "BE") -> FlowSpec:
        """Echo requests from the client during the whole run."""
        ping = {"interval": f"{self.interval} ns", "protocol": protocol}
        return _flow(name, (self.client, to), dscp=dscp, ping=ping)


def _flow(name: str, ends: tuple[str, str], **fields: Any) -> FlowSpec:
    return FlowSpec.model_validate({"name": name, "from": ends[0], "to": ends[1], **fields})


class OneServerSpec(LoadSpec):
    """A workload between two hosts."""

    server: Name

    def up(self, count: int, classes: tuple[str, ...]) -> list[FlowSpec]:
        """Flows from the client to the server."""
        ends = (self.client, self.server)
        return [self.tcp(f"up{i + 1}", ends, classes[i % len(classes)]) for i in range(count)]

    def down(self, count: int, classes: tuple[str, ...]) -> list[FlowSpec]:
        """Flows from the server to the client."""
        ends = (self.server, self.client)
        return [self.tcp(f"down{i + 1}", ends, classes[i % len(classes)]) for i in range(count)]


class RrulSpec(OneServerSpec):
    """RRUL: simultaneous flows up and down, RTT probes by ICMP and UDP, optionally speech."""

    up_flows: Annotated[Streams, Field(alias="up")] = 4
    down_flows: Annotated[Streams, Field(alias="down")] = 4
    voice: Flag = False

    def marked(self, classes: tuple[str, ...], probes: dict[str, str]) -> list[FlowSpec]:
        """Flows with these codepoints."""
        flows = [*self.up(self.up_flows, classes), *self.down(self.down_flows, classes)]
        flows.append(self.probe("icmp", self.server, "icmp"))
        flows += [self.probe(name, self.server, "udp", dscp) for name, dscp in probes.items()]
        if self.voice:
            best = "BE" if classes == ("BE",) else "EF"
            there, back = (self.client, self.server), (self.server, self.client)
            flows.append(_flow("voice_up", there, dscp=best, voice="g711"))
            flows.append(_flow("voice_down", back, dscp=best, voice="g711"))
        return flows

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload."""
        return self.marked(CLASSES, UDP_PROBES)


class RrulBestEffortSpec(RrulSpec):
    """RRUL without codepoints."""

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload."""
        return self.marked(("BE",), dict.fromkeys(UDP_PROBES, "BE"))


class TcpUpSpec(OneServerSpec):
    """Flows from the client, and RTT probes by ICMP."""

    streams: SomeStreams = 12

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload."""
        return [*self.up(self.streams, ("BE",)), self.probe("icmp", self.server, "icmp")]


class TcpDownSpec(OneServerSpec):
    """Flows to the client, and RTT probes by ICMP."""

    streams: SomeStreams = 12

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload."""
        return [*self.down(self.streams, ("BE",)), self.probe("icmp", self.server, "icmp")]


class RttFairSpec(LoadSpec):
    """A flow up, a flow down and RTT probes for each of several servers."""

    servers: Annotated[list[Name], Field(min_length=1, max_length=1000)]

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload, numbered by server."""
        flows = []
        for i, server in enumerate(self.servers, 1):
            flows.append(self.tcp(f"up{i}", (self.client, server)))
            flows.append(self.tcp(f"down{i}", (server, self.client)))
            flows.append(self.probe(f"icmp{i}", server, "icmp"))
        return flows


class WorkloadSpec(Strict):
    """Choice of a workload."""

    rrul: RrulSpec | None = None
    rrul_be: RrulBestEffortSpec | None = None
    tcp_nup: TcpUpSpec | None = None
    tcp_ndown: TcpDownSpec | None = None
    rtt_fair: RttFairSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, tuple(WorkloadSpec.model_fields))
        rrul = self.rrul or self.rrul_be
        if rrul is not None and rrul.up_flows + rrul.down_flows == 0:
            raise problem("up and down are both 0: there is no load", field="rrul")
        return self

    def flows(self) -> list[FlowSpec]:
        """Flows of the workload."""
        chosen = (self.rrul, self.rrul_be, self.tcp_nup, self.tcp_ndown, self.rtt_fair)
        return next(one for one in chosen if one is not None).flows()
