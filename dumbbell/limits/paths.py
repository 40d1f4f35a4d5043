"""Paths of a scenario's flows: all pipes that their packets may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from dumbbell._core import Network
from dumbbell.limits.pipes import ETHERNET_HEADER_BYTES
from dumbbell.scenario import Arrivals, Flow, Pipe, Scenario, Subflow


@dataclass(frozen=True)
class Paths:
    """The network of a scenario, which nobody changes, with the paths that were asked for."""

    spec: Scenario
    _known: dict[tuple[str, str], list[list[Pipe]]] = field(default_factory=dict)

    def of(self, flow: str) -> tuple[list[list[Pipe]], list[list[Pipe]]]:
        """All ways that a flow's packets may take, and their ACKs.

        Raises `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
        """
        out: list[list[Pipe]] = []
        back: list[list[Pipe]] = []
        for ends, reachable in self._ends(flow):
            out += reachable.between(ends["from"], ends["to"])
            back += reachable.between(ends["to"], ends["from"])
        if not out or not back:
            raise ValueError(f"no path for {flow} and back")
        return out, back

    def between(self, start: str, end: str) -> list[list[Pipe]]:
        """All loop-free paths that packets from `start` to `end` may take, as pipes in order."""
        if (start, end) not in self._known:
            self._known[start, end] = self._walked(start, end)
        return self._known[start, end]

    def alike(self, flow: str) -> str:
        """The name under which its paths are known: its own, or that of its arrivals (`web.17`)."""
        process = flow.rpartition(".")[0]
        return process if process in self._arrivals and flow not in self._flows else flow

    def frame_bytes(self, flow: str) -> int:
        """Ethernet frame of a full segment: of the smaller MTU of a flow's two hosts."""
        ends = [self._mtus[one[end]] for one, _ in self._ends(flow) for end in ("from", "to")]
        return ETHERNET_HEADER_BYTES + min(ends)

    def _walked(self, start: str, end: str) -> list[list[Pipe]]:
        links = self.spec["links"]
        complete: list[list[Pipe]] = []

        def walk(here: str, seen: frozenset[str], path: list[Pipe]) -> None:
            if here == end:
                complete.append(path)
                return
            for link, direction in self._network.next_hops(here, end):
                to = self._network.leads_to((link, direction))
                if to not in seen:
                    pipe = links[link]["backward" if direction else "forward"]
                    walk(to, seen | {to}, [*path, pipe])

        walk(start, frozenset({start}), [])
        return complete

    def _ends(self, flow: str) -> list[tuple[Flow | Arrivals, Paths]]:
        """The flow, or the arrivals that it is one of, or all subflows of a connection.

        With each, the part of the network that its packets may take.
        """
        if found := self._subflows.get(flow):
            return [(ends, self._by_interfaces(ends, one)) for ends, one in found]
        if flow in self._flows:
            return [(self._flows[flow], self)]
        return [(self._arrivals[self.alike(flow)], self)]

    def _by_interfaces(self, flow: Flow, subflow: Subflow) -> Paths:
        """The network as if its hosts had only the interfaces of a subflow."""
        hosts, own = {flow["from"], flow["to"]}, {subflow["local"], subflow["remote"]}
        links = [
            link
            for link in self.spec["links"]
            if link["name"] in own or not hosts & {link["a"], link["b"]}
        ]
        return Paths({**self.spec, "links": links})

    @cached_property
    def _mtus(self) -> dict[str, int]:
        nodes = self.spec["nodes"]
        return {one["name"]: tcp["mtu_bytes"] if (tcp := one["tcp"]) else 1500 for one in nodes}

    @cached_property
    def _flows(self) -> dict[str, Flow]:
        return {one["name"]: one for one in self.spec["flows"]}

    @cached_property
    def _arrivals(self) -> dict[str, Arrivals]:
        return {one["name"]: one for one in self.spec.get("arrivals", ())}

    @cached_property
    def _subflows(self) -> dict[str, list[tuple[Flow, Subflow]]]:
        """By the name of a connection, and of each of its subflows."""
        found: dict[str, list[tuple[Flow, Subflow]]] = {}
        for connection in self.spec.get("connections", ()):
            for one in connection["subflows"]:
                for name in dict.fromkeys((connection["name"], one["flow"])):
                    found.setdefault(name, []).append((self._flows[one["flow"]], one))
        return found

    @cached_property
    def _network(self) -> Network:
        spec = self.spec
        numbers = {link["name"]: number for number, link in enumerate(spec["links"])}
        return Network(
            [
                (node["name"], node["kind"] != "host", node["spray"] is not None)
                for node in spec["nodes"]
            ],
            [(link["a"], link["b"]) for link in spec["links"]],
            [(0, 0)] * len(spec["links"]),
            [
                (route["at"], route["to"], [numbers[one] for one in route["via"] if one in numbers])
                for route in spec["routes"]
            ],
        )


def paths_between(spec: Scenario, start: str, end: str) -> list[list[Pipe]]:
    """All loop-free paths that packets from `start` to `end` may take, as pipes in order."""
    return Paths(spec).between(start, end)
