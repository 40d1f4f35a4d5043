"""Time 0 of a file whose clock may count since 1970, or since the start of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

#: Latest time on such a clock, ns: 2^62, in the year 2116.
MOST_CLOCK_NS = 2**62
#: The interval of a first row begins at 0 if the row is at most so many steps after 0.
_STEPS = 1.5
#: Step if no flow has two rows, ns: a day.
_LONE_STEP_NS = 86_400e9


@dataclass(frozen=True, slots=True)
class Clock:
    """Begin of a file and of its flows.

    Attributes:
        zero: Time of the file that becomes 0, ns: that of the first row, or 0 if the first row is
            about a step (median distance of two rows of a flow) after 0.
        starts: Flow → begin of its first interval after `zero`, ns: 0, or its first row.
    """

    zero: float
    starts: dict[str, float]


def clock_of(rows: Iterable[tuple[str, float]]) -> Clock:
    """Clock of rows, each the name of its flow and its time in ns."""
    times: dict[str, list[float]] = {}
    for name, time in rows:
        times.setdefault(name, []).append(time)
    gaps = [b - a for own in times.values() for a, b in pairwise(own) if b > a]
    most = _STEPS * (median(gaps) if gaps else _LONE_STEP_NS)
    first = min((own[0] for own in times.values()), default=0.0)
    zero = 0.0 if first <= most else first
    starts = {name: own[0] - zero for name, own in times.items()}
    near = {name for name, start in starts.items() if zero == 0.0 and start <= most}
    return Clock(zero, {name: 0.0 if name in near else one for name, one in starts.items()})
