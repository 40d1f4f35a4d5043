"""Ways through a network, as the engines take them: explicit routes, else fewest hops.

Hosts never forward. Used for base RTTs, and to refuse loops and unconnected hosts before
anything runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Direction = int
Pipe = tuple[int, Direction]
"""A link's index and its direction: 0 forward, 1 backward."""
Interface = tuple[str, int | None]
"""A host and the index of the link by which it is reached; None: any."""


class RoutingError(Exception):
    """No way, or one that never ends.

    Attributes:
        message: What is wrong.
        route: Index of the explicit route at fault, or None.
        node: The node where it was noticed.
    """

    def __init__(self, message: str, node: str, route: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.route = route


@dataclass(slots=True)
class Way:
    """All a packet may pass between two hosts: the pipes, and the longest delay."""

    pipes: list[Pipe]
    delay_ns: int


@dataclass(slots=True)
class Network:
    """The graph.

    Attributes:
        hosts: Names of nodes that do not forward.
        sprays: Names of nodes that use all next hops; the others use the first.
        links: The two ends of each link.
        delays: The fixed delay of each link, forward and backward, in nanoseconds.
        routes: Explicit next hops: (node, destination) → (index of the route, links).
    """

    hosts: frozenset[str]
    sprays: frozenset[str]
    links: Sequence[tuple[str, str]]
    delays: Sequence[tuple[int, int]]
    routes: Mapping[tuple[str, str], tuple[int, Sequence[int]]]
    _at: dict[str, list[Pipe]] = field(default_factory=dict)
    _core: dict[str, list[str]] = field(default_factory=dict)
    _distances: dict[Interface, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i, (a, b) in enumerate(self.links):
            self._at.setdefault(a, []).append((i, 0))
            self._at.setdefault(b, []).append((i, 1))
            if a not in self.hosts and b not in self.hosts:
                self._core.setdefault(a, []).append(b)
                self._core.setdefault(b, []).append(a)

    def leads_to(self, pipe: Pipe) -> str:
        """The node a pipe leads to."""
        a, b = self.links[pipe[0]]
        return b if pipe[1] == 0 else a

    def links_of(self, node: str) -> list[int]:
        """Indices of the links that touch a node, in order."""
        return [pipe[0] for pipe in self._at.get(node, [])]

    def next_hops(self, node: str, to: str, last: int | None = None) -> list[Pipe]:
        """The pipes a packet for host `to` may take from `node`, in order of the links.

        `last`: the link by which it is to arrive there, where that matters.
        """
        explicit = self.routes.get((node, to))
        here = [
            pipe
            for pipe in self._at.get(node, [])
            if self.leads_to(pipe) != to or last is None or pipe[0] == last
        ]
        if explicit is not None:
            directions = dict(here)
            found = [(i, directions[i]) for i in explicit[1] if i in directions]
            if found or last is None:
                return found
        distances = self._to(to, last)
        ahead = [(distances.get(self.leads_to(pipe)), pipe) for pipe in here]
        known = [distance for distance, _ in ahead if distance is not None]
        if not known:
            return []
        return [pipe for distance, pipe in ahead if distance == min(known)]

    def _to(self, to: str, last: int | None) -> dict[str, int]:
        """Hops to `to` from itself and from every node that forwards."""
        known = self._distances.get((to, last))
        if known is not None:
            return known
        distances = {to: 0}
        waiting = deque[str]()
        for pipe in self._at.get(to, []):
            near = self.leads_to(pipe)
            if last is not None and pipe[0] != last:
                continue
            if near not in self.hosts and near not in distances:
                distances[near] = 1
                waiting.append(near)
        while waiting:
            node = waiting.popleft()
            for near in self._core.get(node, []):
                if near not in distances:
                    distances[near] = distances[node] + 1
                    waiting.append(near)
        self._distances[to, last] = distances
        return distances

    def way(self, source: str, to: str, first: int | None = None, last: int | None = None) -> Way:
        """The pipes from one host to another and the longest delay over them.

        Args:
            source: Name of the one.
            to: Name of the other.
            first: The link by which it leaves, where that is fixed.
            last: The link by which it arrives, where that is fixed.

        Raises:
            RoutingError: There is no way, or it leads in a circle.
        """
        longest: dict[str, int] = {to: 0}
        pipes: list[Pipe] = []
        path: list[str] = []
        stack: list[tuple[str, list[Pipe] | None]] = [(source, None)]
        while stack:
            node, hops = stack.pop()
            if hops is None:
                if node in longest:
                    continue
                if node in path:
                    raise self._loop(path, node, to)
                hops = self._used(node, source, to, last)
                if node == source and first is not None:
                    hops = [pipe for pipe in self._at.get(node, []) if pipe[0] == first]
                path.append(node)
                stack.append((node, hops))
                stack.extend((self.leads_to(pipe), None) for pipe in reversed(hops))
                continue
            path.pop()
            pipes += hops
            longest[node] = max(
                self.delays[i][way] + longest[self.leads_to((i, way))] for i, way in hops
            )
        return Way(pipes, longest[source])

    def _used(self, node: str, source: str, to: str, last: int | None) -> list[Pipe]:
        route = self.routes.get((node, to))
        at_fault = None if route is None else route[0]
        if node in self.hosts and node != source:
            message = f"the way from {source} to {to} leads to {node}, a host, which never forwards"
            raise RoutingError(message, node)
        hops = self.next_hops(node, to, last)
        if not hops:
            raise RoutingError(f"there is no way from {source} to {to}", node, at_fault)
        return hops if node in self.sprays else hops[:1]

    def _loop(self, path: list[str], node: str, to: str) -> RoutingError:
        circle = [*path[path.index(node) :], node]
        routes = [self.routes[at, to][0] for at in circle if (at, to) in self.routes]
        message = f"a loop on the way to {to}: {' → '.join(circle[:20])}"
        return RoutingError(message, node, routes[0] if routes else None)
