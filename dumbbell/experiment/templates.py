"""Templates of common networks. Each expands to hosts, routers, links and routes.

Those of data centres are in `fabrics`.

RTTs are propagation delays, without the delay of `access`.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.fabrics import FatTreeTemplate, LeafSpineTemplate
from dumbbell.experiment.fields import (
    Short,
    Strict,
    Time,
    exactly_one,
    problem,
    whole_number,
)
from dumbbell.experiment.network import (
    BothDirections,
    PipeSpec,
    RouterSpec,
    RouteSpec,
    Spray,
    SpraySpec,
)
from dumbbell.experiment.source import Loc
from dumbbell.experiment.topology import Topology, router, shaped

Count = Annotated[int, whole_number(1, 10_000)]
Hops = Annotated[int, whole_number(1, 1_000)]


def split_rtt(rtt_ns: int) -> tuple[int, int]:
    """One-way delays of an RTT, forward and backward, in ns."""
    return rtt_ns - rtt_ns // 2, rtt_ns // 2


class Spread(Strict):
    """Values spread evenly from the first to the last."""

    from_: Annotated[Time, Field(alias="from")]
    to: Time


class RttSpec(Strict):
    """RTTs: one for all pairs, one per pair, or spread evenly."""

    all: Time | None = None
    each: list[Time] | None = None
    spread: Spread | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("all", "each", "spread"))
        return self

    def values(self, count: int) -> list[int]:
        """RTT of each of `count` pairs, in ns."""
        if self.all is not None:
            return [self.all] * count
        if self.spread is not None:
            low, high = self.spread.from_, self.spread.to
            steps = max(count - 1, 1)
            return [low + (high - low) * i // steps for i in range(count)]
        each = self.each or []
        if len(each) != count:
            raise problem(
                f"{count} round trips are needed",
                found=f"{len(each)}",
                field="rtt",
                code=Code.TEMPLATE,
            )
        return each


def _rtt(value: Any) -> Any:
    if isinstance(value, list):
        return {"each": value}
    if isinstance(value, dict):
        return {"spread": value}
    return {"all": value}


_TIME_TEXT = {"type": "string", "examples": ["40 ms"]}
_RTT_SCHEMA = {
    "anyOf": [
        _TIME_TEXT,
        {"type": "array", "items": _TIME_TEXT},
        {
            "type": "object",
            "properties": {"from": _TIME_TEXT, "to": _TIME_TEXT},
            "required": ["from", "to"],
        },
    ]
}
Rtt = Annotated[RttSpec, Short(_rtt, _RTT_SCHEMA)]


class DumbbellTemplate(BothDirections):
    """Sources s1… – router r1 – link `bottleneck` – router r2 – destinations d1….

    Fields of a pipe describe the bottleneck. The bottleneck has the smallest RTT of all pairs as
    its delay. The link of a destination adds the rest of its pair's RTT.
    """

    pairs: Count = 1
    rtt: Rtt
    access: BothDirections = BothDirections.made({})

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.rtt.values(self.pairs)
        return self

    def expand(self, at: Loc) -> Topology:
        """Network of the template. `at`: path of the template in the file."""
        out = Topology(routers={"r1": RouterSpec(), "r2": RouterSpec()})
        rtts = self.rtt.values(self.pairs)
        least = min(rtts)
        there, back = split_rtt(least)
        forward, backward = self.directions()
        access = self.access.directions()
        for i in range(1, self.pairs + 1):
            out.hosts.append(f"s{i}")
            out.link(f"s{i}", "r1", access, at)
        out.link("r1", "r2", (shaped(forward, there), shaped(backward, back)), at, "bottleneck")
        for i, rtt in enumerate(rtts, 1):
            out.hosts.append(f"d{i}")
            out.link("r2", f"d{i}", access, at, extra_ns=split_rtt(rtt - least))
        return out


class PathSpec(BothDirections):
    """Fields of one of several parallel paths."""

    rtt: Time | None = None


class PathsSpec(Strict):
    """Number of paths, or the fields of each."""

    count: Annotated[int, whole_number(1, 1_000)] | None = None
    each: Annotated[list[PathSpec], Field(min_length=1, max_length=1_000)] | None = None


def _paths(value: Any) -> Any:
    return {"each": value} if isinstance(value, list) else {"count": value}


_PATHS_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array"}]}
Paths = Annotated[PathsSpec, Short(_paths, _PATHS_SCHEMA)]


def _use(value: Any) -> Any:
    return None if value == "all" else value


Use = Annotated[
    list[Annotated[int, whole_number(1, 1_000)]] | None,
    Short(_use, {"const": "all"}),
]


class ParallelPathsTemplate(BothDirections):
    """Sources s1… – router r1 – switches p1 ∥ p2 … – router r2 – destinations d1….

    Fields of a pipe describe every path. `forward` applies where a switch sends to r2, `backward`
    where it sends to r1.
    """

    sources: Count = 1
    destinations: Count | None = None
    paths: Paths = PathsSpec.model_construct(count=2)
    rtt: Time
    access: BothDirections = BothDirections.made({})
    spray: Spray = SpraySpec.model_construct(policy="round_robin")
    use: Use = None

    @model_validator(mode="after")
    def _known_paths(self) -> Self:
        count = self.path_count()
        for number in self.use or ():
            if number > count:
                known = tuple(str(i + 1) for i in range(count))
                raise problem(
                    "no such path", found=number, allowed=known, field="use", code=Code.TEMPLATE
                )
        if self.use is not None and (not self.use or len(set(self.use)) != len(self.use)):
            raise problem(
                "each path once, and at least one", found=self.use, field="use", code=Code.TEMPLATE
            )
        return self

    def path_count(self) -> int:
        """Number of paths."""
        return self.paths.count or len(self.paths.each or ())

    def expand(self, at: Loc) -> Topology:
        """Network of the template. With `use`, explicit routes lead over these paths only."""
        used = self.use or list(range(1, self.path_count() + 1))
        spray = self.spray if len(used) > 1 else None
        out = Topology(routers={name: router(spray) for name in ("r1", "r2")})
        sources = [f"s{i}" for i in range(1, self.sources + 1)]
        sinks = [f"d{i}" for i in range(1, (self.destinations or self.sources) + 1)]
        out.hosts = sources + sinks
        access = self.access.directions()
        for name in sources:
            out.link(name, "r1", access, at)
        own = self.paths.each or [PathSpec()] * self.path_count()
        for i, path in enumerate(own, 1):
            there, back = split_rtt(self.rtt if path.rtt is None else path.rtt)
            forward = self.override(self.forward).override(path).override(path.forward)
            backward = self.override(self.backward).override(path).override(path.backward)
            out.switches[f"p{i}"] = RouterSpec()
            nothing = PipeSpec()
            out.link("r1", f"p{i}", (nothing, shaped(backward, back)), at)
            out.link(f"p{i}", "r2", (shaped(forward, there), nothing), at)
        for name in sinks:
            out.link("r2", name, access, at)
        if self.use is not None:
            for here, ends, link in (("r1", sinks, "r1-p{}"), ("r2", sources, "p{}-r2")):
                via = [link.format(i) for i in used]
                route = RouteSpec.made({"at": [here], "to": ends, "via": via})
                out.routes.append((route, (*at, "use")))
        return out


class ParkingLotTemplate(BothDirections):
    """Routers r1 … r(hops+1) in a row; s0 → d0 passes all hops, s1 → d1 the first, and so on.

    Fields of a pipe describe every hop (links hop1, hop2 …). `rtt`: RTT of the path over all
    hops.
    """

    hops: Hops = 2
    rtt: Time
    access: BothDirections = BothDirections.made({})

    def expand(self, at: Loc) -> Topology:
        """Network of the template. The delay over all hops is divided evenly, to the nanosecond."""
        out = Topology()
        out.routers = {f"r{i}": RouterSpec() for i in range(1, self.hops + 2)}
        access = self.access.directions()
        forward, backward = self.directions()
        there, back = split_rtt(self.rtt)

        def part(total: int, i: int) -> int:
            return total * i // self.hops - total * (i - 1) // self.hops

        ends = [("s0", "r1", "d0", f"r{self.hops + 1}")]
        for i in range(1, self.hops + 1):
            pipes = (shaped(forward, part(there, i)), shaped(backward, part(back, i)))
            out.link(f"r{i}", f"r{i + 1}", pipes, at, f"hop{i}")
            ends.append((f"s{i}", f"r{i}", f"d{i}", f"r{i + 1}"))
        for source, first, sink, last in ends:
            out.hosts += [source, sink]
            out.link(source, first, access, at)
            out.link(last, sink, access, at)
        return out


class TemplateSpec(Strict):
    """Choice of a template."""

    dumbbell: DumbbellTemplate | None = None
    parallel_paths: Annotated[ParallelPathsTemplate | None, Field(alias="parallel-paths")] = None
    parking_lot: Annotated[ParkingLotTemplate | None, Field(alias="parking-lot")] = None
    fat_tree: Annotated[FatTreeTemplate | None, Field(alias="fat-tree")] = None
    leaf_spine: Annotated[LeafSpineTemplate | None, Field(alias="leaf-spine")] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [n for n in self.names() if getattr(self, n.replace("-", "_")) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise problem(
                "exactly one template is needed",
                found=found,
                allowed=self.names(),
                code=Code.TEMPLATE,
            )
        return self

    def expand(self) -> Topology:
        """Network of the chosen template."""
        for name in self.names():
            template = getattr(self, name.replace("-", "_"))
            if template is not None:
                topology: Topology = template.expand(("template", name))
                return topology
        return Topology()
