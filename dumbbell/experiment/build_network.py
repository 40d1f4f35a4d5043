"""Network of a scenario: nodes, links, routes, taps, and the origin of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell._core import Network
from dumbbell.codes import Code
from dumbbell.experiment.access import Sides, sides
from dumbbell.experiment.document import DEFAULTS, ExperimentFile
from dumbbell.experiment.network import LinkSpec, PipeSpec, RouterSpec, SpraySpec
from dumbbell.experiment.options import IN_PAGES, HostSpec
from dumbbell.experiment.pipes import BuildError, Pending, fixed_delay_ns, pipe
from dumbbell.experiment.source import Loc
from dumbbell.experiment.templates import TemplateSpec
from dumbbell.experiment.topology import Link, Topology

#: A link's index and its direction: 0 forward, 1 backward.
Pipe = tuple[int, int]

_DIRECTIONS = ("forward", "backward")
_PLAIN_HOST, _PLAIN_ROUTER = HostSpec.made({}), RouterSpec.made({})
#: Maximum number of parts of a kind in memory.
_MAX_PARTS = 4096


@dataclass(slots=True)
class Parts:
    """Parts of scenarios, by `id` of the models that cells share.

    Each entry holds its models, so that their ids stay unique.
    """

    topologies: dict[int, tuple[TemplateSpec, Topology]] = field(default_factory=dict)
    links: dict[tuple[int, int, Loc], tuple[LinkSpec, Link]] = field(default_factory=dict)
    pipes: dict[tuple[int, Loc], tuple[PipeSpec, Pending]] = field(default_factory=dict)
    options: dict[tuple[int, int], tuple[HostSpec, HostSpec, dict[str, Any]]] = field(
        default_factory=dict
    )

    def copy(self) -> Parts:
        """Copy that other cells can extend."""
        return Parts(dict(self.topologies), dict(self.links), dict(self.pipes), dict(self.options))

    def topology(self, template: TemplateSpec) -> Topology:
        """Network of a template."""
        if id(template) not in self.topologies:
            self._bound()
            self.topologies[id(template)] = (template, template.expand())
        return self.topologies[id(template)][1]

    def link(self, spec: LinkSpec, ends: tuple[str, str], duration_ns: int, at: Loc) -> Link:
        """Link of the file between two nodes. An access link depends on the duration of the run."""
        key = (id(spec), duration_ns if spec.access else 0, at)
        if key not in self.links:
            self._bound()
            access = sides(spec, ends, duration_ns, at)
            pipes = spec.directions() if access is None else _under(access, spec)
            self.links[key] = (spec, Link(ends, pipes, (0, 0), at))
        return self.links[key][1]

    def pipe(self, spec: PipeSpec, folder: Path, at: Loc) -> Pending:
        """A pipe, without the limits that need the base RTT. It is shared if it has none."""
        key = (id(spec), at)
        if key not in self.pipes:
            self._bound()
            self.pipes[key] = (spec, pipe(spec, folder, at)[1])
        found = self.pipes[key][1]
        return found.copy() if found.limits else found

    def tcp(self, own: HostSpec, defaults: HostSpec) -> dict[str, Any]:
        """All TCP options of a host. Hosts share them."""
        key = (id(own), id(defaults))
        if key not in self.options:
            self._bound()
            self.options[key] = (own, defaults, own.under(defaults))
        return self.options[key][2]

    def _bound(self) -> None:
        for held in (self.topologies, self.links, self.pipes, self.options):
            if len(held) >= _MAX_PARTS:
                held.clear()


class NetworkBuilder:
    """Nodes, links, routes and taps of a scenario."""

    def __init__(self, file: ExperimentFile, folder: Path, parts: Parts) -> None:
        self.file = file
        self.folder = folder
        self.parts = parts
        self.origins: dict[Loc, Loc] = {}
        template = file.template
        self.topology = parts.topology(template) if template is not None else Topology()
        self.nodes: list[dict[str, Any]] = []
        self.host_names: set[str] = set()
        self.options: dict[str, dict[str, Any]] = {}
        self.links: list[dict[str, Any]] = []
        self.routes: list[dict[str, Any]] = []
        self.pending: dict[Pipe, Pending] = {}

    # Nodes

    def add_nodes(self) -> None:
        """Adds the nodes of the template, then those of the file."""
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
                    raise BuildError(message, (f"{_plural(kind)}", name), code=Code.NAME_TAKEN)
                named.append((name, kind))
        for name, kind in dict(named).items():
            at: Loc = (_plural(kind), name)
            if name not in written[kind]:
                at = ("hosts", DEFAULTS) if kind == "host" and DEFAULTS in self.file.hosts else ()
            self.origins["nodes", len(self.nodes)] = at or ("template",)
            self.nodes.append(self.node(name, kind, hosts, defaults))
        self.host_names = {node["name"] for node in self.nodes if node["kind"] == "host"}
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
        """Node of the scenario. `kind`: `host`, `router` or `switch`."""
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
        routers, switches = self.topology.routers, self.topology.switches
        template = routers.get(name) or switches.get(name, _PLAIN_ROUTER)
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
        """Sets `rx_segment: copied` where the file sets none: a router linearises the segments."""
        for node in self.nodes:
            own = hosts.get(node["name"]) or _PLAIN_HOST
            written = defaults.rx_segment or own.rx_segment
            if node["tcp"] and not written and node["tcp"]["rx_segment"] in IN_PAGES:
                node["tcp"] = {**node["tcp"], "rx_segment": "copied"}

    # Links

    def add_links(self) -> None:
        """Adds the template's links with the changes of the file, then the file's own links."""
        placed = dict(self.topology.links)
        for i, spec in enumerate(self.file.links):
            here: Loc = ("links", i)
            ends = spec.between
            if ends is None:
                name, known = spec.name or "", tuple(placed)
                if name not in placed:
                    message = "between is missing, and no link of a template has this name"
                    raise BuildError(message, here, name or None, known, code=Code.NO_NODE)
                placed[name] = self.changed(placed[name], spec, here)
                continue
            name = spec.name or f"{ends[0]}-{ends[1]}"
            if name in placed:
                raise BuildError(f"{name} is the name of another link", here, code=Code.NAME_TAKEN)
            placed[name] = self.parts.link(spec, (ends[0], ends[1]), self.file.duration, here)
        for name, link in placed.items():
            self.add_link(name, link)

    def changed(self, link: Link, over: LinkSpec, at: Loc) -> Link:
        """Link of a template, overridden by the fields of `over`. `at`: its path in the file."""
        forward, backward = link.directions()
        access = sides(over, link.ends, self.file.duration, at)
        if access is not None:
            forward, backward = forward.override(access[0]), backward.override(access[1])
        return Link(link.ends, _under((forward, backward), over), (0, 0), at)

    def add_link(self, name: str, link: Link) -> None:
        """Adds a link, and notes its pipes with limits as pending."""
        index = len(self.links)
        made: dict[str, Any] = {"name": name, "a": link.ends[0], "b": link.ends[1]}
        self.origins["links", index] = link.at
        for side, direction in enumerate(_DIRECTIONS):
            pending = self.parts.pipe(link.pipes[side], self.folder, (*link.at, direction))
            made[direction] = pending.pipe
            if extra_ns := link.extra_ns[side]:
                delay_ns = pending.pipe["delay_ns"] + extra_ns
                made[direction] = {**pending.pipe, "delay_ns": delay_ns}
            if pending.limits:
                self.pending[index, side] = replace(pending, pipe=made[direction])
        self.links.append(made)

    # Routes, taps

    def add_routes(self) -> None:
        """Adds routes. A route of the file replaces the template's to the same destination."""
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
        """Name of the link `via`, or of the only link to a neighbour `via`."""
        if via in by_name:
            return via
        here = [link for link in self.links if node in (link["a"], link["b"])]
        found = [link["name"] for link in here if via in (link["a"], link["b"])]
        if len(found) > 1:
            message = f"several links join {node} and {via}; name one"
            raise BuildError(message, at, via, tuple(found), code=Code.NO_PATH)
        if not found:
            known = tuple(str(link["name"]) for link in here)
            raise BuildError(
                f"no link or neighbour of {node}", (*at, "via"), via, known, code=Code.NO_PATH
            )
        return str(found[0])

    def taps(self) -> list[dict[str, Any]]:
        """Taps in the form of the scenario. Default name: `node:link`."""
        taps = []
        for i, tap in enumerate(self.file.taps):
            self.origins["taps", i] = ("taps", i)
            name = tap.name or f"{tap.at}:{tap.link}"
            taps.append({"name": name, "node": tap.at, "link": tap.link})
        return taps

    # As a graph

    @cached_property
    def network(self) -> Network:
        """Graph of the network, once all links and routes are added."""
        numbers = {link["name"]: i for i, link in enumerate(self.links)} if self.routes else {}
        return Network(
            [(n["name"], n["kind"] != "host", n["spray"] is not None) for n in self.nodes],
            [(link["a"], link["b"]) for link in self.links],
            [
                (fixed_delay_ns(link["forward"]), fixed_delay_ns(link["backward"]))
                for link in self.links
            ],
            [
                (route["at"], route["to"], [numbers[v] for v in route["via"] if v in numbers])
                for route in self.routes
            ],
        )


def _under(pipes: Sides, over: LinkSpec) -> Sides:
    """Both pipes, overridden by the fields of a link. Changes of an access link stay."""
    made = [
        pipe.override(over).override(side)
        for pipe, side in zip(pipes, (over.forward, over.backward), strict=True)
    ]
    if over.access is not None:
        made = [_beside(one, pipe) for one, pipe in zip(made, pipes, strict=True)]
    return made[0], made[1]


def _beside(pipe: PipeSpec, access: PipeSpec) -> PipeSpec:
    """Pipe with the changes of its access link among its own."""
    if not access.changes or pipe.changes == access.changes:
        return pipe
    both = sorted([*access.changes, *(pipe.changes or ())], key=lambda change: change.at)
    return PipeSpec.made({**pipe.pipe(), "changes": both})


def _plural(kind: str) -> str:
    return "switches" if kind == "switch" else f"{kind}s"


def _copies(spray: Mapping[str, Any] | None) -> bool:
    """Returns true if a router linearises segments: TEQL's device has no scatter-gather."""
    return spray is not None and spray["policy"] == "round_robin" and spray["what"] != "acks"
