"""Common networks in a few lines: each template expands to hosts, routers, links and routes.

Round-trip times are propagation alone and leave out what `access` adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.experiment.fields import (
    QueueLimit,
    Short,
    Strict,
    Time,
    exactly_one,
    problem,
    whole_number,
)
from dumbbell.experiment.network import (
    BothWays,
    LinkSpec,
    NetemSpec,
    PipeSpec,
    RouterSpec,
    RouteSpec,
    Spray,
    SpraySpec,
)
from dumbbell.experiment.source import Loc

Count = Annotated[int, whole_number(1, 10_000)]
Hops = Annotated[int, whole_number(1, 1_000)]
ONE_BDP = (QueueLimit(bdp=Fraction(1)),)


@dataclass(slots=True)
class Topology:
    """What a template expands to. `origins` says where in the file a link or route comes from."""

    hosts: list[str] = field(default_factory=list)
    routers: dict[str, RouterSpec] = field(default_factory=dict)
    switches: dict[str, RouterSpec] = field(default_factory=dict)
    links: list[tuple[LinkSpec, Loc]] = field(default_factory=list)
    routes: list[tuple[RouteSpec, Loc]] = field(default_factory=list)

    def link(
        self, a: str, b: str, ways: tuple[PipeSpec, PipeSpec], at: Loc, name: str = ""
    ) -> None:
        """Adds a link with the two pipes given."""
        fields: dict[str, Any] = {
            "name": name or f"{a}-{b}",
            "between": [a, b],
            "forward": ways[0],
            "backward": ways[1],
        }
        self.links.append((LinkSpec.made(fields), at))


def piped(spec: PipeSpec, **fields: Any) -> PipeSpec:
    """A pipe with some fields replaced."""
    values = spec.pipe() | fields
    return PipeSpec.made(values)


def shaped(spec: PipeSpec, delay_ns: int) -> PipeSpec:
    """A template's pipe: the delay in netem where it is the queue, a BDP of room by default."""
    given = spec.pipe()
    netem: NetemSpec | None = given.get("netem")
    if netem is not None:
        if netem.delay is None:
            given["netem"] = netem.model_copy(update={"delay": delay_ns})
    else:
        given.setdefault("delay", delay_ns)
        if ("rate" in given or "shaper" in given) and not given.keys() & {"buffer", "queue"}:
            given["buffer"] = ONE_BDP
    return PipeSpec.made(given)


def router(spray: SpraySpec | None) -> RouterSpec:
    """A router that sprays, or not."""
    return RouterSpec.made({"spray": spray})


def halves(rtt_ns: int) -> tuple[int, int]:
    """A round trip as delay there and back."""
    return rtt_ns - rtt_ns // 2, rtt_ns // 2


class Spread(Strict):
    """Values spread evenly from the first to the last."""

    from_: Annotated[Time, Field(alias="from")]
    to: Time


