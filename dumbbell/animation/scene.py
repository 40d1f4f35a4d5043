"""Scene of an animation, from any source: a network, flows, and the path of every packet."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.explain.every import ExplainedIncident
from dumbbell.layout import places
from dumbbell.limits.outages import outages
from dumbbell.scenario import Pipe as ScenarioPipe

#: A column's width by a row's height, as the page draws them.
_COLUMN_ROWS = 250 / 150


@dataclass(frozen=True, slots=True)
class Node:
    """A node and where it stands, in columns and rows; y grows downwards."""

    name: str
    kind: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Pipe:
    """A direction of a link.

    Attributes:
        name: `link/direction`, as in the tables.
        rate_bps: What it sends bits at; 0: unknown, or none.
        overhead_bytes: What the line adds to each frame.
        limit_packets: Room of its queue; 0: unknown, or none.
        words: What it is, for the drawing.
        down_ns: Times in which it is down: beginning and end.
    """

    name: str
    rate_bps: float = 0.0
    overhead_bytes: int = 0
    limit_packets: int = 0
    words: str = ""
    down_ns: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes, by their names, with both directions."""

    a: str
    b: str
    forward: Pipe
    backward: Pipe


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: its name, kind, the nodes at its ends; empty: unknown."""

    name: str
    kind: str
    from_host: str
    to_host: str


@dataclass(frozen=True)
class Scene:
    """All that a page shows.

    Attributes:
        title: Its heading.
        from_ns: Beginning.
        to_ns: End.
        nodes: With their places.
        links: Between them.
        flows: In the order of their colours.
        hops: The table `hops` of one run.
        samples: The table `samples`; empty: windows are unknown.
        counts: What sequence numbers count: bytes or packets.
        remarks: Of the simulator: ns, text.
        notes: What a reader should know, a sentence each.
        explained: Explanations of incidents, in order of time.
    """

    title: str
    from_ns: int
    to_ns: int
    nodes: list[Node]
    links: list[Link]
    flows: list[Flow]
    hops: pl.DataFrame
    samples: pl.DataFrame
    counts: str = "bytes"
    remarks: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    explained: list[ExplainedIncident] = field(default_factory=list)


def placed(
    kinds: Mapping[str, str],
    links: list[Link],
    flows: list[Flow],
    given: Mapping[str, tuple[float, float]] | None = None,
) -> list[Node]:
    """Nodes, name → kind, at their places: given ones, or columns from the senders.

    Args:
        kinds: Host, router, switch, or node where that is unknown.
        links: Between them.
        flows: From and to them.
        given: Places of all of them, in any unit; y grows downwards.

    Raises:
        DumbbellError: A node has no place among those that were given.
    """
    if given is not None:
        return _given(kinds, links, given)
    grid = places(
        list(kinds),
        [(link.a, link.b) for link in links],
        [(one.from_host, one.to_host) for one in flows if one.from_host in kinds],
    )
    return [Node(name, kind, *map(float, grid[name])) for name, kind in kinds.items()]


def _given(
    kinds: Mapping[str, str], links: list[Link], given: Mapping[str, tuple[float, float]]
) -> list[Node]:
    """Given places, so scaled that the middle one of the links is as long as a column is wide."""
    missing = [name for name in kinds if name not in given]
    if missing:
        raise DumbbellError(
            f"--positions: no place for {', '.join(missing[:5])}; all of"
            f" {', '.join(list(kinds)[:20])} need one",
            code=Code.ANIMATION,
        )
    lengths = [math.dist(given[link.a], given[link.b]) for link in links]
    unit = statistics.median(length for length in lengths if length > 0) if any(lengths) else 1.0
    # A column is wider than a row is high.
    return [
        Node(name, kind, given[name][0] / unit, given[name][1] / unit * _COLUMN_ROWS)
        for name, kind in kinds.items()
    ]


def pipe_of(name: str, spec: ScenarioPipe, end_ns: int) -> Pipe:
    """A direction of a link of a scenario."""
    from dumbbell.summary.pipe_words import pipe_words

    shaper: Any = spec["shaper"]
    rate = 0.0
    if isinstance(shaper, Mapping):
        (settings,) = shaper.values()
        rate = float(settings.get("rate_bps") or 0.0)
    (limits,) = list(spec["queue"].values())[:1]
    limit = limits.get("limit_packets") if isinstance(limits, Mapping) else None
    overhead = int(spec.get("framing", {}).get("overhead_bytes", 0))
    words = ", ".join(pipe_words(spec)[:2])
    return Pipe(name, rate, overhead, int(limit or 0), words, tuple(outages(spec, end_ns)))
