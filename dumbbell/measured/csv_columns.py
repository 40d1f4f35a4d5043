"""CSV with named columns, whose names have their units: `time_s,flow,goodput_mbps,rtt_ms`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dumbbell.errors import nearest_name, shortened
from dumbbell.measured.clock import MOST_CLOCK_NS, clock_of
from dumbbell.measured.units import OURS, split_name
from dumbbell.measured.values import (
    MOST_NS,
    MOST_ROWS,
    Format,
    Measured,
    MeasuredError,
    Row,
    life,
    plain_name,
)
from dumbbell.metrics.definition import DATA

_SAMPLES = {
    "cwnd": "packets",
    "ssthresh": "packets",
    "in_flight": "packets",
    "lost": "packets",
    "retransmitted": "packets",
    "delivered": "bytes",
    "acked": "bytes",
    "rwnd": "bytes",
    "srtt": "time",
    "rttvar": "time",
    "rtt_min": "time",
    "rto": "time",
    "pacing": "rate",
    "delivery_rate": "rate",
}
#: Quantity → its dimension; the column of `samples` is `quantity_unit`.
_OTHERS = {"time": "time", "goodput": "rate", "rtt": "time", "ping": "time", "one_way": "time"}
_PROBES = ("ping", "one_way")
_WORDS = ("flow", "congestion_control", "kind")
_KINDS = (*DATA, "ping")
#: Counts since the begin of a flow.
_TOTALS = ("delivered", "acked", "retransmitted")
_UNKNOWN = ("", "nan", "na", "n/a", "null", "none", "-")
#: Longest line, in characters.
_MOST_LINE = 100_000


@dataclass(frozen=True, slots=True)
class _Column:
    place: int
    quantity: str
    size: float


@dataclass(frozen=True, slots=True)
class _Line:
    """Row of a file: time in ns, quantities in ns, bytes and bit/s, and words."""

    number: int
    time: float
    values: dict[str, float]
    words: dict[str, str]


def looks(data: bytes) -> bool:
    """Returns true if the first line has a column of time and another with a unit."""
    line = data[:4096].lstrip(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    names = [split_name(one) for one in _fields(line)]
    return any(one[:2] == ("time", "time") for one in names) and len(names) > 1


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:
        return []


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def read(data: bytes) -> Measured:
    """Rows as samples and probes, one flow per name. Raises `MeasuredError` with the line."""
    text = data.decode("utf-8-sig", errors="replace")
    found = Measured()
    delimiter = _delimiter(text.partition("\n")[0])
    rows = _rows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    _, header = next(rows, (1, []))
    columns, words = _header(header, found)
    quantities = {one.quantity for one in columns}
    kind = "ping" if quantities <= {"time", *_PROBES} else "tcp"
    gathered, kept = _Gathered(found, kind, rated="goodput" in quantities), list[_Line]()
    for line, cells in rows:
        if line > MOST_ROWS:
            raise MeasuredError(f"line {line}", f"more than {MOST_ROWS} lines")
        if len(cells) != len(header):
            found.note(f"line {line}: {len(cells)} values, not {len(header)}; left out")
            continue
        values = {
            one.quantity: number
            for one in columns
            if (number := _number(_point(cells[one.place], delimiter), one, line, found))
            is not None
        }
        own = {name: cells[place].strip() for name, place in words.items()}
        if (time := values.pop("time", None)) is None:
            found.note(f"line {line}: no time, left out")
        else:
            kept.append(_Line(line, time, values, own))
    gathered.add(kept)
    gathered.finish()
    return found


def _rows(lines: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their line; empty ones are left out."""
    number = 0
    try:
        for number, cells in enumerate(lines, start=1):
            if any(one.strip() for one in cells):
                yield number, cells
    except csv.Error as error:
        raise MeasuredError(f"line {number + 1}", f"not CSV: {error}") from None


