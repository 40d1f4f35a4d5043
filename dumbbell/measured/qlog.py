"""qlog, JSON and JSON-SEQ. Source: draft-ietf-quic-qlog-main-schema-13, -quic-events-12, and the
earlier form with `event_fields`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson

from dumbbell.measured.fields import Fields, parsed
from dumbbell.measured.series import Series
from dumbbell.measured.values import Format, Measured, Row, plain_name

#: Fields that Dumbbell adds to its own logs.
OWN_FLOW, OWN_KIND, OWN_SEGMENT = "dumbbell_flow", "dumbbell_kind", "dumbbell_segment_bytes"
OWN_DELIVERED = "dumbbell_delivered_bytes"
_SEPARATOR = b"\x1e"
_METRICS = ("metrics_updated", "recovery_metrics_updated")
#: Field of the metrics → column; times are in ms.
_TIMES = {"smoothed_rtt": "srtt_ns", "rtt_variance": "rttvar_ns", "min_rtt": "rtt_min_ns"}
_IN_FLIGHT = "in_flight_packets"
_WINDOWS = {
    "cwnd": "cwnd_packets",  # before draft 2
    "congestion_window": "cwnd_packets",
    "ssthresh": "ssthresh_packets",
}
#: Smoothed RTT before the first sample (RFC 9002 §6.2.2), s. quinn 0.11 writes RTTs in s.
_INITIAL_RTT_S = 0.333
_INITIAL_NS = round(_INITIAL_RTT_S * 1e9)
_MOST = 2**62
#: Slow-start threshold before the first loss, as in all samples.
_NO_THRESHOLD = 2**31 - 1


def looks(data: bytes) -> bool:
    """Returns true if data begin like a log, or like a sequence of records."""
    head = data[:4096].lstrip()
    return head[:1] in (b"{", _SEPARATOR) and (
        b'"qlog_version"' in head or b'"file_schema"' in head or b'"qlog_format"' in head
    )


def read(data: bytes) -> Measured:
    """Traces as flows, metrics of recovery as samples. Raises `MeasuredError`."""
    found = Measured()
    traces = list(_traces(data, found))
    names: dict[str, int] = {}
    for trace, events in traces:
        fields = trace.part("common_fields")
        side = trace.part("vantage_point").text("type")
        name = fields.text(OWN_FLOW) or trace.text("title") or side or "quic"
        names[name] = names.get(name, 0) + 1
        name += f"-{names[name]}" if names[name] > 1 else ""
        _Trace(name, trace, found).read(events)
    return found


def _traces(data: bytes, found: Measured) -> Iterator[tuple[Fields, Iterator[Fields]]]:
    first = data.lstrip()
    if first.startswith(_SEPARATOR) or b'"JSON-SEQ"' in data[:1024] or b'"NDJSON"' in data[:1024]:
        split = _SEPARATOR if first.startswith(_SEPARATOR) else b"\n"
        records = [one for one in first.split(split) if one.strip()]
        head = Fields(parsed(records[0]), "record 1") if records else Fields({})
        _about(head, found)
        yield head.part("trace"), _records(records[1:], found)
        return
    file = Fields(parsed(data))
    _about(file, found)
    for trace in file.part("traces").parts():
        if trace.has("error_description"):
            found.note(f"{trace.place}: {trace.text('error_description')}")
            continue
        yield trace, _events(trace)


def _about(file: Fields, found: Measured) -> None:
    version = file.text("qlog_version") or file.text("file_schema")
    found.about = {"tool": f"qlog {version}".strip()}
    if title := file.text("title"):
        found.about["title"] = title


def _records(records: list[bytes], found: Measured) -> Iterator[Fields]:
    for number, record in enumerate(records, start=2):
        try:
            yield Fields(orjson.loads(record), f"record {number}")
        except orjson.JSONDecodeError:
            found.note(f"record {number}: not JSON, or cut off; left out")


def _events(trace: Fields) -> Iterator[Fields]:
    """Events as objects; older versions have lists with the names of their fields apart."""
    names = [one.text().lower() for one in trace.part("event_fields").parts()]
    for event in trace.part("events").parts():
        if not names:
            yield event
            continue
        own = (one.value for one in event.parts())
        values: dict[str, Any] = dict(zip(names, own, strict=False))
        time = values.get("relative_time", values.get("time", values.get("reference_time")))
        kind = f"{values.get('category', '')}:{values.get('event', values.get('event_type', ''))}"
        yield Fields({"time": time, "name": kind, "data": values.get("data")}, event.place)


def _number(field: Fields) -> float | None:
    """Number, also as text, as early versions write them; None: missing, or no number."""
    try:
        value = float(field.value) if isinstance(field.value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _count(field: Fields) -> int | None:
    """Whole number; None: unknown, or no count that a column has."""
    value = _number(field)
    return round(value) if value is not None and 0 <= value < _MOST else None


class _Trace:
    """Events of one connection."""

    def __init__(self, name: str, trace: Fields, found: Measured) -> None:
        fields = trace.part("common_fields")
        self._found = found
        self._series = Series(plain_name(name), fields.text(OWN_KIND) or "quic")
        self._segment = fields.count(OWN_SEGMENT) or 0
        times = fields.part("time_format")
        times = times.part("format") if isinstance(times.value, dict) else times
        self._delta = times.text() in ("delta", "relative_to_previous_event")
        units = trace.part("configuration").text("time_units")
        self._unit_s = 1e-6 if units == "us" else 1e-3
        self._windows: list[tuple[Row, dict[str, int]]] = []
        self._lost = 0
        self._rtt_s: float | None = None
        self._measured = False  # an RTT

    def read(self, events: Iterator[Fields]) -> None:
        """Adds the flow of the trace and its samples."""
        first: float | None = None
        now = 0.0
        for event in events:
            time = _number(event.part("time"))
            if time is None:
                self._found.note(f"{event.place}: no time, left out")
                continue
            now = now + time if self._delta else time
            if first is None:
                # Times on the clock of the world are far from 0.
                first = now if now * self._unit_s > 1e8 else 0.0
                if first:
                    self._found.note(
                        f"{self._series.name}: times begin at {now * self._unit_s:.10g} s; "
                        "time 0 is the first of them"
                    )
            self._add((now - first) * self._unit_s, event)
        for row, sizes in self._windows:
            for column, size in sizes.items():
                if self._segment:
                    row[column] = round(size / self._segment)
        self._check_rtts()
        more: Row = {"retransmitted_packets": self._lost} if self._lost else {}
        flow = self._series.flow(more)
        if flow is None:
            self._found.note(f"{self._series.name}: no metrics over time, left out")
            return
        self._found.flows.append(flow)
        self._found.samples += self._series.samples

    def _check_rtts(self) -> None:
        """Leaves out RTTs longer than the trace: their unit is not the one of its times."""
        rows = self._series.samples
        last = max((int(one["time_ns"]) for one in rows), default=0)
        if any(int(one.get("srtt_ns", 0)) > last for one in rows):
            self._found.note(f"{self._series.name}: RTTs longer than the trace, left out")
            for one in rows:
                for column in _TIMES.values():
                    one.pop(column, None)

    def _add(self, time: float, event: Fields) -> None:
        kind = event.text("name").rpartition(":")[2]
        data = event.part("data")
        if kind in _METRICS:
            self._metrics(time, data)
        elif kind == "packet_lost":
            self._lost += 1
        elif kind == "congestion_state_updated":
            self._series.add_state(time, {"state": data.text("new")})
        elif kind == "packet_sent":
            header = data.part("header")
            lengths = (data.part("raw"), "length"), (header, "length"), (header, "packet_size")
            own = (_count(part.part(name)) or 0 for part, name in lengths)
            self._segment = max(self._segment, *own)

    def _rtts(self, data: Fields) -> Row:
        """RTTs. Before the first sample, stacks write 0 or the initial RTT: these are unknown."""
        row: Row = {}
        for field, column in _TIMES.items():
            value = _number(data.part(field))
            if value is not None and 0 < value * 1e9 * (self._rtt_s or self._unit_s) < _MOST:
                row[column] = round(value * 1e9 * (self._rtt_s or self._unit_s))
        self._measured = self._measured or row.get("srtt_ns", _INITIAL_NS) != _INITIAL_NS
        return row if self._measured else {}

    def _metrics(self, time: float, data: Fields) -> None:
        row: Row = {}
        if self._rtt_s is None and (first := _number(data.part("smoothed_rtt"))) is not None:
            self._rtt_s = self._unit_s
            if first == _INITIAL_RTT_S:
                self._rtt_s = 1.0
                self._found.note("RTTs are in s, not in ms: the first is 0.333")
        row |= self._rtts(data)
        for field, column in (("pacing_rate", "pacing_bps"), ("packets_in_flight", _IN_FLIGHT)):
            if (count := _count(data.part(field))) is not None:
                row[column] = count
        sizes = {
            column: size
            for field, column in _WINDOWS.items()
            if (size := _count(data.part(field))) is not None
        }
        threshold = _number(data.part("ssthresh"))
        if threshold is not None and threshold >= _MOST:
            row["ssthresh_packets"] = _NO_THRESHOLD
        delivered = _count(data.part(OWN_DELIVERED))
        if not row and not sizes and delivered is None:
            return
        if sizes:
            self._windows.append((row, sizes))
        self._series.add_row(time, row)
        if delivered is not None:
            self._series.add_total(time, delivered, {})


FORMAT = Format("qlog", "qlog, JSON and JSON-SEQ", 2, looks, read)
