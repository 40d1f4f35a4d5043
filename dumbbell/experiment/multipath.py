"""The subflows of a multipath connection: between which interfaces, in which order."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.source import Loc
from dumbbell.experiment.traffic import MptcpSpec, SubflowSpec
from dumbbell.routing import Network, RoutingError


@dataclass(frozen=True, slots=True)
class Between:
    """A subflow: indices of the links by which it leaves its hosts, and what is said of it."""

    local: int
    remote: int
    spec: SubflowSpec


@dataclass(frozen=True, slots=True)
class Ends:
    """The hosts of a connection."""

    source: str
    to: str


def subflows(
    spec: MptcpSpec, ends: Ends, network: Network, names: list[str], at: Loc
) -> list[Between]:
    """The subflows of a connection, the first of which opens it.

    Args:
        spec: What the file says.
        ends: Names of the hosts.
        network: The graph.
        names: Name of each link.
        at: Where `mptcp` stands in the file.

    Raises:
        BuildError: They cannot be told, or two are alike without `ndiffports`.
    """
    if isinstance(spec.subflows, list):
        found = [
            _named(one, ends, network, names, (*at, "subflows", i))
            for i, one in enumerate(spec.subflows)
        ]
        if not found:
            raise BuildError("no subflow is named", (*at, "subflows"))
        if all(one.spec.backup for one in found):
            message = "all subflows are backups; at least one must carry data from the start"
            raise BuildError(message, (*at, "subflows"))
        if found[0].spec.backup:
            message = "the first subflow opens the connection, and is never a backup"
            raise BuildError(message, (*at, "subflows", 0, "backup"))
        if spec.path_manager != "ndiffports":
            _refuse_alike(found, ends, names, at)
        return found
    meshed = _reachable(ends, network)
    if not meshed:
        raise BuildError(f"there is no way from {ends.source} to {ends.to}", at)
    if spec.path_manager == "ndiffports":
        return [meshed[0]] * (spec.subflows or 2)
    wanted = len(meshed) if spec.subflows is None else spec.subflows
    if wanted > len(meshed):
        ways = "way" if len(meshed) == 1 else "ways"
        message = (
            f"{wanted} subflows, but {ends.source} and {ends.to} have {len(meshed)} {ways} between "
            "their interfaces; several subflows over the same interfaces need "
            "path_manager: ndiffports"
        )
        raise BuildError(message, (*at, "subflows"), str(wanted))
    return meshed[:wanted]


def _reachable(ends: Ends, network: Network) -> list[Between]:
    """Every pair of interfaces with a way there and back; pairs of equal rank come first."""
    found = []
    for i, local in enumerate(network.links_of(ends.source)):
        for j, remote in enumerate(network.links_of(ends.to)):
            try:
                network.way(ends.source, ends.to, local, remote)
                network.way(ends.to, ends.source, remote, local)
            except RoutingError:
                continue
            found.append((i != j, Between(local, remote, SubflowSpec())))
    return [between for _, between in sorted(found, key=lambda one: one[0])]


def _named(one: SubflowSpec, ends: Ends, network: Network, names: list[str], at: Loc) -> Between:
    local = _link(one.local, ends.source, "local", network, names, at)
    remote = _link(one.remote, ends.to, "remote", network, names, at)
    try:
        network.way(ends.source, ends.to, local, remote)
        network.way(ends.to, ends.source, remote, local)
    except RoutingError as error:
        message = f"{error.message}, leaving by {names[local]} and arriving by {names[remote]}"
        raise BuildError(message, at) from None
    return Between(local, remote, one)


def _link(
    written: str | None, host: str, field: str, network: Network, names: list[str], at: Loc
) -> int:
    """A link of a host by its name or the neighbour it leads to; without one, the only link."""
    here = network.links_of(host)
    known = tuple(names[link] for link in here)
    if written is None:
        if len(here) == 1:
            return here[0]
        raise BuildError(f"{host} has several links; name one", (*at, field), None, known)
    found = [link for link in here if names[link] == written or written in network.links[link]]
    if written == host or not found:
        raise BuildError(f"no link or neighbour of {host}", (*at, field), written, known)
    if len(found) > 1:
        message = f"several links join {host} and {written}; name one"
        raise BuildError(message, (*at, field), written, known)
    return found[0]


def _refuse_alike(found: list[Between], ends: Ends, names: list[str], at: Loc) -> None:
    seen: dict[tuple[int, int], int] = {}
    for i, one in enumerate(found):
        earlier = seen.setdefault((one.local, one.remote), i)
        if earlier != i:
            message = (
                f"subflows {earlier + 1} and {i + 1} both leave {ends.source} by "
                f"{names[one.local]} and arrive at {ends.to} by {names[one.remote]}; if that is "
                "meant, say path_manager: ndiffports"
            )
            raise BuildError(message, (*at, "subflows", i))