class RttSpec(Strict):
    """Round-trip times: one for all, one each, or spread evenly."""

    all: Time | None = None
    each: list[Time] | None = None
    spread: Spread | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        exactly_one(self, ("all", "each", "spread"))
        return self

    def values(self, count: int) -> list[int]:
        """One round trip for each of `count`, in nanoseconds."""
        if self.all is not None:
            return [self.all] * count
        if self.spread is not None:
            low, high = self.spread.from_, self.spread.to
            steps = max(count - 1, 1)
            return [low + (high - low) * i // steps for i in range(count)]
        each = self.each or []
        if len(each) != count:
            raise problem(f"{count} round trips are needed", found=f"{len(each)}", field="rtt")
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


class DumbbellTemplate(BothWays):
    """Sources s1… – router r1 – link `bottleneck` – router r2 – destinations d1….

    Fields of a pipe describe the bottleneck. The smallest round trip lies on it; what a pair has
    above that lies on its destination's link.
    """

    pairs: Count = 1
    rtt: Rtt
    access: BothWays = BothWays()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.rtt.values(self.pairs)
        return self

    def expand(self, at: Loc) -> Topology:
        """The network."""
        out = Topology(routers={"r1": RouterSpec(), "r2": RouterSpec()})
        rtts = self.rtt.values(self.pairs)
        least = min(rtts)
        there, back = halves(least)
        forward, backward = self.directions()
        access = self.access.directions()
        for i in range(1, self.pairs + 1):
            out.hosts.append(f"s{i}")
            out.link(f"s{i}", "r1", access, at)
        out.link("r1", "r2", (shaped(forward, there), shaped(backward, back)), at, "bottleneck")
        for i, rtt in enumerate(rtts, 1):
            out.hosts.append(f"d{i}")
            extra = halves(rtt - least)
            ways = tuple(
                piped(way, delay=(way.delay or 0) + more)
                for way, more in zip(access, extra, strict=True)
            )
            out.link("r2", f"d{i}", (ways[0], ways[1]), at)
        return out


class PathSpec(BothWays):
    """What one of parallel paths has of its own."""

    rtt: Time | None = None


class PathsSpec(Strict):
    """How many paths, or what each has of its own."""

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


class ParallelPathsTemplate(BothWays):
    """Sources s1… – router r1 – switches p1 ∥ p2 … – router r2 – destinations d1….

    Fields of a pipe describe every path: `forward` acts where a switch sends to r2, `backward`
    where it sends to r1.
    """

    sources: Count = 1
    destinations: Count | None = None
    paths: Paths = PathsSpec(count=2)
    rtt: Time
    access: BothWays = BothWays()
    spray: Spray = SpraySpec(policy="round_robin")
    use: Use = None

    @model_validator(mode="after")
    def _known_paths(self) -> Self:
        count = self.path_count()
        for number in self.use or ():
            if number > count:
                known = tuple(str(i + 1) for i in range(count))
                raise problem("no such path", found=number, allowed=known, field="use")
        if self.use is not None and (not self.use or len(set(self.use)) != len(self.use)):
            raise problem("each path once, and at least one", found=self.use, field="use")
        return self

    def path_count(self) -> int:
        """Paths there are."""
        return self.paths.count or len(self.paths.each or ())

    def expand(self, at: Loc) -> Topology:
        """The network. With `use`, explicit routes lead over those paths only."""
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
            there, back = halves(self.rtt if path.rtt is None else path.rtt)
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


class ParkingLotTemplate(BothWays):
    """Routers r1 … r(hops+1) in a row; s0 → d0 passes all hops, s1 → d1 the first, and so on.

    Fields of a pipe describe every hop (links hop1, hop2 …); `rtt` is that of the long way.
    """

    hops: Hops = 2
    rtt: Time
    access: BothWays = BothWays()

    def expand(self, at: Loc) -> Topology:
        """The network. The long way's delay is divided evenly, to the nanosecond."""
        out = Topology()
        out.routers = {f"r{i}": RouterSpec() for i in range(1, self.hops + 2)}
        access = self.access.directions()
        forward, backward = self.directions()
        there, back = halves(self.rtt)

        def part(total: int, i: int) -> int:
            return total * i // self.hops - total * (i - 1) // self.hops

        ends = [("s0", "r1", "d0", f"r{self.hops + 1}")]
        for i in range(1, self.hops + 1):
            ways = (shaped(forward, part(there, i)), shaped(backward, part(back, i)))
            out.link(f"r{i}", f"r{i + 1}", ways, at, f"hop{i}")
            ends.append((f"s{i}", f"r{i}", f"d{i}", f"r{i + 1}"))
        for source, first, sink, last in ends:
            out.hosts += [source, sink]
            out.link(source, first, access, at)
            out.link(last, sink, access, at)
        return out


class TemplateSpec(Strict):
    """One of the common networks."""

    dumbbell: DumbbellTemplate | None = None
    parallel_paths: Annotated[ParallelPathsTemplate | None, Field(alias="parallel-paths")] = None
    parking_lot: Annotated[ParkingLotTemplate | None, Field(alias="parking-lot")] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [n for n in self.names() if getattr(self, n.replace("-", "_")) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise problem("exactly one template is needed", found=found, allowed=self.names())
        return self

    def expand(self) -> Topology:
        """The network of the template given."""
        for name in self.names():
            template = getattr(self, name.replace("-", "_"))
            if template is not None:
                topology: Topology = template.expand(("template", name))
                return topology
        return Topology()
