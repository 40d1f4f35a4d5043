"""Phases of a cell: the stretches between starts and ends of flows and changes of links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from dumbbell.limits.outages import outages, within
from dumbbell.limits.pipes import admitted_bits, pipes_of
from dumbbell.metrics.definition import Tables
from dumbbell.metrics.load import load_windows
from dumbbell.metrics.queue_delay import queueing_delay_samples
from dumbbell.metrics.settling import Series, delays_ms, settled_ms, settled_s
from dumbbell.scenario import Flow, Pipe, Scenario

#: Boundaries closer than this share of the run are one; the later is dropped.
_CLOSE = 0.04
#: A cell with more phases has none: they would explain nothing.
_MOST = 8
#: Cells of an experiment whose phases are computed: of more, nobody reads them one by one.
MOST_CELLS = 24


@dataclass(frozen=True)
class Phase:
    """A stretch of the runs of a cell; means over repeats.

    Delays are those of the metrics `queue_delay_…`, in the phase.

    Attributes:
        begin_s: Its beginning, seconds of the run.
        end_s: Its end.
        loaded: True if all TCP flows are under way in it.
        goodput_mbps: Flow → goodput, of the flows that deliver something in it.
        used: Pipe → share of its capacity that it carried.
        delay_p50_ms: Pipe → median queueing delay, where queues were sampled.
        delay_p95_ms: Pipe → its 95th percentile.
        settled_s: Pipe → seconds until flows have settled after the change of its rate that begins
            the phase; infinite: not in it; NaN: in some repeats, not in others. See
            `settling.settled_s`.
        settled_ms: Pipe → queueing delay at which they settle after a lower rate.
    """

    begin_s: float
    end_s: float
    loaded: bool
    goodput_mbps: Mapping[str, float]
    used: Mapping[str, float]
    delay_p50_ms: Mapping[str, float] = field(default_factory=dict)
    delay_p95_ms: Mapping[str, float] = field(default_factory=dict)
    settled_s: Mapping[str, float] = field(default_factory=dict)
    settled_ms: Mapping[str, float] = field(default_factory=dict)


def phases(
    tables: Tables, runs: Mapping[str, Sequence[Mapping[str, Any]]], spec: Scenario
) -> list[Phase]:
    """Phases of a cell; none where one is all, or without time series, which are read only then.

    Args:
        tables: Tables of the experiment.
        runs: Run of the cell → rows of its flows.
        spec: Their scenario.
    """
    every = [_boundaries_ns(rows, spec) for rows in runs.values()]
    boundaries = dict(zip(runs, _in_all(every, _CLOSE * spec["duration_ns"]), strict=True))
    counts = {len(times) for times in boundaries.values()}
    if not counts or not 2 < counts.pop() <= _MOST + 1 or not tables.has("samples"):
        return []
    columns = ("time_ns", "delivered_bytes")
    frame = tables.of_runs("samples", list(runs), ["flow", *columns])
    samples = _series(frame, "flow", columns)
    queues: dict[str, dict[str, Series]] = {}
    if tables.has("queues"):
        frame = queueing_delay_samples(tables, list(runs))
        queues = _series(frame, "pipe", ("time_ns", "sent_bytes", "delay_ms"))
    windows = load_windows(tables).filter(pl.col("run").is_in(list(runs)))
    loads = {run: (begin, end) for run, begin, end, *_ in windows.iter_rows()}
    found = [
        _of_run(samples.get(run, {}), queues.get(run, {}), times, loads[run], spec)
        for run, times in boundaries.items()
    ]
    return [_mean(same) for same in zip(*found, strict=True)]


def _of_run(
    samples: Mapping[str, Series],
    queues: Mapping[str, Series],
    boundaries: list[int],
    load_ns: tuple[int, int],
    spec: Scenario,
) -> list[Phase]:
    pipes = pipes_of(spec)
    changed = sorted(name for name in queues if pipes[name]["changes"])
    close = _CLOSE * spec["duration_ns"]
    found = []
    for begin, end in pairwise(boundaries):
        # In a link that is down no packet waits: its queue is empty, and there is no delay.
        up = [name for name in changed if _is_up(pipes[name], begin, end)]
        delays = {name: delays_ms(queues[name], begin, end) for name in up}
        found.append(
            Phase(
                begin * 1e-9,
                end * 1e-9,
                begin >= load_ns[0] - close and end <= load_ns[1] + close,
                {
                    flow: sent * 8e3 / (end - begin)
                    for flow, series in samples.items()
                    if (sent := _grown(series, "delivered_bytes", begin, end)) > 0
                },
                {
                    name: used
                    for name, series in queues.items()
                    if (used := _used(series, pipes[name], begin, end)) is not None
                },
                {name: float(np.median(own)) for name, own in delays.items() if len(own)},
                {name: float(np.quantile(own, 0.95)) for name, own in delays.items() if len(own)},
                _known(settled_s, queues, pipes, changed, (begin, end)),
                _known(settled_ms, queues, pipes, changed, (begin, end)),
            )
        )
    return found


def _known(
    measure: Callable[[Series, Pipe, int, int], float | None],
    queues: Mapping[str, Series],
    pipes: Mapping[str, Pipe],
    names: Iterable[str],
    stretch: tuple[int, int],
) -> dict[str, float]:
    """The measure of each pipe for which it is known."""
    found = {name: measure(queues[name], pipes[name], *stretch) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _mean(phases: tuple[Phase, ...]) -> Phase:
    """One phase over the repeats."""
    return Phase(
        fmean(one.begin_s for one in phases),
        fmean(one.end_s for one in phases),
        all(one.loaded for one in phases),
        _means([one.goodput_mbps for one in phases], missing=0.0),
        _means([one.used for one in phases]),
        _means([one.delay_p50_ms for one in phases]),
        _means([one.delay_p95_ms for one in phases]),
        _settled([one.settled_s for one in phases]),
        _means([one.settled_ms for one in phases]),
    )


def _means(maps: list[Mapping[str, float]], missing: float | None = None) -> dict[str, float]:
    """Means over the repeats in which a value is known; `missing` stands for one that is not."""
    names = dict.fromkeys(name for one in maps for name in one)
    found = {name: [one.get(name, missing) for one in maps] for name in names}
    return {name: fmean(v for v in values if v is not None) for name, values in found.items()}


def _settled(maps: list[Mapping[str, float]]) -> dict[str, float]:
    """Means of the times to settle; NaN for a pipe that settles in some repeats alone."""
    found = _means(maps)
    for name, mean in found.items():
        if math.isinf(mean) and any(math.isfinite(one.get(name, math.inf)) for one in maps):
            found[name] = math.nan
    return found


def _boundaries_ns(flows: Iterable[Mapping[str, Any]], spec: Scenario) -> list[int]:
    """Starts and ends of flows and changes of links, as far as they lie apart."""
    whole = spec["duration_ns"]
    asked = {flow["name"]: flow for flow in spec["flows"]}
    flows = [row for row in flows if row["kind"] != "ping"]
    known = [row for row in flows if row["flow"] in asked and row["start_ns"] >= 0]
    last = max((min(row["end_ns"], whole) for row in flows), default=whole)
    times = {row["start_ns"] for row in known}
    for row in known:
        flow = asked[row["flow"]]
        if ends_itself(flow) or flow["stop_ns"] is not None:
            times.add(row["end_ns"])
    times |= {one["at_ns"] for pipe in pipes_of(spec).values() for one in pipe["changes"]}
    first = min((row["start_ns"] for row in known), default=0)
    found = [first if first > _CLOSE * whole else 0]
    for time in sorted(times):
        if time - found[-1] > _CLOSE * whole and last - time > _CLOSE * whole:
            found.append(time)
    return [*found, last]


def _in_all(runs: list[list[int]], close_ns: float) -> list[list[int]]:
    """Of each run the first and last boundary, and those that all runs have at about that time.

    The order of the runs does not matter.
    """
    pattern = min(runs, default=[])

    def nearest(times: list[int], time: int) -> int:
        return min(times, key=lambda other: abs(other - time))

    kept = [[times[0]] for times in runs]
    for time in pattern[1:-1]:
        same = [nearest(times[1:-1] or [times[-1]], time) for times in runs]
        # Of two boundaries with one near both of them, the nearer has it.
        mutual = all(nearest(pattern[1:-1], other) == time for other in same)
        if mutual and all(abs(other - time) <= close_ns for other in same):
            for times, other in zip(kept, same, strict=True):
                times.append(other)
    return [[*times, own[-1]] for times, own in zip(kept, runs, strict=True)]


def ends_itself(flow: Flow) -> bool:
    """True for a connection of a given number of bytes."""
    if quic := flow["traffic"].get("quic"):
        return bool(quic["bytes"])
    tcp: Any = flow["traffic"].get("tcp")
    source = tcp["source"] if tcp else None
    return isinstance(source, dict) and any(one.get("bytes") for one in source.values())


def _series(frame: pl.DataFrame, key: str, columns: Sequence[str]) -> dict[str, dict[str, Series]]:
    """Run → flow or pipe → its columns over time."""
    found: dict[str, dict[str, Series]] = {}
    for (run, one), rows in frame.partition_by("run", key, as_dict=True).items():
        found.setdefault(str(run), {})[str(one)] = {
            column: rows[column].to_numpy() for column in columns
        }
    return found


def _grown(series: Series, column: str, begin_ns: int, end_ns: int) -> float:
    """Growth of a counter between two times, as far as samples tell."""
    places = np.searchsorted(series["time_ns"], (begin_ns, end_ns), side="right")
    ends = [0 if place == 0 else max(series[column][place - 1], 0) for place in places]
    return float(ends[1] - ends[0])


def _used(series: Series, pipe: Pipe, begin_ns: int, end_ns: int) -> float | None:
    """Share of a pipe's capacity that it carried; None without a capacity."""
    bits = admitted_bits(pipe, begin_ns, end_ns)
    if not 0 < bits < float("inf") or pipe["framing"]["overhead_bytes"] or pipe["framing"]["atm"]:
        return None
    return min(8 * _grown(series, "sent_bytes", begin_ns, end_ns) / bits, 1.0)


def _is_up(pipe: Pipe, begin_ns: int, end_ns: int) -> bool:
    """Returns true if the link is up at some time of a stretch."""
    down = within(outages(pipe, end_ns), begin_ns, end_ns)
    return sum(last - first for first, last in down) < end_ns - begin_ns
