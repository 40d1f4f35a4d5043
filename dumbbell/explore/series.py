"""Lines over time: columns of tables, reduced to the smallest and largest value per pixel."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl

from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.explore.sources import Source
from dumbbell.lives import while_alive
from dumbbell.metrics.sockets import senders
from dumbbell.summary.sockets import ADDRESSES, named

Floats = npt.NDArray[np.float64]

#: Bytes of lines that stay in memory.
_KEPT_BYTES = 1 << 30
#: Lines of an answer, runs that are compared, and pixels, at most.
MOST_LINES, MOST_RUNS, MOST_PIXELS = 64, 64, 4000
#: Time over which a rate is taken: a share of the line's length, between these, s.
_RATE_SHARE, _RATE_LEAST_S, _RATE_MOST_S = 0.01, 0.1, 1.0
#: Windows of slow-start thresholds before the first loss.
_ENDLESS = 2**31 - 1


@dataclass(frozen=True)
class Quantity:
    """Column of a table over time.

    Attributes:
        label: Label with its unit.
        table: Table.
        column: Column.
        made: Turns times (s) and values as stored into values as shown.
        stepped: True if a value holds until the next.
    """

    label: str
    table: str
    column: str
    made: Callable[[Floats, Floats], Floats]
    stepped: bool = False

    @property
    def name(self) -> str:
        """Column that tells the lines of a run apart."""
        return "flow" if self.table == "samples" else "pipe"


def _known(scale: float = 1.0) -> Callable[[Floats, Floats], Floats]:
    return lambda _, values: np.where(values < 0, np.nan, values * scale)


def _rate(times: Floats, values: Floats) -> Floats:
    """Mbit/s of a counter of bytes, over the time before each sample."""
    length = times[-1] - times[0] if times.size else 0.0
    window = min(max(length * _RATE_SHARE, _RATE_LEAST_S), _RATE_MOST_S)
    before = np.searchsorted(times, times - window)
    before = np.where(before == np.arange(times.size), np.maximum(before - 1, 0), before)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((values - values[before]) * 8e-6 / (times - times[before]))


def _threshold(_: Floats, values: Floats) -> Floats:
    return np.where((values < 0) | (values >= _ENDLESS), np.nan, values)


QUANTITIES: dict[str, Quantity] = {
    "cwnd": Quantity("Congestion window (packets)", "samples", "cwnd_packets", _known()),
    "goodput": Quantity("Goodput (Mbit/s)", "samples", "delivered_bytes", _rate),
    "rtt": Quantity("Smoothed RTT (ms)", "samples", "srtt_ns", _known(1e-6)),
    "queue": Quantity("Queue (packets)", "queues", "queued_packets", _known()),
    "sojourn": Quantity("Queueing delay (ms)", "queues", "sojourn_mean_ns", _known(1e-6)),
    "in_flight": Quantity("In flight (packets)", "samples", "in_flight_packets", _known()),
    "pacing": Quantity("Pacing rate (Mbit/s)", "samples", "pacing_bps", _known(1e-6)),
    "ssthresh": Quantity(
        "Slow-start threshold (packets)", "samples", "ssthresh_packets", _threshold
    ),
    "delivery_rate": Quantity(
        "Delivery rate (Mbit/s)", "samples", "delivery_rate_bps", _known(1e-6)
    ),
    "rtt_min": Quantity("Minimum RTT (ms)", "samples", "rtt_min_ns", _known(1e-6)),
    "rto": Quantity("Retransmission time-out (ms)", "samples", "rto_ns", _known(1e-6)),
    "retransmitted": Quantity("Retransmissions", "samples", "retransmitted_packets", _known()),
    "lost": Quantity("Marked lost (packets)", "samples", "lost_packets", _known()),
    "sacked": Quantity("SACKed (packets)", "samples", "sacked_packets", _known()),
    "rwnd": Quantity("Receive window (kB)", "samples", "rwnd_bytes", _known(1e-3)),
    "dropped": Quantity("Dropped at the queue", "queues", "dropped_packets", _known()),
    "marked": Quantity("Marked CE at the queue", "queues", "marked_packets", _known()),
    "drop_probability": Quantity("Drop probability", "queues", "drop_probability", _known()),
    "dropping": Quantity("CoDel is dropping", "queues", "dropping", _known()),
}

#: Column of `samples` → that of `sockets`.
SOCKET_COLUMNS = {
    one.column: "acked_bytes" if one.column == "delivered_bytes" else one.column
    for name, one in QUANTITIES.items()
    if one.table == "samples" and name not in ("lost", "sacked", "rwnd")
}
#: Sockets of programs of a run that are drawn, at most.
MOST_SOCKETS = 12


@dataclass(frozen=True)
class Line:
    """A line of a run: its flow or pipe, times (s) and values."""

    run: str
    name: str
    times: Floats
    values: Floats


class Lines:
    """Lines of an experiment, kept in memory as long as there is room.

    Attributes:
        source: The experiment.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], list[Line]] = OrderedDict()
        self._bytes = 0

    def of(self, runs: Sequence[str], quantity: str) -> list[Line]:
        """Lines of some runs, in their order."""
        with self._lock:
            missing = [run for run in runs if (run, quantity) not in self._kept]
            if missing:
                for run, lines in self._read(missing, QUANTITIES[quantity]).items():
                    self._kept[run, quantity] = lines
                    self._bytes += sum(2 * one.times.nbytes for one in lines)
            for run in runs:
                self._kept.move_to_end((run, quantity))
            found = [line for run in runs for line in self._kept[run, quantity]]
            while self._bytes > _KEPT_BYTES and len(self._kept) > len(runs):
                _, old = self._kept.popitem(last=False)
                self._bytes -= sum(2 * one.times.nbytes for one in old)
            return found

    def _read(self, runs: Sequence[str], quantity: Quantity) -> dict[str, list[Line]]:
        columns = ["time_ns", quantity.name, quantity.column]
        frame = self.source.rows(quantity.table, runs, columns)
        if quantity.name == "flow":
            frame = while_alive(frame, self.source.results.flows)
        if quantity.column in SOCKET_COLUMNS and self.source.results.has("sockets"):
            frame = pl.concat([frame, self._sockets(runs, quantity.column)], how="vertical_relaxed")
        found: dict[str, list[Line]] = {run: [] for run in runs}
        parts = frame.partition_by("run", quantity.name, maintain_order=True, as_dict=True)
        for (run, name), part in parts.items():
            times = part["time_ns"].to_numpy().astype(np.float64) * 1e-9
            values = part[quantity.column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            last = np.append(np.diff(times) > 0, True)  # of several rows of a time, the last
            if not last.all():
                times, values = times[last], values[last]
            line = Line(str(run), str(name), times, quantity.made(times, values))
            # Pipes whose queue is never used, and columns that do not apply, show nothing.
            if np.isfinite(line.values).any() and (
                quantity.name == "flow" or np.nanmax(line.values)
            ):
                found[str(run)].append(line)
        return found

    def _sockets(self, runs: Sequence[str], column: str) -> pl.DataFrame:
        """Rows of the sockets of programs that sent most, as those of flows."""
        own = SOCKET_COLUMNS[column]
        columns = list(dict.fromkeys([*ADDRESSES[1:], own]))
        rows = named(self.source.rows("sockets", runs, columns))
        parts = rows.partition_by("run", maintain_order=True) or [rows]
        sent = pl.concat([senders(part, MOST_SOCKETS) for part in parts])
        return sent.select(
            "run", "time_ns", pl.col("socket").alias("flow"), pl.col(own).alias(column)
        )

    def algorithms(self, runs: Sequence[str]) -> dict[str, str]:
        """Flow, or socket of a program → its algorithm or kind."""
        flows = self.source.results.flows.select("flow", "congestion_control", "kind")
        found = {
            row["flow"]: row["congestion_control"] or row["kind"]
            for row in flows.unique("flow").iter_rows(named=True)
        }
        if self.source.results.has("sockets"):
            rows = named(self.source.rows("sockets", runs, ADDRESSES[1:]))
            last = rows.group_by("socket", maintain_order=True).agg(
                pl.col("congestion_control").last()
            )
            found |= dict(last.iter_rows())
        return found


def quantity_named(name: str) -> Quantity:
    """A quantity. Raises `DumbbellError` for an unknown one."""
    if name not in QUANTITIES:
        near = nearest_name(name, QUANTITIES)
        hint = did_you_mean(near)
        raise DumbbellError(f"no quantity {shortened(name)!r} over time{hint}")
    return QUANTITIES[name]


def span(lines: Iterable[Line]) -> tuple[float, float]:
    """Times of the first and the last value."""
    ends = [(line.times[0], line.times[-1]) for line in lines if line.times.size]
    if not ends:
        return 0.0, 1.0
    first, last = min(one[0] for one in ends), max(one[1] for one in ends)
    return float(first), float(max(last, first + 1e-9))


def reduced(line: Line, edges: Floats) -> Floats:
    """Smallest and largest value between each two edges, in turn; NaN where there is none.

    Between two values that are further apart than a pixel the line itself is interpolated by the
    chart, as gaps are spanned.
    """
    places = np.searchsorted(line.times, edges)
    starts, ends = places[:-1], places[1:]
    found = np.full(2 * starts.size, np.nan)
    filled = np.flatnonzero(ends > starts)
    if not filled.size:
        return found
    part = line.values[starts[filled[0]] : ends[filled[-1]]]
    at = starts[filled] - starts[filled[0]]
    # Buckets without values lie between no two others: reduceat ends each at the next begin.
    found[2 * filled] = np.fmin.reduceat(part, at)
    found[2 * filled + 1] = np.fmax.reduceat(part, at)
    return found


def packed(
    lines: Sequence[Line], window: tuple[float, float] | None, pixels: int, more: dict[str, Any]
) -> bytes:
    """Lines as bytes: length of a JSON header, the header, times, and values of each line.

    Times are float64, values float32, two per pixel; the header ends at a multiple of 8.
    """
    pixels = min(max(16, pixels), MOST_PIXELS)
    whole = span(lines)
    first, last = whole if window is None else window
    shown = lines[:MOST_LINES]
    edges = np.linspace(first, last, pixels + 1)
    edges[-1] = np.nextafter(last, np.inf)
    width = (last - first) / pixels
    times = np.repeat(edges[:-1], 2)
    times[0::2] += width * 0.25
    times[1::2] += width * 0.75
    values = [_with_neighbours(line, edges, reduced(line, edges)) for line in shown]
    header = {
        **more,
        "lines": [{"run": line.run, "name": line.name} for line in shown],
        "left_out": len(lines) - len(shown),
        "points": int(sum(line.times.size for line in lines)),
        "whole": whole,
        "window": (first, last),
        "count": int(times.size),
    }
    text = orjson.dumps(header)
    text += b" " * (-(len(text) + 4) % 8)
    parts = [len(text).to_bytes(4, "little"), text, times.astype("<f8").tobytes()]
    parts += [one.astype("<f4").tobytes() for one in values]
    return b"".join(parts)


def _with_neighbours(line: Line, edges: Floats, found: Floats) -> Floats:
    """Values at both ends, from the neighbours beyond them: so that a zoomed line does not stop."""
    for place, time in ((0, edges[0]), (-1, edges[-1])):
        if np.isnan(found[place]) and line.times[0] <= time <= line.times[-1]:
            found[place] = np.interp(time, line.times, line.values)
    return found