def _header(names: list[str], found: Measured) -> tuple[list[_Column], dict[str, int]]:
    columns, words, known = list[_Column](), dict[str, int](), {**_SAMPLES, **_OTHERS}
    for place, name in enumerate(names):
        quantity, dimension, size = split_name(name)
        if quantity in words or any(one.quantity == quantity for one in columns):
            raise MeasuredError("line 1", f"two columns of {shortened(quantity)}")
        if not dimension and quantity in _WORDS:
            words[quantity] = place
        elif dimension and known.get(quantity) == dimension:
            columns.append(_Column(place, quantity, size))
        else:
            found.note(f"line 1: column {shortened(name)!r} is not read{_hint(quantity, known)}")
    if not any(one.quantity == "time" for one in columns):
        raise MeasuredError("line 1", "no column of time, as time_s or time_ms")
    if len(columns) == 1:
        there = ", ".join(f"{name}_{OURS[one]}" for name, one in known.items() if name != "time")
        raise MeasuredError("line 1", f"no known column beside the time; there are {there}")
    return columns, words


def _hint(quantity: str, known: dict[str, str]) -> str:
    near = quantity if quantity in known else nearest_name(quantity, known)
    return f"; did you mean {near}_{OURS[known[near]]}?" if near else ""


def _point(text: str, delimiter: str) -> str:
    """A number with a point in place of a decimal comma, which no cell between commas has."""
    one = delimiter != "," and text.count(",") == 1 and "." not in text
    return text.replace(",", ".") if one else text


def _number(text: str, column: _Column, line: int, found: Measured) -> float | None:
    text = text.strip()
    if text.lower() in _UNKNOWN:
        return None
    try:
        number = float(text) * column.size
    except ValueError:
        number = math.nan
    if not 0 <= number < (MOST_CLOCK_NS if column.quantity == "time" else MOST_NS):
        found.note(f"line {line}: {column.quantity} is no number ≥ 0: {shortened(text, 30)!r}")
        return None
    return number


