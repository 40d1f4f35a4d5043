"""Subflows of a multipath connection: their interfaces and their order."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell._core import Network, RoutingError
from dumbbell.codes import Code
from dumbbell.experiment.pipes import BuildError
from dumbbell.experiment.source import Loc
from dumbbell.experiment.traffic import MptcpSpec, SubflowSpec


@dataclass(frozen=True, slots=True)
class Between:
    """Subflow between two interfaces.

    Attributes:
        local: Index of the link at the opening host.
        remote: Index of the link at the other host.
        spec: Subflow as written in the file.
    """

    local: int
    remote: int
    spec: SubflowSpec


@dataclass(frozen=True, slots=True)
class Hosts:
    """Names of the hosts of a connection."""

    source: str
    to: str


def subflows(
    spec: MptcpSpec, hosts: Hosts, network: Network, names: list[str], at: Loc
) -> list[Between]:
    """Subflows of a connection. The first one opens it.

    Args:
        spec: Connection as written in the file.
        hosts: Names of its hosts.
        network: Graph of the network.
        names: Name of each link.
        at: Path of `mptcp` in the file.

    Raises:
        BuildError: No subflow is possible, a name is ambiguous, or two subflows have the same
            interfaces without `ndiffports`.
    """
    if isinstance(spec.subflows, list):
        found = [
            _named(one, hosts, network, names, (*at, "subflows", i))
            for i, one in enumerate(spec.subflows)
        ]
        if not found:
            raise BuildError("no subflow is named", (*at, "subflows"), code=Code.SUBFLOWS)
        if all(one.spec.backup for one in found):
            message = "all subflows are backups; at least one must carry data from the start"
            raise BuildError(message, (*at, "subflows"), code=Code.SUBFLOWS)
        if found[0].spec.backup:
            message = "the first subflow opens the connection, and is never a backup"
            raise BuildError(message, (*at, "subflows", 0, "backup"), code=Code.SUBFLOWS)
        if spec.path_manager != "ndiffports":
            _refuse_alike(found, hosts, names, at)
        return found
    meshed = _reachable(hosts, network)
    if not meshed:
        raise BuildError(
            f"there is no path from {hosts.source} to {hosts.to}", at, code=Code.NO_PATH
        )
    if spec.path_manager == "ndiffports":
        return [meshed[0]] * (spec.subflows or 2)
    wanted = len(meshed) if spec.subflows is None else spec.subflows
    if wanted > len(meshed):
        paths = "path" if len(meshed) == 1 else "paths"
        message = (
            f"{wanted} subflows, but {hosts.source} and {hosts.to} have {len(meshed)} {paths} "
            "between their interfaces; several subflows over the same interfaces need "
            "path_manager: ndiffports"
        )
        raise BuildError(message, (*at, "subflows"), str(wanted), code=Code.SUBFLOWS)
    return meshed[:wanted]


def _reachable(hosts: Hosts, network: Network) -> list[Between]:
    """All pairs of interfaces with a path in both directions, pairs of equal rank first."""
    found = []
    for i, local in enumerate(network.links_of(hosts.source)):
        for j, remote in enumerate(network.links_of(hosts.to)):
            try:
                network.check((hosts.source, hosts.to, local, remote))
            except RoutingError:
                continue
            found.append((i != j, Between(local, remote, SubflowSpec())))
    return [between for _, between in sorted(found, key=lambda one: one[0])]


def _named(one: SubflowSpec, hosts: Hosts, network: Network, names: list[str], at: Loc) -> Between:
    local = _link(one.local, hosts.source, "local", network, names, at)
    remote = _link(one.remote, hosts.to, "remote", network, names, at)
    try:
        network.check((hosts.source, hosts.to, local, remote))
    except RoutingError as error:
        message = f"{error.message}, leaving by {names[local]} and arriving by {names[remote]}"
        raise BuildError(message, at, code=Code.NO_PATH) from None
    return Between(local, remote, one)


def _link(
    written: str | None, host: str, field: str, network: Network, names: list[str], at: Loc
) -> int:
    """Index of a host's link, by the name of the link or neighbour; None: the only link."""
    here = network.links_of(host)
    known = tuple(names[link] for link in here)
    if written is None:
        if len(here) == 1:
            return here[0]
        raise BuildError(
            f"{host} has several links; name one", (*at, field), None, known, code=Code.SUBFLOWS
        )
    found = [link for link in here if names[link] == written or written in network.ends(link)]
    if written == host or not found:
        raise BuildError(
            f"no link or neighbour of {host}", (*at, field), written, known, code=Code.SUBFLOWS
        )
    if len(found) > 1:
        message = f"several links join {host} and {written}; name one"
        raise BuildError(message, (*at, field), written, known, code=Code.SUBFLOWS)
    return found[0]


def _refuse_alike(found: list[Between], hosts: Hosts, names: list[str], at: Loc) -> None:
    seen: dict[tuple[int, int], int] = {}
    for i, one in enumerate(found):
        earlier = seen.setdefault((one.local, one.remote), i)
        if earlier != i:
            message = (
                f"subflows {earlier + 1} and {i + 1} both leave {hosts.source} by "
                f"{names[one.local]} and arrive at {hosts.to} by {names[one.remote]}; to "
                "allow this, write path_manager: ndiffports"
            )
            raise BuildError(message, (*at, "subflows", i), code=Code.SUBFLOWS)
