"""Network of a template, and the pipes of its links."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dumbbell.experiment.fields import QueueLimit
from dumbbell.experiment.network import (
    LinkSpec,
    NetemSpec,
    PipeSpec,
    RouterSpec,
    RouteSpec,
    SpraySpec,
)
from dumbbell.experiment.source import Loc

ONE_BDP = (QueueLimit(bdp=Fraction(1)),)


@dataclass(slots=True)
class Topology:
    """Network of a template. Each link and route has its path in the file."""

    hosts: list[str] = field(default_factory=list)
    routers: dict[str, RouterSpec] = field(default_factory=dict)
    switches: dict[str, RouterSpec] = field(default_factory=dict)
    links: list[tuple[LinkSpec, Loc]] = field(default_factory=list)
    routes: list[tuple[RouteSpec, Loc]] = field(default_factory=list)

    def link(
        self, a: str, b: str, pipes: tuple[PipeSpec, PipeSpec], at: Loc, name: str = ""
    ) -> None:
        """Adds a link. `pipes`: forward and backward."""
        fields: dict[str, Any] = {
            "name": name or f"{a}-{b}",
            "between": [a, b],
            "forward": pipes[0],
            "backward": pipes[1],
        }
        self.links.append((LinkSpec.made(fields), at))


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
