"""A checked experiment file, without factors → one scenario, and where each part came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.catalogue import congestion_controls
from dumbbell.errors import nearest_name
from dumbbell.experiment.arrivals import ArrivalsSpec
from dumbbell.experiment.document import DEFAULTS, ExperimentFile
from dumbbell.experiment.fields import Jitter
from dumbbell.experiment.multipath import Between, Ends, subflows
from dumbbell.experiment.network import LinkSpec, RouterSpec, SpraySpec
from dumbbell.experiment.options import DEFAULT_PROFILE, PROFILES, HostSpec
from dumbbell.experiment.pages import PageSpec
from dumbbell.experiment.pipes import BuildError, Pending, fill, fixed_delay_ns, pipe
from dumbbell.experiment.routing import Network, Pipe, RoutingError
from dumbbell.experiment.source import Loc
from dumbbell.experiment.templates import TemplateSpec, Topology
from dumbbell.experiment.traffic import (
    CODECS,
    RTP_HEADER_BYTES,
    FlowSpec,
    MptcpSpec,
    StreamSpec,
    TcpSpec,
)

SCENARIO_VERSION = 1
PACED_BY_FQ = {one.name for one in congestion_controls().values() if one.paced_by_fq}
KEPT = ("samples", "queues", "drops", "probes")
ETHERNET_MTU_BYTES = 1500
_WAYS = ("forward", "backward")
_PLAIN_HOST, _PLAIN_ROUTER = HostSpec(), RouterSpec()
#: Parts of a kind held at a time.
_MOST_PARTS = 4096


def voice(codec: str) -> dict[str, Any]:
    """A codec's datagrams."""
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


@dataclass(slots=True)
class Built:
    """A scenario.

    Attributes:
        scenario: As its JSON.
        origins: Path of a part of the scenario → where it stands in the file. The longest
            matching prefix counts.
        rtt_ns: Base RTT of each flow: fixed delays there and back.
    """

    scenario: dict[str, Any]
    origins: dict[Loc, Loc] = field(default_factory=dict)
    rtt_ns: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Parts:
    """Parts of scenarios, made of models that cells share; a part keeps its models alive."""

    topologies: dict[int, tuple[TemplateSpec, Topology]] = field(default_factory=dict)
    pipes: dict[tuple[int, Loc], tuple[LinkSpec, list[Pending]]] = field(default_factory=dict)
    options: dict[tuple[int, int], tuple[HostSpec, HostSpec, dict[str, Any]]] = field(
        default_factory=dict
    )

    def topology(self, template: TemplateSpec) -> Topology:
        """What a template expands to."""
        if id(template) not in self.topologies:
            self._bound()
            self.topologies[id(template)] = (template, template.expand())
        return self.topologies[id(template)][1]

    def directions(self, spec: LinkSpec, folder: Path, at: Loc) -> list[Pending]:
        """The pipes of a link, their limits still open."""
        key = (id(spec), at)
        if key not in self.pipes:
            self._bound()
            made = [
                pipe(one, folder, (*at, way))[1]
                for way, one in zip(_WAYS, spec.directions(), strict=True)
            ]
            self.pipes[key] = (spec, made)
        return [one.copy() for one in self.pipes[key][1]]

    def tcp(self, own: HostSpec, defaults: HostSpec) -> dict[str, Any]:
        """The TCP options of a host."""
        key = (id(own), id(defaults))
        if key not in self.options:
            self._bound()
            self.options[key] = (own, defaults, own.under(defaults))
        return dict(self.options[key][2])

    def _bound(self) -> None:
        for held in (self.topologies, self.pipes, self.options):
            if len(held) >= _MOST_PARTS:
                held.clear()


