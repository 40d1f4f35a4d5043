"""Bottlenecks of a cell: which directions of links are shown, and their numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dumbbell.limits.pipes import pipes_of, rate_of
from dumbbell.metrics import METRICS
from dumbbell.metrics.bottlenecks import BY_REASON
from dumbbell.metrics.cells import CellValues, Levels, Several
from dumbbell.scenario import Pipe, Scenario

#: A pipe that carried this share of its rate, or of the fullest pipe's share, is a bottleneck.
_BUSY, _OF_THE_FULLEST = 0.9, 0.9
#: A pipe whose queue or policer dropped this share of the packets offered is one, too.
_DROPPED = 1e-3
#: A pipe that drops a larger part of its packets is lossy, whether it limits a rate or not.
LOSSY = 0.03
#: Reasons of drops that are signs of congestion.
_CONGESTION = ("overflow", "aqm", "policed")
#: Bottlenecks of a cell that stand in a table.
MOST = 4
#: Reasons of drops, and a word for each.
DROPS = {
    "overflow": "overflow", "random": "random loss", "scripted": "scripted loss",
    "policed": "policer", "corrupted": "corruption", "aqm": "AQM",
    "link_down": "link down",
}  # fmt: skip
#: Field of a line → its metric.
_FIELDS = {
    "throughput_mbps": "link_throughput_mbps",
    "used": "link_use",
    "used_under_load": "utilisation",
    "marked": "link_marked_share",
    "dropped": "loss_ratio",
    "delay_p10_ms": "queue_delay_p10_ms",
    "delay_p50_ms": "queue_delay_p50_ms",
    "delay_p95_ms": "queue_delay_p95_ms",
    "jain": "link_jain",
    "late_overflow": "late_overflow_packets",
}
#: The metrics of all lines.
MEASURED = [
    METRICS[name] for name in (*_FIELDS.values(), *(one.name for one in BY_REASON.values()))
]


@dataclass(frozen=True)
class LinkLine:
    """A bottleneck: means over repeats; None where it is not known. Metrics: `_FIELDS`.

    Attributes:
        pipe: Link and direction.
        throughput_mbps: Bits of frames that it carried while flows are under way.
        used: Share of what it could carry in that time.
        used_under_load: The same in the time of load, from samples of its queue; None also where
            frames are longer on its wire.
        marked: Share of the packets offered that was marked (ECN); None if none was.
        dropped: Share of the packets offered.
        delay_p10_ms: Quantile of the queueing delay in the time of load, as the next two.
        jain: Jain's index of the goodputs of the bulk flows that it limits; None for one flow.
        drops: Share of the packets offered that was dropped for each reason that is known.
        late_overflow: Packets per run that its full queue dropped in the second half of the time of
            load.
    """

    pipe: str
    throughput_mbps: float
    used: float | None
    used_under_load: float | None
    marked: float | None
    dropped: float | None
    delay_p10_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    jain: float | None
    drops: Mapping[str, float]
    late_overflow: float | None = None


def link_lines(
    values: CellValues, cell: Levels, spec: Scenario, paths: Collection[str] = ()
) -> list[LinkLine]:
    """The bottlenecks of a cell, those used most first; of equally used ones those that drop.

    Args:
        values: The metrics `MEASURED`.
        cell: The cell.
        spec: Its scenario.
        paths: Pipes that are told however little they carry: the narrowest of each of several paths
            of a flow.
    """
    pipes = pipes_of(spec)
    lines = [_line(values, cell, name, pipe) for name, pipe in pipes.items()]
    lines = [line for line in lines if _can_limit(pipes[line.pipe]) or _is_lossy(line)]
    lines = [line for line in lines if line.throughput_mbps > 0 or _is_lossy(line)]
    fullness = {line.pipe: _fullness(line, pipes[line.pipe]) for line in lines}
    fullest = max(fullness.values(), default=0.0)
    least = min(_BUSY, _OF_THE_FULLEST * fullest)
    chosen = [
        line
        for line in lines
        if line.pipe in paths
        or fullness[line.pipe] >= least
        or _is_congested(line)
        or _is_lossy(line)
    ]
    chosen.sort(key=lambda line: (round(fullness[line.pipe], 2), line.dropped or 0), reverse=True)
    return chosen


#: Field of `CellLine.worst` → which of several links of a run counts.
_WORST: dict[str, Several] = {
    "used": "max", "used_under_load": "max", "marked": "max", "dropped": "max",
    "delay_p95_ms": "max", "jain": "min",
}  # fmt: skip


def worst(values: CellValues, cell: Levels) -> dict[str, float]:
    """Mean over the repeats of the worst link of each run: in another repeat it may be another.

    The median of the queueing delay is that of the queue with the largest 95th percentile.
    """
    found = {
        field: values.of(_FIELDS[field], cell).mean(several=several)
        for field, several in _WORST.items()
    }
    longest = values.of(_FIELDS["delay_p95_ms"], cell)
    found["delay_p50_ms"] = values.of(_FIELDS["delay_p50_ms"], cell).mean_at_largest(longest)
    return {field: value for field, value in found.items() if value is not None}


def shown(links: Sequence[LinkLine]) -> list[LinkLine]:
    """The lines of a table: those with the numbers that sentences tell, then those used most."""
    told = [
        max(known, key=lambda line: getattr(line, field))
        for field in ("delay_p95_ms", "dropped", "marked")
        if (known := [line for line in links if getattr(line, field)])
    ]
    if known := [line for line in links if line.jain is not None]:
        told.append(min(known, key=lambda line: line.jain or 0.0))
    first = [*told, *links]
    chosen = list(dict.fromkeys(line.pipe for line in first))[:MOST]
    return [line for line in links if line.pipe in chosen]


def _can_limit(pipe: Pipe) -> bool:
    """True if packets can wait in it, or exceed what its policer admits."""
    return pipe["shaper"] != "none" or "drop_tail" not in pipe["queue"] or bool(pipe["policer"])


def _fullness(line: LinkLine, pipe: Pipe) -> float:
    """Its use, the larger of both times; if not known (ATM), its throughput over its rate."""
    if line.used is not None:
        return max(line.used, line.used_under_load or 0.0)
    rate_bps = rate_of(pipe)
    return line.throughput_mbps * 1e6 / rate_bps if rate_bps else 0.0


def _is_lossy(line: LinkLine) -> bool:
    return (line.dropped or 0.0) > LOSSY


def _is_congested(line: LinkLine) -> bool:
    return any(line.drops.get(DROPS[reason], 0.0) >= _DROPPED for reason in _CONGESTION)


def _line(values: CellValues, cell: Levels, name: str, pipe: Pipe) -> LinkLine:
    means = {field: values.of(metric, cell).mean([name]) for field, metric in _FIELDS.items()}
    framing = pipe["framing"]
    reasons = {
        DROPS[reason]: values.of(metric.name, cell).mean([name])
        for reason, metric in BY_REASON.items()
    }
    return LinkLine(
        pipe=name,
        throughput_mbps=means["throughput_mbps"] or 0.0,
        used=means["used"],
        used_under_load=(
            None if framing["overhead_bytes"] or framing["atm"] else means["used_under_load"]
        ),
        marked=means["marked"] or None,
        dropped=means["dropped"],
        delay_p10_ms=means["delay_p10_ms"],
        delay_p50_ms=means["delay_p50_ms"],
        delay_p95_ms=means["delay_p95_ms"],
        jain=means["jain"],
        late_overflow=means["late_overflow"],
        drops={words: share for words, share in reasons.items() if share is not None},
    )


def arrow(pipe: str) -> str:
    """`→ bottleneck`, as in tables."""
    name, _, way = pipe.rpartition("/")
    return f"{'→' if way == 'forward' else '←'} {name}"
