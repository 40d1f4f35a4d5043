"""Paths through a network, as the engines take them: explicit routes, else fewest hops.

Hosts never forward. Paths give the base RTTs, and show loops and unconnected hosts before
a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Direction = int
Pipe = tuple[int, Direction]
"""A link's index and its direction: 0 forward, 1 backward."""
Interface = tuple[str, int | None]
"""A host and the index of the link by which packets arrive there; None: any link."""


class RoutingError(Exception):
    """Missing path, or a routing loop.

    Attributes:
        message: What is wrong.
        route: Index of the explicit route at fault; None: no explicit route is.
        node: Node at which the path ends or repeats.
    """

    def __init__(self, message: str, node: str, route: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.route = route


@dataclass(slots=True)
class Path:
    """All pipes that packets between two hosts may pass, and the longest delay.

    Attributes:
        pipes: The pipes of all next hops in use.
        delay_ns: Largest sum of fixed delays.
    """

    pipes: list[Pipe]
    delay_ns: int


@dataclass(slots=True)
class Network:
    """Graph of nodes and links.

    Attributes:
        hosts: Names of nodes that do not forward.
        sprays: Names of nodes that use all next hops; the others use the first.
        links: Both endpoints of each link.
        delays: Fixed delays of each link in ns, forward and backward.
        routes: Explicit next hops: (node, destination) → (index of the route, links).
    """

    hosts: frozenset[str]
    sprays: frozenset[str]
    links: Sequence[tuple[str, str]]
    delays: Sequence[tuple[int, int]]
    routes: Mapping[tuple[str, str], tuple[int, Sequence[int]]]
    _at: dict[str, list[Pipe]] = field(default_factory=dict)
    _core: dict[str, list[str]] = field(default_factory=dict)
    _forwarding: dict[str, list[Pipe]] = field(default_factory=dict)
    _between: dict[tuple[str, str], list[Pipe]] = field(default_factory=dict)
    _distances: dict[Interface, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i, (a, b) in enumerate(self.links):
            self._at.setdefault(a, []).append((i, 0))
            self._at.setdefault(b, []).append((i, 1))
            for near, far, pipe in ((a, b, (i, 0)), (b, a, (i, 1))):
                self._between.setdefault((near, far), []).append(pipe)
                if far not in self.hosts:
                    self._forwarding.setdefault(near, []).append(pipe)
            if a not in self.hosts and b not in self.hosts:
                self._core.setdefault(a, []).append(b)
                self._core.setdefault(b, []).append(a)

    def leads_to(self, pipe: Pipe) -> str:
        """Node at the far end of a pipe."""
        a, b = self.links[pipe[0]]
        return b if pipe[1] == 0 else a

    def links_of(self, node: str) -> list[int]:
        """Indices of the links at a node, in ascending order."""
        return [pipe[0] for pipe in self._at.get(node, [])]

    def next_hops(self, node: str, to: str, last: int | None = None) -> list[Pipe]:
        """Pipes that a packet for host `to` may take from `node`, in link order.

        `last`: the link by which the packet must arrive at `to`; None: any link.
        """
        explicit = self.routes.get((node, to))
        if explicit is not None:
            own = [(i, 0 if self.links[i][0] == node else 1) for i in explicit[1]]
            found = [
                pipe
                for pipe in own
                if node in self.links[pipe[0]]
                and (self.leads_to(pipe) != to or last in (None, pipe[0]))
            ]
            if found or last is None:
                return found
        distances = self._to(to, last)
        # Only the destination and forwarding nodes have a distance: a node's other links, of
        # which a router may have thousands, are not looked at.
        direct = [pipe for pipe in self._between.get((node, to), []) if last in (None, pipe[0])]
        onward = [pipe for pipe in self._forwarding.get(node, []) if self.leads_to(pipe) != to]
        ahead = [(distances.get(self.leads_to(pipe)), pipe) for pipe in sorted(direct + onward)]
        known = [distance for distance, _ in ahead if distance is not None]
        if not known:
            return []
        nearest = min(known)
        return [pipe for distance, pipe in ahead if distance == nearest]

    def _to(self, to: str, last: int | None) -> dict[str, int]:
        """Hops to `to` from itself and from every forwarding node that reaches it."""
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

    def path(self, source: str, to: str, first: int | None = None, last: int | None = None) -> Path:
        """Path from one host to another.

        Args:
            source: Name of the sending host.
            to: Name of the receiving host.
            first: Link by which packets leave `source`; None: any link.
            last: Link by which packets arrive at `to`; None: any link.

        Raises:
            RoutingError: There is no path, or it has a loop.
        """
        longest: dict[str, int] = {to: 0}
        pipes: list[Pipe] = []
        visited: list[str] = []
        stack: list[tuple[str, list[Pipe] | None]] = [(source, None)]
        while stack:
            node, hops = stack.pop()
            if hops is None:
                if node in longest:
                    continue
                if node in visited:
                    raise self._loop(visited, node, to)
                hops = self._used(node, source, to, last)
                if node == source and first is not None:
                    hops = [pipe for pipe in self._at.get(node, []) if pipe[0] == first]
                visited.append(node)
                stack.append((node, hops))
                stack.extend((self.leads_to(pipe), None) for pipe in reversed(hops))
                continue
            visited.pop()
            pipes += hops
            longest[node] = max(
                self.delays[i][side] + longest[self.leads_to((i, side))] for i, side in hops
            )
        return Path(pipes, longest[source])

    def _used(self, node: str, source: str, to: str, last: int | None) -> list[Pipe]:
        route = self.routes.get((node, to))
        at_fault = None if route is None else route[0]
        if node in self.hosts and node != source:
            message = (
                f"the path from {source} to {to} leads through {node}, a host; hosts never forward"
            )
            raise RoutingError(message, node)
        hops = self.next_hops(node, to, last)
        if not hops:
            raise RoutingError(f"there is no path from {source} to {to}", node, at_fault)
        return hops if node in self.sprays else hops[:1]

    def _loop(self, visited: list[str], node: str, to: str) -> RoutingError:
        loop = [*visited[visited.index(node) :], node]
        routes = [self.routes[at, to][0] for at in loop if (at, to) in self.routes]
        message = f"a loop on the path to {to}: {' → '.join(loop[:20])}"
        return RoutingError(message, node, routes[0] if routes else None)
