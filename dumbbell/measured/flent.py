"""Flent's data files, versions 1 to 4. Source of the layout: doc/data-format.rst of Flent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from dumbbell.errors import shortened
from dumbbell.measured.fields import Fields, parsed
from dumbbell.measured.series import Series
from dumbbell.measured.values import Format, Measured, MeasuredError, Row, plain_name

#: Newest version that is read.
VERSION = 4
#: Field of `SERIES_META` with the name of the flow, in files that Dumbbell writes.
OWN_NAME = "DUMBBELL_FLOW"
#: Largest relative difference between a mean of Flent and that of its points, without a note.
_ROUNDING = 0.05
#: Latest begin of the first point behind the begin of the test, s.
_LATEST_S = 3600.0
_COMPUTED = re.compile(r"\b(avg|sum|totals|fairness)$|::tcp_\w+$")
#: Field of a point → column of `samples`, and its size in the unit of the column.
_STATE = {
    "tcp_cwnd": ("cwnd_packets", 1.0),
    "tcp_rtt": ("srtt_ns", 1e6),
    "tcp_rtt_var": ("rttvar_ns", 1e6),
    "tcp_pacing_rate": ("pacing_bps", 1e6),
    "tcp_delivery_rate": ("delivery_rate_bps", 1e6),
}
_ABOUT = {"test": "NAME", "title": "TITLE", "host": "LOCAL_HOST", "to": "HOST", "time": "TIME",
          "tool": "FLENT_VERSION"}  # fmt: skip


def looks(data: bytes) -> bool:
    """Returns true if data have the four parts of a file of Flent."""
    if not data.lstrip().startswith(b"{"):
        return False
    return b'"x_values"' in data and b'"results"' in data and b'"metadata"' in data


def read(data: bytes) -> Measured:
    """Series of throughput as flows, of pings as probes. Raises `MeasuredError`."""
    file = Fields(parsed(data))
    version = file.count("version") or 1
    if version > VERSION:
        raise MeasuredError("version", f"{version} is newer than {VERSION}, the newest known")
    if not file.has("results") or not file.has("x_values"):
        raise MeasuredError("", "no `results` or no `x_values`: not a data file of Flent")
    found = Measured()
    metadata = file.part("metadata")
    words = {name: metadata.text(field) for name, field in _ABOUT.items()}
    found.about = {name: text for name, text in words.items() if text}
    if "tool" in found.about:
        found.about["tool"] = f"Flent {found.about['tool']}"
    points = {name: list(_points(file, name)) for name, _ in file.part("results").items()}
    points |= {
        name: list(_points(file, name))
        for name, _ in file.part("raw_values").items()
        if name not in points
    }
    begin, others = _begin(metadata, points), dict[str, None]()
    differ: list[str] = []
    for name, own in sorted(points.items(), key=lambda one: _place(one[0])):
        meta, count = metadata.part("SERIES_META").part(name), len(found.flows)
        if _COMPUTED.search(name):
            continue
        if meta.text("UNITS") in ("Mbits/s", "") and name.startswith(("TCP ", "UDP ")):
            _add_flow(name, own, meta, begin, found, differ)
        elif name.startswith("Ping (ms)"):
            transactions = version < VERSION and "UDP" in name and "raw_values" in file.value
            _add_ping(name, own, meta, begin, found, transactions=transactions)
        elif name == "HTTP latency":
            unit = 1e-3 if version == VERSION or "raw_values" not in file.value else 1.0
            _add_pages(name, own, begin, unit, found)
        else:
            others[plain_name(name.partition("::")[0])] = None
        for flow in found.flows[count:]:
            flow |= _ends(metadata, back="download" in name)
    if others:
        found.note(f"series that are not read: {shortened(', '.join(others), 200)}")
    if differ:
        more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
        found.note(f"means of Flent and of its points (Mbit/s): {'; '.join(differ[:3])}{more}")
    found.samples.sort(key=lambda one: int(one["time_ns"]))
    found.probes.sort(key=lambda one: int(one["time_ns"]))
    return found


def _place(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Order of series: uploads before downloads, `::2` before `::10`."""
    parts = re.findall(r"\d{1,9}|\D+", name)
    return "download" in name, [(int(one), "") if one.isdecimal() else (-1, one) for one in parts]


def _ends(metadata: Fields, *, back: bool) -> Row:
    """Hosts of a flow, as the file names them."""
    ends = metadata.text("LOCAL_HOST") or "client", metadata.text("HOST") or "server"
    return dict(
        zip(("to_host", "from_host") if back else ("from_host", "to_host"), ends, strict=True)
    )