class _Gathered:
    """Rows, gathered by flow. `rated`: the file has a column of goodput."""

    def __init__(self, found: Measured, kind: str, *, rated: bool) -> None:
        self._found, self._default, self._rated = found, kind, rated
        self._last: dict[str, float] = {}
        self._since: dict[str, float] = {}  # end of the last interval of a rate, known or not
        self._gaps: set[str] = set()
        self._starts: dict[str, float] = {}
        self._totals: dict[str, dict[str, float]] = {one: {} for one in _TOTALS}
        self._counts: dict[tuple[str, str], float] = {}
        self._bases: dict[tuple[str, str], float] = {}
        self._kinds: dict[str, str] = {}
        self._controls: dict[str, str] = {}
        self._pings: dict[str, list[float]] = {}

    def add(self, lines: list[_Line]) -> None:
        """Adds the rows, with times after the begin of the file."""
        names = [self._name(one) for one in lines]
        clock = clock_of(zip(names, (one.time for one in lines), strict=True))
        self._starts = clock.starts
        if clock.zero:
            self._found.note(
                f"times begin at {clock.zero / 1e9:.10g} s; time 0 is the first of them"
            )
        for name, one in zip(names, lines, strict=True):
            self._add(name, one, one.time - clock.zero)

    def _name(self, line: _Line) -> str:
        kind = line.words.get("kind", "")
        if kind and kind not in _KINDS:
            raise MeasuredError(
                f"line {line.number}", f"kind is none of {', '.join(_KINDS)}: {kind!r}"
            )
        name = plain_name(line.words.get("flow", "")) or kind or self._default
        self._kinds.setdefault(name, kind)
        return name

    def _add(self, name: str, line: _Line, time: float) -> None:
        if time < self._last.get(name, 0.0):
            raise MeasuredError(f"line {line.number}", f"the time of {name} goes back")
        if time > MOST_NS:
            raise MeasuredError(
                f"line {line.number}",
                f"a time of {time / 1e9:.6g} s after the begin; allowed: ≤ {MOST_NS / 1e9:.6g} s",
            )
        if control := line.words.get("congestion_control"):
            self._controls.setdefault(name, plain_name(control))
        probe = any(one in line.values for one in _PROBES)
        for one in _PROBES:
            if one in line.values:
                self._probe(name, one, time, line.values.pop(one))
        self._sample(name, line.number, time, line.values, probe=probe)
        self._last[name] = time

    def _probe(self, name: str, kind: str, time: float, delay: float) -> None:
        row: Row = {"time_ns": round(time), "flow": name, "delay_ns": round(delay)}
        own = self._pings.setdefault(name, [])
        own.append(delay)
        row |= {"kind": "icmp" if kind == "ping" else "one_way", "probe_number": len(own) - 1}
        self._found.probes.append(row)

    def _sample(
        self, name: str, line: int, time: float, values: dict[str, float], *, probe: bool
    ) -> None:
        rate = values.pop("goodput", None)
        if not values and rate is None and probe:
            return
        self._check_totals(name, line, values)
        if "delivered" in values:
            self._since[name] = time
        elif self._rated:
            self._add_rate(name, line, time, rate, values)
        if not values:
            return
        row: Row = {"time_ns": round(time), "flow": name}
        if "rtt" in values:
            values.setdefault("srtt", values.pop("rtt"))
            values.pop("rtt", None)
        for total in _TOTALS:
            if total in values:
                self._totals[total][name] = values[total]
        row |= {f"{key}_{OURS[_SAMPLES[key]]}": round(value) for key, value in values.items()}
        self._found.samples.append(row)

    def _add_rate(
        self, name: str, line: int, time: float, rate: float | None, values: dict[str, float]
    ) -> None:
        """Adds what a rate delivered. A rate is that of the time since the row before.

        What was delivered is unknown from the first row on whose rate is unknown. A flow begins
        behind the rows without a rate at its begin.
        """
        before, since = self._totals["delivered"].get(name), self._since.get(name)
        self._since[name] = time
        if name in self._gaps:
            return
        if rate is None:
            if before is not None and (name, "delivered") not in self._counts:
                self._gaps.add(name)
                self._found.note(
                    f"line {line}: goodput of {name} is unknown, and so is what it delivered"
                )
            return
        if before is None and since is not None:
            self._starts[name] = since
        length = time - (self._starts[name] if since is None else since)
        if length <= 0 and since is not None:
            self._found.note(
                f"line {line}: {name} has a row of this time before; its goodput is left out"
            )
        values["delivered"] = (before or 0.0) + rate * length / 8e9

    def _check_totals(self, name: str, line: int, values: dict[str, float]) -> None:
        """Leaves out what was counted before a flow's first row. Raises if a count falls."""
        for total in _TOTALS:
            if total not in values:
                continue
            key, count = (name, total), values[total]
            late = self._starts[name] > 0 and name not in self._last
            base = self._bases.setdefault(key, count if late else 0.0)
            least = self._counts.get(key, 0.0)
            if count < least:
                column = f"{total}_{OURS[_SAMPLES[total]]}"
                raise MeasuredError(
                    f"line {line}",
                    f"{column} of {name} falls: found {count:.15g}; allowed: ≥ {least:.15g}, "
                    "as in a row before (a count since the begin of the flow)",
                )
            self._counts[key], values[total] = count, count - base

    def finish(self) -> None:
        """Makes a row of `flows` of each flow."""
        srtt = _means(self._found, "srtt_ns")
        cwnd = _means(self._found, "cwnd_packets")
        most = _by_flow(self._found, "cwnd_packets", max)
        sampled = {str(one["flow"]) for one in self._found.samples}
        for name, end in self._last.items():
            start = round(self._starts[name])
            if round(end) <= start:
                self._found.note(f"{plain_name(name)}: it has no length, left out")
                continue
            delivered = None if name in self._gaps else self._totals["delivered"].get(name)
            delays = self._pings.get(name)
            kind = self._kinds[name] or (
                "ping" if delays and name not in sampled else self._default
            )
            row: Row = {"flow": name, "kind": kind, **life(start, round(end))}
            for key, value in (
                ("congestion_control", self._controls.get(name)),
                ("delivered_bytes", _whole(delivered)),
                ("retransmitted_packets", _whole(self._totals["retransmitted"].get(name))),
                ("srtt_mean_ns", srtt.get(name)),
                ("cwnd_mean_packets", cwnd.get(name)),
                ("cwnd_max_packets", _whole(most.get(name))),
            ):
                if value is not None:
                    row[key] = value
            if delays and kind == "ping":
                row |= {"rtt_mean_ns": sum(delays) / len(delays), "rtt_min_ns": round(min(delays))}
            self._found.flows.append(row)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _by_flow(found: Measured, column: str, of: Callable[[list[float]], float]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in found.samples:
        if column in row:
            values.setdefault(str(row["flow"]), []).append(float(row[column]))
    return {name: of(own) for name, own in values.items()}


def _means(found: Measured, column: str) -> dict[str, float]:
    return _by_flow(found, column, lambda own: sum(own) / len(own))


FORMAT = Format("csv", "CSV with units in the names of its columns", 4, looks, read)
