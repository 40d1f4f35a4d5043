"""Numbers of cells, as names and values that can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from statistics import fmean

from dumbbell.metrics.statistics import Interval
from dumbbell.summary.cells import CellLine
from dumbbell.summary.flow_lines import FlowLine

Numbers = dict[str, float]

#: Of a cell: numbers of its setting, not of its runs.
_SETTING = {
    "count",
    "bulk",
    "base_rtt_ms",
    "bdp_packets",
    "hops",
    "narrowest",
    "pipes",
    "rate_mbps",
    "burst_packets",
}
#: Smallest and largest of the flows of a line, each over its repeats: no mean.
_RANGE = {"range_mbps"}


def numbers(cell: CellLine) -> Numbers:
    """Each known number of a cell by name, as `flow cubic / share`."""
    return {name: value for name, value in _numbers(cell) if value is not None}


def _numbers(cell: CellLine) -> Iterator[tuple[str, float | None]]:
    yield from _fields(
        "cell", cell, {"levels", "flows", "links", "bulk", "setting", "phases", "worst"}
    )
    yield from ((f"worst / {name}", value) for name, value in cell.worst.items())
    for flow in cell.flows:
        yield from _fields(f"flow {flow.title}", flow, {"title", "algorithm", *_SETTING, *_RANGE})
    for link in cell.links:
        yield from _fields(f"link {link.pipe}", link, {"pipe", "drops"})
        yield from ((f"link {link.pipe} / {why}", share) for why, share in link.drops.items())
    for place, phase in enumerate(cell.phases):
        for one in fields(phase):
            value = getattr(phase, one.name)
            if isinstance(value, bool):
                continue  # `loaded`: of all repeats at once.
            pairs = value.items() if isinstance(value, Mapping) else [("", value)]
            yield from ((f"phase {place} {name} / {one.name}", own) for name, own in pairs)


def _fields(name: str, holder: object, without: set[str]) -> Iterator[tuple[str, float | None]]:
    for one in fields(holder):  # type: ignore[arg-type]
        if one.name not in without:
            value = getattr(holder, one.name)
            if isinstance(value, Interval):
                value = None if math.isnan(value.mean) else value.mean
            yield f"{name} / {one.name}", value


def flows_of(cell: CellLine) -> list[FlowLine]:
    """Lines of senders and of datagrams."""
    return [flow for flow in cell.flows if flow.algorithm != "ping"]


def differing(one: Numbers, other: Numbers) -> list[str]:
    """Numbers that are not the same in both."""
    names = one.keys() | other.keys()
    return sorted(
        f"{name}: {one.get(name)} and {other.get(name)}"
        for name in names
        if not alike(one.get(name), other.get(name))
    )


def alike(one: float | None, other: float | None) -> bool:
    """True for numbers that differ by rounding alone."""
    if one is None or other is None:
        return one is other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or one == other


def combined(alone: list[Numbers], name: str) -> float | None:
    """A number of each repeat alone, combined as declared: the mean over those that know it."""
    if name.startswith("phase ") and name.endswith(" / goodput_mbps"):
        return fmean(
            own.get(name, 0.0) for own in alone
        )  # a flow that delivers nothing has no line
    known = [own[name] for own in alone if name in own]
    if name.endswith(" / settled_s") and len({math.isinf(one) for one in known}) > 1:
        return math.nan  # in some repeats, not in others
    return fmean(known) if known else None