def _points(file: Fields, name: str) -> Iterator[Fields]:
    """Raw points of a series; without any, the points of `results`."""
    raw = file.part("raw_values").part(name)
    if raw.value is None:  # version 1
        raw = file.part("metadata").part("SERIES_META").part(name).part("RAW_VALUES")
    if raw.value:
        yield from raw.parts()
        return
    times = list(file.part("x_values").parts())
    step = file.part("metadata").number("STEP_SIZE")
    for time, value in zip(times, file.part("results").part(name).parts(), strict=False):
        point = {"t": time.value, "val": value.value, "from_results": True}
        yield Fields(point | ({} if step is None else {"dur": step}), value.place)


def _begin(metadata: Fields, points: Mapping[str, list[Fields]]) -> float:
    """Begin of the test, s, on the clock of the raw points; 0 if there are none."""
    raw = [
        (time, one.number("dur") or 0.0)
        for own in points.values()
        for one in own
        if not one.has("from_results") and (time := one.number("t")) is not None
    ]
    if not raw:
        return 0.0
    first = min(time - length for time, length in raw)
    text = metadata.text("T0")
    try:
        begin = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else first
    except ValueError:
        return first
    # Old versions wrote local time without saying so.
    return begin if begin <= first <= begin + _LATEST_S else first


def _time(point: Fields, begin: float) -> float | None:
    time = point.number("t")
    if time is None:
        return None
    return time if point.has("from_results") else time - begin


def _add_flow(
    name: str,
    points: list[Fields],
    meta: Fields,
    begin: float,
    found: Measured,
    differ: list[str],
) -> None:
    series = Series(meta.text(OWN_NAME) or name, "udp" if name.startswith("UDP") else "tcp")
    before: float | None = None
    for point in sorted(points, key=lambda one: one.number("t") or 0.0):
        time = _time(point, begin)
        if time is None:
            found.note(f"{point.place}: no time, left out")
            continue
        rate = point.number("val")
        state: Row = {
            column: round(value * size)
            for field, (column, size) in _STATE.items()
            if (value := point.number(field)) is not None
        }
        if rate is not None:
            length = point.number("dur")
            if length is None:
                length = 0.0 if before is None else time - before
            series.add_rate(time if not point.has("from_results") else time + length, rate, length)
            before = time
        elif state:
            series.add_state(time, state)
    control = meta.value.get("CONG_CONTROL") if isinstance(meta.value, dict) else None
    row: Row = {"congestion_control": str(control)[:60]} if isinstance(control, str) else {}
    again = meta.text("TCP_RETRANSMIT")
    # Of a download, netperf asks its own end, the receiver.
    if again.isdigit() and ("upload" in name or meta.has(OWN_NAME)):
        row["retransmitted_packets"] = int(again[:15])
    flow = series.flow(row)
    if flow is None:
        found.note(f"series {name!r} has no point of a rate, left out")
        return
    found.flows.append(flow)
    found.samples += series.samples
    said, mean = meta.number("MEAN_VALUE"), series.mean_mbps
    if said is not None and mean > 0 and abs(said - mean) > _ROUNDING * max(said, mean):
        differ.append(f"{name} {said:.4g} and {mean:.4g}")


def _add_pages(
    name: str, points: list[Fields], begin: float, unit_s: float, found: Measured
) -> None:
    """Pages that were fetched, as transfers of unknown size."""
    series = Series(name, "tcp")
    for point in points:
        time, value = _time(point, begin), point.number("val")
        if time is not None and value is not None:
            length = value * (1e-3 if point.has("from_results") else unit_s)
            series.add_transfer(time, length)
    flow = series.flow({})
    if flow is not None:
        found.flows.append(flow)
        found.transfers += series.transfers


def _add_ping(
    name: str,
    points: list[Fields],
    meta: Fields,
    begin: float,
    found: Measured,
    *,
    transactions: bool,
) -> None:
    """Probes of a series. `transactions`: raw points of netperf's UDP_RR are rates per second."""
    series = Series(meta.text(OWN_NAME) or name, "ping")
    for number, point in enumerate(points):
        time, value = _time(point, begin), point.number("val")
        lost = point.part("lost").value is True
        if time is None or (value is None and not lost):
            if not point.has("from_results"):
                found.note(f"{point.place}: no time or no value, left out")
            continue
        if transactions and not point.has("from_results") and value is not None:
            value = 1000.0 / value if value > 0 else None
        sequence = point.count("seq")
        series.add_probe(
            time,
            "udp" if "UDP" in name else "icmp",
            number if sequence is None else sequence,
            None if lost else value,
        )
    flow = series.flow({})
    if flow is None:
        found.note(f"series {name!r} has no probe, left out")
        return
    found.flows.append(flow)
    found.probes += series.probes


FORMAT = Format("flent", "Flent's data files", 1, looks, read)
