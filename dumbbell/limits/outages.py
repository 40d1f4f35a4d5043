"""Outages: the times in which links are down, read from a scenario."""

from __future__ import annotations

from collections.abc import Iterable

from dumbbell.scenario import Pipe, Scenario

Stretch = tuple[int, int]
"""Beginning and end, ns."""


def outages(pipe: Pipe, end_ns: int) -> list[Stretch]:
    """Times in which a direction of a link is down, until the end of the run, in order."""
    found: list[Stretch] = []
    since: int | None = None
    for change in pipe["changes"]:
        state = change.get("state")
        if state == "down":
            since = change["at_ns"]
        elif state == "up" and since is not None:
            found.append((since, min(change["at_ns"], end_ns)))
            since = None
    if since is not None:
        found.append((since, end_ns))
    return [(begin, end) for begin, end in found if begin < end]


def has_outages(spec: Scenario) -> bool:
    """Returns true if a link goes down during the run."""
    pipes = (pipe for link in spec["links"] for pipe in (link["forward"], link["backward"]))
    return any(change.get("state") for pipe in pipes for change in pipe["changes"])


def union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Merges overlapping times; in order."""
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def within(stretches: Iterable[Stretch], begin_ns: int, end_ns: int) -> list[Stretch]:
    """The parts of these times between two others."""
    cut = ((max(begin, begin_ns), min(end, end_ns)) for begin, end in stretches)
    return [(begin, end) for begin, end in cut if begin < end]
