"""Templates of networks in data centres: routers in tiers, with equal paths between all hosts."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import model_validator

from dumbbell.codes import Code
from dumbbell.experiment.fields import Checked, problem, whole_number
from dumbbell.experiment.network import BothDirections, PipeSpec, Spray, SpraySpec
from dumbbell.experiment.source import Loc
from dumbbell.experiment.topology import Topology, router, shaped

#: Maximum number of a fat tree's ports: 8192 hosts, 24576 links.
MAX_PORTS = 32
MAX_LINKS = 25_000
Tier = Annotated[int, whole_number(1, 10_000)]


def _even(value: object) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and 2 <= value <= MAX_PORTS and value % 2 == 0:  # type: ignore[operator]
        return value  # type: ignore[return-value]
    raise problem(
        f"should be an even number from 2 to {MAX_PORTS}", found=value, code=Code.TEMPLATE
    )


_EVEN_SCHEMA = {"type": "integer", "minimum": 2, "maximum": MAX_PORTS, "multipleOf": 2}
Ports = Annotated[int, Checked(_even, _EVEN_SCHEMA)]


def _up(spec: BothDirections) -> tuple[PipeSpec, PipeSpec]:
    """Pipes of a link, upwards and downwards, with the default queue limit."""
    forward, backward = spec.directions()
    return shaped(forward, 0), shaped(backward, 0)


class FatTreeTemplate(BothDirections):
    """Hosts h1… – edge routers edge1… – aggregation routers agg1… – core routers core1….

    A fat tree of routers with `k` ports (M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable,
    commodity data center network architecture", SIGCOMM 2008): `k` pods with k/2 edge and k/2
    aggregation routers each, (k/2)² core routers, k³/4 hosts. Fields of a pipe describe every link;
    forward is upwards.
    """

    k: Ports
    spray: Spray = SpraySpec.model_construct(policy="per_flow")

    def expand(self, at: Loc) -> Topology:
        """Network of the template. `at`: path of the template in the file."""
        half = self.k // 2
        numbers = range(1, half + 1)
        pipes = _up(self)
        out = Topology()
        for pod in range(self.k):
            for i in numbers:
                edge = pod * half + i
                for j in numbers:
                    host = (edge - 1) * half + j
                    out.hosts.append(f"h{host}")
                    out.link(f"h{host}", f"edge{edge}", pipes, at)
        for pod in range(self.k):
            for i in numbers:
                for j in numbers:
                    out.link(f"edge{pod * half + i}", f"agg{pod * half + j}", pipes, at)
        for agg in range(1, self.k * half + 1):
            first = (agg - 1) % half * half
            for j in numbers:
                out.link(f"agg{agg}", f"core{first + j}", pipes, at)
        for name, count in (("edge", self.k * half), ("agg", self.k * half), ("core", half * half)):
            out.routers |= {f"{name}{i}": router(self.spray) for i in range(1, count + 1)}
        return out


class LeafSpineTemplate(BothDirections):
    """Hosts h1… – leaf routers leaf1… – spine routers spine1…; every leaf is linked to every spine.

    Fields of a pipe describe every link, those of `uplinks` the links between leaves and spines.
    Forward is upwards.
    """

    leaves: Tier
    spines: Tier
    hosts_per_leaf: Tier
    uplinks: BothDirections = BothDirections.made({})
    spray: Spray = SpraySpec.model_construct(policy="per_flow")

    @model_validator(mode="after")
    def _small_enough(self) -> Self:
        links = self.leaves * (self.hosts_per_leaf + self.spines)
        if links > MAX_LINKS:
            message = f"at most {MAX_LINKS} links: leaves × (hosts_per_leaf + spines)"
            raise problem(message, found=links, code=Code.TEMPLATE)
        return self

    def expand(self, at: Loc) -> Topology:
        """Network of the template. `at`: path of the template in the file."""
        pipes = _up(self)
        forward = self.override(self.forward).override(self.uplinks).override(self.uplinks.forward)
        backward = self.override(self.backward).override(self.uplinks)
        backward = backward.override(self.uplinks.backward)
        uplink = shaped(forward, 0), shaped(backward, 0)
        out = Topology()
        for leaf in range(1, self.leaves + 1):
            for j in range(1, self.hosts_per_leaf + 1):
                host = f"h{(leaf - 1) * self.hosts_per_leaf + j}"
                out.hosts.append(host)
                out.link(host, f"leaf{leaf}", pipes, at)
        for leaf in range(1, self.leaves + 1):
            for spine in range(1, self.spines + 1):
                out.link(f"leaf{leaf}", f"spine{spine}", uplink, at)
        for name, count in (("leaf", self.leaves), ("spine", self.spines)):
            out.routers |= {f"{name}{i}": router(self.spray) for i in range(1, count + 1)}
        return out
