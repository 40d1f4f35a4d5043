"""Network of a template, and the pipes of its links."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dumbbell.experiment.fields import QueueLimit
from dumbbell.experiment.network import (
    NetemSpec,
    PipeSpec,
    RouterSpec,
    RouteSpec,
    SpraySpec,
)
from dumbbell.experiment.source import Loc

ONE_BDP = (QueueLimit(bdp=Fraction(1)),)


@dataclass(frozen=True, slots=True)
class Link:
    """A link with both its pipes. Links of a template share the specifications of their pipes.

    Attributes:
        ends: Names of both nodes.
        pipes: Forward and backward pipe.
        extra_ns: Delay of each pipe beyond that of its specification.
        at: Path of the link in the file.
    """

    ends: tuple[str, str]
    pipes: tuple[PipeSpec, PipeSpec]
    extra_ns: tuple[int, int]
    at: Loc

    def directions(self) -> tuple[PipeSpec, PipeSpec]:
        """Forward and backward pipe with their extra delays."""
        there, back = zip(self.pipes, self.extra_ns, strict=True)
        return _delayed(*there), _delayed(*back)


def _delayed(spec: PipeSpec, extra_ns: int) -> PipeSpec:
    return piped(spec, delay=(spec.delay or 0) + extra_ns) if extra_ns else spec


@dataclass(slots=True)
class Topology:
    """Network of a template. Each link and route has its path in the file."""

    hosts: list[str] = field(default_factory=list)
    routers: dict[str, RouterSpec] = field(default_factory=dict)
    switches: dict[str, RouterSpec] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    routes: list[tuple[RouteSpec, Loc]] = field(default_factory=list)

    def link(
        self,
        a: str,
        b: str,
        pipes: tuple[PipeSpec, PipeSpec],
        at: Loc,
        name: str = "",
        extra_ns: tuple[int, int] = (0, 0),
    ) -> None:
        """Adds a link. `pipes` and `extra_ns`: forward and backward."""
        self.links[name or f"{a}-{b}"] = Link((a, b), pipes, extra_ns, at)


def piped(spec: PipeSpec, **fields: Any) -> PipeSpec:
    """Copy of a pipe with some fields replaced."""
    values = spec.pipe() | fields
    return PipeSpec.made(values)


def shaped(spec: PipeSpec, delay_ns: int) -> PipeSpec:
    """Pipe of a template with its delay. Default queue limit: 1 BDP. Delay of netem: in netem."""
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
    """Router with a spraying policy, or None."""
    return RouterSpec.made({"spray": spray})