class _Builder:
    def __init__(self, file: ExperimentFile, folder: Path, parts: Parts) -> None:
        self.file = file
        self.folder = folder
        self.parts = parts
        self.origins: dict[Loc, Loc] = {}
        template = file.template
        self.topology = parts.topology(template) if template is not None else Topology()
        self.nodes: list[dict[str, Any]] = []
        self.options: dict[str, dict[str, Any]] = {}
        self.links: list[dict[str, Any]] = []
        self.routes: list[dict[str, Any]] = []
        self.flows: list[dict[str, Any]] = []
        self.flow_names: set[str] = set()
        self.sessions: list[dict[str, Any]] = []
        self.processes: list[dict[str, Any]] = []
        self.connections: list[dict[str, Any]] = []
        self.interfaces: dict[str, Between] = {}
        self.pending: dict[Pipe, Pending] = {}
        self.jitters: list[tuple[dict[str, Any], Jitter]] = []

    def build(self) -> Built:
        self.add_nodes()
        self.add_links()
        self.add_routes()
        self.add_flows()
        self.add_pages()
        self.processes = [self.arrivals(i, spec) for i, spec in enumerate(self.file.arrivals)]
        rtt_ns = self.complete()
        sampling, discovery = self.file.sampling, self.file.neighbour_discovery
        scenario = {
            "version": SCENARIO_VERSION,
            "name": self.file.name,
            "duration_ns": self.file.duration,
            "nodes": self.nodes,
            "links": self.links,
            "routes": self.routes,
            "flows": self.flows,
            "arrivals": self.processes,
            "sessions": self.sessions,
            "connections": self.connections,
            "taps": self.taps(),
            "sampling": {
                "interval_ns": sampling.interval,
                **{table: table in sampling.keep for table in KEPT},
                "packets": sampling.packets
                and {"from_ns": sampling.packets.from_, "to_ns": sampling.packets.to},
                "hops": sampling.hops
                and {"from_ns": sampling.hops.from_, "to_ns": sampling.hops.to},
                "capture": sampling.capture and {"snap_bytes": sampling.capture.snap},
            },
            "neighbour_discovery": discovery
            and {"reachable_ns": discovery.reachable, "probe_delay_ns": discovery.probe_delay},
        }
        self.origins[("duration_ns",)] = ("duration",)
        self.origins[("sampling",)] = ("sampling",)
        self.origins[("neighbour_discovery",)] = ("neighbour_discovery",)
        return Built(scenario, self.origins, rtt_ns)

    # Nodes

    def add_nodes(self) -> None:
        hosts = {name: spec for name, spec in self.file.hosts.items() if name != DEFAULTS}
        defaults = self.file.hosts.get(DEFAULTS) or _PLAIN_HOST
        named: list[tuple[str, str]] = [(name, "host") for name in self.topology.hosts]
        named += [(name, "router") for name in self.topology.routers]
        named += [(name, "switch") for name in self.topology.switches]
        kinds = dict(named)
        written: dict[str, Mapping[str, HostSpec | RouterSpec | None]] = {
            "host": hosts,
            "router": self.file.routers,
            "switch": self.file.switches,
        }
        for kind, section in written.items():
            for name in section:
                if kinds.setdefault(name, kind) != kind:
                    message = f"{name} is a {kinds[name]} already"
                    raise BuildError(message, (f"{_plural(kind)}", name))
                named.append((name, kind))
        for name, kind in dict(named).items():
            at: Loc = (_plural(kind), name)
            if name not in written[kind]:
                at = ("hosts", DEFAULTS) if kind == "host" and DEFAULTS in self.file.hosts else ()
            self.origins["nodes", len(self.nodes)] = at or ("template",)
            self.nodes.append(self.node(name, kind, hosts, defaults))
        if any(_copies(node["spray"]) for node in self.nodes):
            self.copy_segments(hosts, defaults)
        self.options = {node["name"]: node["tcp"] for node in self.nodes if node["tcp"] is not None}

    def node(
        self,
        name: str,
        kind: str,
        hosts: Mapping[str, HostSpec | None],
        defaults: HostSpec,
    ) -> dict[str, Any]:
        if kind == "host":
            own = hosts.get(name) or _PLAIN_HOST
            jitter = own.processing_jitter
            return {
                "name": name,
                "kind": kind,
                "spray": None,
                "processing_jitter_ns": (defaults.processing_jitter if jitter is None else jitter)
                or 0,
                "tcp": self.parts.tcp(own, defaults),
            }
        template = {**self.topology.routers, **self.topology.switches}.get(name, _PLAIN_ROUTER)
        section = self.file.routers if kind == "router" else self.file.switches
        own_router = section.get(name) or _PLAIN_ROUTER
        spray: SpraySpec | None = template.spray
        if "spray" in own_router.model_fields_set:
            spray = own_router.spray
        return {
            "name": name,
            "kind": kind,
            "spray": None if spray is None else spray.model_dump(),
            "processing_jitter_ns": own_router.processing_jitter or 0,
            "tcp": None,
        }

    def copy_segments(self, hosts: Mapping[str, HostSpec | None], defaults: HostSpec) -> None:
        """Received segments were copied on their way, unless the file says in what they wait."""
        for node in self.nodes:
            own = hosts.get(node["name"]) or _PLAIN_HOST
            written = defaults.rx_segment or own.rx_segment
            if node["tcp"] and not written and node["tcp"]["rx_segment"] == "pages":
                node["tcp"]["rx_segment"] = "copied"

    # Links

    def add_links(self) -> None:
        placed: dict[str, tuple[LinkSpec, Loc]] = {}
        for spec, at in self.topology.links:
            placed[str(spec.name)] = (spec, at)
        for i, spec in enumerate(self.file.links):
            here: Loc = ("links", i)
            ends = spec.between
            if ends is None:
                name, known = spec.name or "", tuple(placed)
                if name not in placed:
                    message = "between is missing, and no link of a template has this name"
                    raise BuildError(message, here, name or None, known)
                placed[name] = (self.changed(placed[name][0], spec), here)
                continue
            name = spec.name or f"{ends[0]}-{ends[1]}"
            if name in placed:
                raise BuildError(f"{name} is the name of another link", here)
            placed[name] = (spec, here)
        for name, (spec, at) in placed.items():
            self.add_link(name, spec, at)

    @staticmethod
    def changed(link: LinkSpec, over: LinkSpec) -> LinkSpec:
        """A template's link with the fields of `over` in their place."""
        forward, backward = link.directions()
        ways = {
            "forward": forward.override(over).override(over.forward),
            "backward": backward.override(over).override(over.backward),
        }
        return link.model_copy(update=ways)

    def add_link(self, name: str, spec: LinkSpec, at: Loc) -> None:
        index = len(self.links)
        ends = spec.between or ["", ""]
        link: dict[str, Any] = {"name": name, "a": ends[0], "b": ends[1]}
        self.origins["links", index] = at
        made = self.parts.directions(spec, self.folder, at)
        for way, (direction, pending) in enumerate(zip(_WAYS, made, strict=True)):
            self.origins["links", index, direction] = (*at, direction)
            link[direction], self.pending[index, way] = pending.pipe, pending
        self.links.append(link)

    # Routes, taps

    def add_routes(self) -> None:
        by_name = {link["name"]: link for link in self.links}
        written = [(spec, ("routes", i)) for i, spec in enumerate(self.file.routes)]
        seen: dict[tuple[str, str], int] = {}
        for spec, at in [*self.topology.routes, *written]:
            for node in spec.at:
                via = [self.resolve(node, name, by_name, at) for name in spec.via]
                for to in spec.to:
                    self.origins["routes", len(self.routes)] = at
                    route = {"at": node, "to": to, "via": via}
                    if (node, to) in seen:  # the file's routes come after the template's
                        self.routes[seen[node, to]] = route
                        self.origins["routes", seen[node, to]] = at
                        continue
                    seen[node, to] = len(self.routes)
                    self.routes.append(route)

    def resolve(self, node: str, via: str, by_name: Mapping[str, Any], at: Loc) -> str:
        """A link named, or the only link to a neighbour named."""
        if via in by_name:
            return via
        here = [link for link in self.links if node in (link["a"], link["b"])]
        found = [link["name"] for link in here if via in (link["a"], link["b"])]
        if len(found) > 1:
            message = f"several links join {node} and {via}; name one"
            raise BuildError(message, at, via, tuple(found))
        if not found:
            known = tuple(str(link["name"]) for link in here)
            raise BuildError(f"no link or neighbour of {node}", (*at, "via"), via, known)
        return str(found[0])

    def taps(self) -> list[dict[str, Any]]:
        taps = []
        for i, tap in enumerate(self.file.taps):
            self.origins["taps", i] = ("taps", i)
            name = tap.name or f"{tap.at}:{tap.link}"
            taps.append({"name": name, "node": tap.at, "link": tap.link})
        return taps

    # Flows

    def add_flows(self) -> None:
        for spec in self.file.workload.flows() if self.file.workload else []:
            self.origins["flows", len(self.flows)] = ("workload",)
            self.add_flow(spec, 1)
        for i, spec in enumerate(self.file.flows):
            for k in range(1, (spec.count or 1) + 1):
                self.origins["flows", len(self.flows)] = ("flows", i)
                self.add_flow(spec, k)
                if len(self.flows) > 20_000:
                    raise BuildError("more than 20000 flows", ("flows", i))

    def add_flow(self, spec: FlowSpec, k: int) -> None:
        def filled(text: str) -> str:
            return text if spec.count is None else text.replace("{i}", str(k))

        name = filled(spec.name) if spec.name is not None else f"flow{len(self.flows) + 1}"
        if name in self.flow_names:
            hint = "; with count, write {i} in the name" if spec.count is not None else ""
            at = (*self.origins["flows", len(self.flows)], "name")
            raise BuildError(f"two flows are named {name}{hint}", at)
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
        if spec.tcp is not None:
            flow["traffic"] = {"tcp": self.tcp(spec.tcp, flow)}
        elif spec.udp is not None:
            udp = spec.udp
            flow["traffic"] = {
                "udp": {
                    "rate_bps": udp.rate,
                    "datagram_bytes": udp.datagram,
                    "interval_ns": udp.interval,
                    "mtu_bytes": udp.mtu,
                    "sleeps": udp.sleeps,
                    "codec": None,
                }
            }
        elif spec.voice is not None:
            flow["traffic"] = {"udp": voice(spec.voice.codec)}
        elif spec.ping is not None:
            ping = spec.ping
            flow["traffic"] = {
                "ping": {
                    "interval_ns": ping.interval,
                    "payload_bytes": ping.payload,
                    "protocol": ping.protocol,
                }
            }
        self.flows.append(flow)

    def add_connection(self, spec: MptcpSpec, flow: dict[str, Any]) -> None:
        """A multipath connection: a flow per subflow."""
        here = self.origins["flows", len(self.flows)]
        at = (*here, "mptcp")
        names = [str(link["name"]) for link in self.links]
        ends = Ends(flow["from"], flow["to"])
        self.check_hosts(flow, here)
        found = subflows(spec, ends, self.network(), names, at)
        tcp = self.transport(spec, spec.congestion_control, "subflow", flow)
        parts = []
        self.origins["connections", len(self.connections)] = at
        for i, between in enumerate(found):
            name = f"{flow['name']}/{i + 1}"
            if name in self.flow_names:
                raise BuildError(f"two flows are named {name}", (*here, "name"))
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
                # Only the first begins at random: the others follow it.
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
        for i, page in enumerate(self.file.pages):
            at: Loc = ("pages", i)
            self.origins["sessions", i] = at
            session, connections = page.session()
            if any(other["name"] == page.name for other in self.sessions):
                raise BuildError(f"two pages are named {page.name}", (*at, "name"))
            self.sessions.append(session)
            for name, server in connections:
                self.origins["flows", len(self.flows)] = at
                if name in self.flow_names:
                    raise BuildError(f"two flows are named {name}", at)
                self.flow_names.add(name)
                self.flows.append(self.connection(page, name, server))

    @staticmethod
    def connection(page: PageSpec, name: str, server: str) -> dict[str, Any]:
        """A flow that carries a page's answers."""
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
        return self.transport(spec, spec.congestion_control, self.source(spec), flow)

    @staticmethod
    def source(spec: StreamSpec) -> dict[str, Any]:
        """What the sending application writes."""
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
        """A connection's transport."""
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

    # What needs the whole network

    def network(self) -> Network:
        """The graph."""
        return Network(
            hosts=frozenset(n["name"] for n in self.nodes if n["kind"] == "host"),
            sprays=frozenset(n["name"] for n in self.nodes if n["spray"] is not None),
            links=[(link["a"], link["b"]) for link in self.links],
            delays=[
                (fixed_delay_ns(link["forward"]), fixed_delay_ns(link["backward"]))
                for link in self.links
            ],
            routes=self.explicit(),
        )

    def complete(self) -> dict[str, int]:
        self.check_ends()
        network = self.network()
        rtt_ns: dict[str, int] = {}
        through: dict[Pipe, int] = {}
        for key, flow in self.with_ends():
            try:
                between = self.interfaces.get(flow["name"])
                local, remote = (between.local, between.remote) if between else (None, None)
                there = network.way(flow["from"], flow["to"], local, remote)
                back = network.way(flow["to"], flow["from"], remote, local)
            except RoutingError as error:
                at = self.origins[key]
                if error.route is not None:
                    at = self.origins["routes", error.route]
                raise BuildError(error.message, at) from None
            rtt = there.delay_ns + back.delay_ns
            rtt_ns[flow["name"]] = rtt
            for used in (*there.pipes, *back.pipes):
                through[used] = max(through.get(used, 0), rtt)
        largest = max(rtt_ns.values(), default=None)
        for key, pending in self.pending.items():
            fill(pending, rtt_ns, through.get(key, largest))
        for flow, jitter in self.jitters:
            multiple = jitter.rtt
            base = rtt_ns[flow["name"]]
            flow["start_jitter_ns"] = jitter.time_ns if multiple is None else int(base * multiple)
        return rtt_ns

    def with_ends(self) -> Iterator[tuple[Loc, dict[str, Any]]]:
        """Flows and arrivals, with their places in the scenario."""
        for i, flow in enumerate(self.flows):
            yield ("flows", i), flow
        for i, process in enumerate(self.processes):
            yield ("arrivals", i), process

    def explicit(self) -> dict[tuple[str, str], tuple[int, list[int]]]:
        numbers = {link["name"]: i for i, link in enumerate(self.links)}
        return {
            (route["at"], route["to"]): (i, [numbers[v] for v in route["via"] if v in numbers])
            for i, route in enumerate(self.routes)
        }

    def check_ends(self) -> None:
        """Names that the ways are found by; the scenario's reader checks all others."""
        known = {node["name"] for node in self.nodes}
        joined = {end for link in self.links for end in (link["a"], link["b"])}
        for i, link in enumerate(self.links):
            for end in (link["a"], link["b"]):
                if end not in known:
                    at = (*self.origins["links", i], "between")
                    raise BuildError(f"no node {end}", at, None, _suggested(end, known))
        for key, flow in self.with_ends():
            self.check_hosts(flow, self.origins[key])
        for i, node in enumerate(self.nodes):
            if node["name"] not in joined:
                raise BuildError(f"no link joins {node['name']}", self.origins["nodes", i])

    def check_hosts(self, flow: Mapping[str, Any], at: Loc) -> None:
        """The ends of a flow are hosts. `at`: where it stands in the file."""
        hosts = {node["name"] for node in self.nodes if node["kind"] == "host"}
        for end in ("from", "to"):
            if flow[end] not in hosts:
                field = {"from": "server", "to": "client"}[end] if at[0] == "pages" else end
                here = (*at, field)
                raise BuildError(f"no host {flow[end]}", here, None, _suggested(flow[end], hosts))


def _suggested(name: str, known: set[str]) -> tuple[str, ...]:
    near = nearest_name(name, known)
    rest = sorted(known - {near or ""}, key=lambda n: (len(n), n))
    return tuple(([near] if near is not None else []) + rest)


def _plural(kind: str) -> str:
    return "switches" if kind == "switch" else f"{kind}s"


def build(file: ExperimentFile, folder: Path, parts: Parts | None = None) -> Built:
    """The scenario of an experiment file.

    Args:
        file: The file, its factors replaced by levels.
        folder: Where trace files named in it are looked for.
        parts: What earlier cells of the experiment were made of; grows.

    Raises:
        BuildError: What fits no field alone: names, ways, rooms without a rate.
    """
    return _Builder(file, folder, parts or Parts()).build()


def _copies(spray: Mapping[str, Any] | None) -> bool:
    """Whether a router copies the segments it sprays: TEQL's device cannot scatter-gather."""
    return spray is not None and spray["policy"] == "round_robin" and spray["what"] != "acks"
