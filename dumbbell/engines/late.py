"""Times of a scenario after its end, which have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from dumbbell.console.words import many
from dumbbell.scenario import Scenario

_TIME = re.compile(r'"(?:at_ns|start_ns|stop_ns|from_ns)":([0-9]+)')
_END = re.compile(r'"duration_ns":([0-9]+)')
_SIDES: tuple[Literal["forward", "backward"], ...] = ("forward", "backward")
#: Sections whose entries may stop.
_STOPPING = ("flows", "arrivals", "connections", "programs", "requests")
_STRETCHES = ("packets", "hops")


def is_late(scenario: str) -> bool:
    """Returns true if a scenario may have a time after its end; it is not parsed."""
    end = _END.search(scenario)
    return end is not None and any(int(at) >= int(end[1]) for at in _TIME.findall(scenario))


def after_the_end(spec: Scenario) -> Iterator[tuple[str, str]]:
    """Path and message of times after the end: the first of a pipe, and of a section."""
    end = spec["duration_ns"]
    for number, link in enumerate(spec["links"]):
        for side in _SIDES:
            times = [change["at_ns"] for change in link[side]["changes"]]
            late = [place for place, at in enumerate(times) if at >= end]
            if late:
                path = f"links[{number}].{side}.changes[{late[0]}]"
                yield path, _said("a change", times[late[0]], end, len(late))
    sections: Mapping[str, Any] = spec
    # Of other sections, a start after the end is an error.
    starts = [one["start_ns"] for one in spec["arrivals"]]
    if late := [place for place, at in enumerate(starts) if at >= end]:
        path = f"arrivals[{late[0]}].start_ns"
        yield path, _said("a start", starts[late[0]], end, len(late))
    for section in _STOPPING:
        stops = [one.get("stop_ns") or 0 for one in sections.get(section) or ()]
        late = [place for place, at in enumerate(stops) if at > end]
        if late:
            path = f"{section}[{late[0]}].stop_ns"
            yield path, _said("a stop", stops[late[0]], end, len(late))
    sampling: Mapping[str, Any] = spec["sampling"]
    for table in _STRETCHES:
        begin = (sampling.get(table) or {}).get("from_ns", 0)
        if begin >= end:
            yield f"sampling.{table}", _said("a recording that begins", begin, end, 1)


def _said(what: str, at_ns: int, end_ns: int, count: int) -> str:
    others = f" and {many(count - 1, 'other')} have" if count > 1 else " has"
    return f"{what} at {at_ns / 1e9:g} s{others} no effect: the run ends at {end_ns / 1e9:g} s"
