"""The traffic of a scenario: flows, multipath connections, arrivals, pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.catalogue import congestion_controls
from dumbbell.codes import Code
from dumbbell.errors import nearest_name
from dumbbell.experiment.arrivals import ArrivalsSpec
from dumbbell.experiment.build_network import NetworkBuilder, Parts
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.fields import Jitter
from dumbbell.experiment.kinds import scenario_traffic
from dumbbell.experiment.multipath import Between, Hosts, subflows
from dumbbell.experiment.options import DEFAULT_PROFILE, PROFILES
from dumbbell.experiment.pages import PageSpec
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.source import Loc
from dumbbell.experiment.traffic import (
    CODECS,
    RTP_HEADER_BYTES,
    FlowSpec,
    MptcpSpec,
    StreamSpec,
    TcpSpec,
)

PACED_BY_FQ = {one.name for one in congestion_controls().values() if one.paced_by_fq}
ETHERNET_MTU_BYTES = 1500
#: Memory that a flow takes while its experiment is read, and the limit of all.
FLOW_BYTES = 2_000
MAX_FLOW_BYTES = 4_000_000_000
NUMBER = re.compile(r"\{i(?:\+([0-9]{1,9}))?\}", re.ASCII)


def voice(codec: str) -> dict[str, Any]:
    """UDP traffic of the scenario for a codec."""
    speech_bytes, every_ns = CODECS[codec]
    datagram_bytes = speech_bytes + RTP_HEADER_BYTES
    return {
        "rate_bps": datagram_bytes * 8 * 10**9 // every_ns,
        "datagram_bytes": datagram_bytes,
        "interval_ns": 0,
        "mtu_bytes": ETHERNET_MTU_BYTES,
        "sleeps": False,
        "codec": codec,
    }


class FlowBuilder(NetworkBuilder):
    """Flows, multipath connections, arrivals and pages of a scenario."""

    def __init__(self, file: ExperimentFile, folder: Path, parts: Parts) -> None:
        super().__init__(file, folder, parts)
        self.flows: list[dict[str, Any]] = []
        self.flow_names: set[str] = set()
        self.sessions: list[dict[str, Any]] = []
        self.processes: list[dict[str, Any]] = []
        self.connections: list[dict[str, Any]] = []
        self.interfaces: dict[str, Between] = {}
        self.jitters: list[tuple[dict[str, Any], Jitter]] = []
        self.last_traffic: tuple[FlowSpec, dict[str, Any] | None] | None = None

    def add_flows(self) -> None:
        """Adds the flows of the workload and those written in the file."""
        self.check_size()
        for spec in self.file.workload.flows() if self.file.workload else []:
            self.origins["flows", len(self.flows)] = ("workload",)
            self.add_flow(spec, 1)
        for i, spec in enumerate(self.file.flows):
            for k in range(1, (spec.count or 1) + 1):
                self.origins["flows", len(self.flows)] = ("flows", i)
                self.add_flow(spec, k)

    def check_size(self) -> None:
        """Raises `BuildError` if the flows would not fit into memory while they are read."""
        counts = [spec.count or 1 for spec in self.file.flows]
        if sum(counts) * FLOW_BYTES > MAX_FLOW_BYTES:
            largest = counts.index(max(counts))
            gigabytes = sum(counts) * FLOW_BYTES / 1e9
            message = (
                f"{sum(counts)} flows would take about {gigabytes:.2g} GB of memory to read, above "
                f"the limit of {MAX_FLOW_BYTES / 1e9:g} GB; as arrivals they would take less"
            )
            raise BuildError(message, ("flows", largest, "count"), str(counts[largest]))

    def add_flow(self, spec: FlowSpec, k: int) -> None:
        """Adds the `k`-th copy of a flow, counted from 1."""

        def filled(text: str) -> str:
            return text if spec.count is None else numbered(text, k, spec.count)

        name = filled(spec.name) if spec.name is not None else f"flow{len(self.flows) + 1}"
        if name in self.flow_names:
            hint = "; with count, write {i} in the name" if spec.count is not None else ""
            at = (*self.origins["flows", len(self.flows)], "name")
            raise BuildError(f"two flows are named {name}{hint}", at, code=Code.FLOW_TAKEN)
        self.flow_names.add(name)
        flow: dict[str, Any] = {
            "name": name,
            "group": spec.group or "",
            "from": filled(spec.from_),
            "to": filled(spec.to),
            "start_ns": spec.start,
            "stop_ns": spec.stop,
            "start_jitter_ns": 0,
            "dscp": spec.dscp,
            "traffic": None,
        }
        if spec.start_jitter is not None:
            self.jitters.append((flow, spec.start_jitter))
        if spec.mptcp is not None:
            self.add_connection(spec.mptcp, flow)
            return
        flow["traffic"] = self.traffic(spec, flow)
        self.flows.append(flow)

    def traffic(self, spec: FlowSpec, flow: Mapping[str, Any]) -> dict[str, Any] | None:
        """Traffic of a flow. The copies of a flow share it, unless it depends on their hosts."""
        if spec.tcp is not None and (spec.tcp.sender or spec.tcp.receiver):
            return {"tcp": self.tcp(spec.tcp, flow)}
        if self.last_traffic is None or self.last_traffic[0] is not spec:
            made: dict[str, Any] | None
            if spec.tcp is not None:
                made = {"tcp": self.tcp(spec.tcp, flow)}
            elif spec.voice is not None:
                made = {"udp": voice(spec.voice.codec)}
            else:
                made = scenario_traffic(spec)
            self.last_traffic = (spec, made)
        return self.last_traffic[1]

    def add_connection(self, spec: MptcpSpec, flow: dict[str, Any]) -> None:
        """Adds a multipath connection, with a flow per subflow."""
        here = self.origins["flows", len(self.flows)]
        at = (*here, "mptcp")
        names = [str(link["name"]) for link in self.links]
        hosts = Hosts(flow["from"], flow["to"])
        self.check_hosts(flow, here)
        found = subflows(spec, hosts, self.network, names, at)
        tcp = self.transport(spec, spec.congestion_control, "subflow", flow)
        parts = []
        self.origins["connections", len(self.connections)] = at
        for i, between in enumerate(found):
            name = f"{flow['name']}/{i + 1}"
            if name in self.flow_names:
                raise BuildError(
                    f"two flows are named {name}", (*here, "name"), code=Code.FLOW_TAKEN
                )
            self.flow_names.add(name)
            start = flow["start_ns"] if between.spec.start is None else between.spec.start
            part = {**flow, "name": name, "start_ns": start, "stop_ns": between.spec.stop}
            self.origins["flows", len(self.flows)] = at
            self.flows.append({**part, "traffic": {"tcp": tcp}})
            self.interfaces[name] = between
            parts.append(
                {
                    "flow": name,
                    "local": names[between.local],
                    "remote": names[between.remote],
                    "backup": between.spec.backup,
                }
            )
            if self.jitters and self.jitters[-1][0] is flow:
                # Only the first subflow has jitter: the others start relative to it.
                self.jitters[-1] = (self.flows[-1], self.jitters[-1][1])
        self.connections.append(
            {
                "name": flow["name"],
                "group": flow["group"],
                "scheduler": spec.scheduler,
                "subflows": parts,
                "source": self.source(spec),
                "sink": {"lowat_bytes": spec.sink.lowat, "rate_bps": spec.sink.rate},
                "stop_ns": flow["stop_ns"],
                "opportunistic": spec.opportunistic,
            }
        )

    def arrivals(self, i: int, spec: ArrivalsSpec) -> dict[str, Any]:
        """Arrival process `i` of the file, in the form of the scenario."""
        self.origins["arrivals", i] = ("arrivals", i)
        tcp = TcpSpec(
            congestion_control=spec.tcp.congestion_control,
            fq=spec.tcp.fq,
            sender=spec.tcp.sender,
            receiver=spec.tcp.receiver,
        )
        ends = {"from": spec.from_, "to": spec.to}
        return {
            "name": spec.name,
            "group": spec.group or "",
            **ends,
            "start_ns": spec.start,
            "stop_ns": spec.stop,
            "dscp": spec.dscp,
            "per_second": spec.flows_per_second(),
            "size": spec.size.scenario(),
            "tcp": self.tcp(tcp, ends),
        }

    def add_pages(self) -> None:
        """Adds a session per page, and a flow per connection."""
        for i, page in enumerate(self.file.pages):
            at: Loc = ("pages", i)
            self.origins["sessions", i] = at
            session, connections = page.session()
            if any(other["name"] == page.name for other in self.sessions):
                raise BuildError(
                    f"two pages are named {page.name}", (*at, "name"), code=Code.FLOW_TAKEN
                )
            self.sessions.append(session)
            for name, server in connections:
                self.origins["flows", len(self.flows)] = at
                if name in self.flow_names:
                    raise BuildError(f"two flows are named {name}", at, code=Code.FLOW_TAKEN)
                self.flow_names.add(name)
                self.flows.append(self.connection(page, name, server))

    @staticmethod
    def connection(page: PageSpec, name: str, server: str) -> dict[str, Any]:
        """Flow that carries the responses of a page."""
        algorithm = page.congestion_control
        tcp = {
            "congestion_control": algorithm,
            "fq": algorithm in PACED_BY_FQ if page.fq is None else page.fq,
            "source": "session",
            "sink": {"lowat_bytes": 1, "rate_bps": None},
            "sender": None,
            "receiver": None,
        }
        return {
            "name": name,
            "group": "",
            "from": server,
            "to": page.client,
            "start_ns": 0,
            "stop_ns": None,
            "start_jitter_ns": 0,
            "dscp": 0,
            "traffic": {"tcp": tcp},
        }

    def tcp(self, spec: TcpSpec, flow: Mapping[str, Any]) -> dict[str, Any]:
        """TCP connection of a flow."""
        return self.transport(spec, spec.congestion_control, self.source(spec), flow)

    @staticmethod
    def source(spec: StreamSpec) -> dict[str, Any]:
        """Writes of the sending application, in the form of the scenario."""
        source: dict[str, Any] = {"bulk": {"bytes": spec.bytes, "refill_ns": 0}}
        if spec.source is not None and spec.source.bulk is not None:
            bulk = spec.source.bulk
            source = {"bulk": {"bytes": bulk.bytes, "refill_ns": bulk.refill}}
        elif spec.source is not None and spec.source.periodic is not None:
            periodic = spec.source.periodic
            fields = {"chunk_bytes": periodic.chunk, "interval_ns": periodic.interval}
            source = {"periodic": {**fields, "bytes": periodic.bytes}}
        elif spec.source is not None and spec.source.on_off is not None:
            bursts = spec.source.on_off
            fields = {"chunk_bytes": bursts.chunk, "interval_ns": bursts.interval}
            lengths = {"on_ns": bursts.on, "off_ns": bursts.off}
            lengths["exponential"] = bursts.lengths == "exponential"
            source = {"on_off": {**fields, **lengths, "bytes": bursts.bytes}}
        return source

    def transport(
        self,
        spec: StreamSpec,
        algorithm: str,
        source: dict[str, Any] | str,
        flow: Mapping[str, Any],
    ) -> dict[str, Any]:
        """TCP settings of a connection, in the form of the scenario."""
        default = PROFILES[DEFAULT_PROFILE]
        sender, receiver = spec.sender, spec.receiver
        return {
            "congestion_control": algorithm,
            "fq": algorithm in PACED_BY_FQ if spec.fq is None else spec.fq,
            "source": source,
            "sink": {"lowat_bytes": spec.sink.lowat, "rate_bps": spec.sink.rate},
            "sender": sender and sender.over(self.options.get(flow["from"], default)),
            "receiver": receiver and receiver.over(self.options.get(flow["to"], default)),
        }

    def check_hosts(self, flow: Mapping[str, Any], at: Loc) -> None:
        """Raises `BuildError` unless both endpoints are hosts. `at`: the flow in the file."""
        for end in ("from", "to"):
            if flow[end] not in self.host_names:
                field = {"from": "server", "to": "client"}[end] if at[0] == "pages" else end
                here = (*at, field)
                raise BuildError(
                    f"no host {flow[end]}",
                    here,
                    None,
                    suggested(flow[end], self.host_names),
                    code=Code.NO_NODE,
                )


def numbered(text: str, k: int, count: int) -> str:
    """Text with `k` in place of `{i}`, and the number `n` further on in place of `{i+n}`.

    After `count` comes 1.
    """
    if "{i" not in text:
        return text
    return NUMBER.sub(lambda found: str((k - 1 + int(found[1] or 0)) % count + 1), text)


def suggested(name: str, known: set[str]) -> tuple[str, ...]:
    """Known names for a message: the nearest one, then the others, short ones first."""
    near = nearest_name(name, known)
    rest = sorted(known - {near or ""}, key=lambda n: (len(n), n))
    return tuple(([near] if near is not None else []) + rest)
