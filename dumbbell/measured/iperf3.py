"""iperf3's JSON (`-J`, `--json-stream`). Source of the fields: iperf_api.c of esnet/iperf, 3.0 to
3.20. All sums are computed from the streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dumbbell.measured.fields import Fields, parsed
from dumbbell.measured.values import MOST_NS, Format, Measured, MeasuredError, Row, life

#: Largest relative difference between a sum of iperf3 and that of its streams.
_ROUNDING = 2e-3
#: Begin of `version` in reports that Dumbbell writes: their intervals are as received.
OWN_TOOL = "Dumbbell"
#: Before an error of iperf3.
SAYS = "iperf3 says: "
#: Part of the name of a flow in the other direction of `--bidir`.
_BACK = "back-"
_UNTOLD = "it ended before the receiver reported what it received"
_KINDS = {"TCP": "tcp", "UDP": "udp"}


def looks(data: bytes) -> bool:
    """Returns true if data look like a report, or like a stream of events."""
    head = data[:4096]
    return (b'"start"' in head and b'"connected"' in head) or b'"event":"start"' in head.replace(
        b" ", b""
    )


def read(data: bytes) -> Measured:
    """Streams of a report as flows, its intervals as samples. Raises `MeasuredError`."""
    found = Measured()
    report = Fields(_report(data, found))
    if report.has("error") and not report.part("end").has("streams"):
        raise MeasuredError("error", SAYS + report.text("error"))
    if report.has("error"):
        found.note(SAYS + report.text("error"))
    test = report.part("start").part("test_start")
    protocol = test.text("protocol") or "TCP"
    if protocol not in _KINDS:
        raise MeasuredError(f"{test.place}.protocol", f"neither TCP nor UDP: {protocol}")
    _about(report.part("start"), found)
    streams = list(report.part("end").parts("streams"))
    names = _names(streams, _KINDS[protocol])
    for stream in streams:
        _add_flow(stream, report, names, found)
    _add_samples(report, names, found)
    _compare_sums(report, streams, found)
    return found


def _report(data: bytes, found: Measured) -> Any:
    """The report; of a stream of events, what `-J` would have written."""
    first = data.lstrip()[:40].replace(b" ", b"")
    if not first.startswith(b'{"event":'):
        return parsed(data)
    report: dict[str, Any] = {"intervals": []}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = Fields(orjson.loads(line))
            event, content = one.text("event"), one.part("data").value
        except (orjson.JSONDecodeError, MeasuredError):
            found.note(f"line {number}: not a whole event, left out")
            continue
        if event == "interval":
            report["intervals"].append(content)
        else:
            report[event] = content
    if "end" not in report:
        raise MeasuredError("", "no event `end`: the test did not finish, or the file is cut off")
    return report


def _about(start: Fields, found: Measured) -> None:
    words = {
        "tool": start.text("version"),
        "host": start.text("system_info"),
        "time": start.part("timestamp").text("time"),
        "to": start.part("connecting_to").text("host"),
    }
    found.about = {name: text for name, text in words.items() if text}


def _half(stream: Fields, name: str) -> Fields:
    """Values of one end of a stream; of UDP, those of both."""
    return stream.part("udp") if stream.has("udp") else stream.part(name)


def _forward(streams: list[Fields]) -> bool:
    """Direction of the first stream. The other direction of `--bidir` has another flag."""
    return _sends(streams[0]) if streams else True


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of a test; None: unknown.

    Attributes:
        mbps: Goodput of the streams together, Mbit/s.
        retransmissions: Retransmitted segments.
        lost_percent: Lost datagrams, %.
        back_mbps: Goodput of the other direction of `--bidir`, Mbit/s.
    """

    mbps: float | None
    retransmissions: int | None
    lost_percent: float | None
    back_mbps: float | None


def totals(flows: Sequence[Row]) -> Totals:
    """Numbers of the flows of a report together."""
    back = [one for one in flows if f"-{_BACK}" in str(one["flow"])]
    there = [one for one in flows if one not in back]
    again = [int(one["retransmitted_packets"]) for one in there if "retransmitted_packets" in one]
    both = [one for one in there if {"data_packets", "received_packets"} <= one.keys()]
    sent = sum(int(one["data_packets"]) for one in both)
    received = sum(int(one["received_packets"]) for one in both)
    return Totals(
        _mbps(there),
        sum(again) if again else None,
        100 * (sent - received) / sent if sent else None,
        _mbps(back),
    )


def _mbps(flows: Sequence[Row]) -> float | None:
    known = [one for one in flows if "delivered_bytes" in one]
    rates = (
        float(one["delivered_bytes"]) * 8e3 / (float(one["end_ns"]) - float(one["start_ns"]))
        for one in known
    )
    return sum(rates) if known else None


def _names(streams: list[Fields], kind: str) -> dict[int, str]:
    """Socket → name of its flow: `tcp-1`, of the other direction `tcp-back-1`."""
    names: dict[int, str] = {}
    first, counts = _forward(streams), {"": 0, _BACK: 0}
    for stream in streams:
        one = _half(stream, "sender")
        way = "" if _flag(one) == first else _BACK
        counts[way] += 1
        socket = one.count("socket")
        if socket is None:
            raise MeasuredError(one.place, "has no socket: which stream it is, is unknown")
        if socket in names:
            raise MeasuredError(f"{one.place}.socket", f"two streams of one socket: {socket}")
        names[socket] = f"{kind}-{way}{counts[way]}"
    return names


def _ns(seconds: float | None, place: str) -> int | None:
    if seconds is None:
        return None
    if seconds * 1e9 > MOST_NS:
        raise MeasuredError(place, f"a time of {seconds:g} s")
    return round(seconds * 1e9)


def _packets(cwnd_bytes: int | None, report: Fields) -> int | None:
    """Window in packets; None: the segment size is unknown."""
    start = report.part("start")
    size = start.count("tcp_mss_default") or start.count("tcp_mss") or 0
    return None if cwnd_bytes is None or size == 0 else round(cwnd_bytes / size)


def known(row: dict[str, int | float | str | None]) -> Row:
    """The columns that are known."""
    return {name: value for name, value in row.items() if value is not None}


def _add_flow(stream: Fields, report: Fields, names: dict[int, str], found: Measured) -> None:
    sender, receiver = _half(stream, "sender"), _half(stream, "receiver")
    socket = sender.count("socket")
    if socket is None:
        return
    udp = stream.has("udp")
    ends = (receiver.number("end") or receiver.number("seconds") or sender.number("end"),)
    end_ns = _ns(ends[0], stream.place)
    if not end_ns:
        found.note(f"{names[socket]}: it has no length, left out")
        return
    start_ns = _ns(receiver.number("start"), stream.place) or 0
    if start_ns >= end_ns:
        raise MeasuredError(f"{receiver.place}.start", "not before its end")
    row: Row = {"flow": names[socket], "kind": "udp" if udp else "tcp"}
    row |= life(start_ns, end_ns)
    row |= (
        _udp(receiver, report, found, names[socket])
        if udp
        else _tcp(sender, receiver, report, found, names[socket])
    )
    found.flows.append(row)


def _tcp(sender: Fields, receiver: Fields, report: Fields, found: Measured, name: str) -> Row:
    """Columns of a TCP stream. A count of 0 at the end that did not report is unknown."""
    delivered = receiver.count("bytes")
    sent = sender.count("bytes")
    if delivered == 0 and sent and report.part("start").has("accepted_connection"):
        delivered = None  # a server never learns what its client received
        found.note(f"{name}: the file of a server that sends does not have what was received")
    elif delivered == 0 and sent and report.has("error"):
        delivered = None
        found.note(f"{name}: {_UNTOLD}")
    end = report.part("end")
    rtt_us = sender.number("mean_rtt") or None
    return known(
        {
            "congestion_control": end.text("sender_tcp_congestion"),
            "delivered_bytes": delivered,
            "retransmitted_packets": sender.count("retransmits"),
            "cwnd_max_packets": _packets(sender.count("max_snd_cwnd") or None, report),
            "srtt_mean_ns": None if rtt_us is None else rtt_us * 1e3,
        }
    )


def _udp(both: Fields, report: Fields, found: Measured, name: str) -> Row:
    """Columns of a UDP stream. iperf3's `bytes` are those sent, or 0 at a server."""
    sent, lost = both.count("packets"), both.count("lost_packets")
    served = report.part("start").has("accepted_connection")
    if sent and report.has("error") and _flag(both) and not served:
        lost = None
        found.note(f"{name}: {_UNTOLD}")
    size = report.part("start").part("test_start").count("blksize")
    received = None if sent is None or lost is None else max(sent - lost, 0)
    total = both.count("bytes")
    if not size and sent and total:
        size = round(total / sent)
    delivered = None if received is None or not size else received * size
    return known(
        {
            "data_packets": sent,
            "sent_packets": sent,
            "received_packets": received,
            "delivered_bytes": delivered,
        }
    )


def _add_samples(report: Fields, names: dict[int, str], found: Measured) -> None:
    omitted, written = False, set[str]()
    sums: dict[str, int] = dict.fromkeys(names.values(), 0)
    again: dict[str, int] = dict(sums)
    for stream in _interval_streams(report):
        if stream.part("omitted").value is True:
            omitted = True
            continue
        name = names.get(stream.count("socket") or 0)
        time_ns, size = _ns(stream.number("end"), stream.place), stream.count("bytes")
        if name is None or time_ns is None or size is None:
            found.note(f"{stream.place}: of no stream, or without time or bytes, left out")
            continue
        sums[name] += size
        again[name] += stream.count("retransmits") or 0
        udp = name.startswith("udp")
        sends = bool(stream.part("sender").value) or stream.has("retransmits")
        if sends:
            written.add(name)
        row = _sample(stream, report, name, time_ns, sums[name], udp=udp)
        if stream.has("retransmits"):
            row["retransmitted_packets"] = again[name]
        found.samples.append(row)
    if omitted:
        found.note("intervals omitted by -O are left out; time 0 is their end")
    own = report.part("start").text("version").startswith(OWN_TOOL)
    if written and not own:
        found.note(f"bytes over time are those written at the sender: {', '.join(sorted(written))}")


def _interval_streams(report: Fields) -> Iterator[Fields]:
    for interval in report.parts("intervals"):
        yield from interval.parts("streams")


def _sample(
    stream: Fields, report: Fields, name: str, time_ns: int, total: int, *, udp: bool
) -> Row:
    row: Row = {"time_ns": time_ns, "flow": name, "delivered_bytes": total}
    if udp:
        return row
    # iperf3 writes 0 where the system does not tell.
    rtt, variation = stream.number("rtt") or None, stream.number("rttvar") or None
    return row | known(
        {
            "cwnd_packets": _packets(stream.count("snd_cwnd") or None, report),
            "srtt_ns": None if rtt is None else round(rtt * 1e3),
            "rttvar_ns": None if variation is None else round(variation * 1e3),
            "rwnd_bytes": stream.count("snd_wnd") or None,
        }
    )


def _compare_sums(report: Fields, streams: list[Fields], found: Measured) -> None:
    """Notes where iperf3's own sums are not those of its streams."""
    end, first = report.part("end"), _forward(streams)
    for name, half in (("sum_sent", "sender"), ("sum_received", "receiver")):
        for back in (False, True):
            part = end.part(f"{name}_bidir_reverse" if back else name)
            own = [_half(one, half) for one in streams if _sends(one) == (first != back)]
            if own and not own[0].place.endswith("udp"):
                begin = min(one.number("start") or 0.0 for one in own)
                length = max(one.number("end") or 0.0 for one in own) - begin
                _compare(part, own, length, found)
    before: dict[bool, float] = {}
    for number, interval in enumerate(report.parts("intervals")):
        for back in (False, True):
            part = interval.part("sum_bidir_reverse" if back else "sum")
            both = interval.has("sum_bidir_reverse")
            every = list(interval.parts("streams"))
            own = [one for one in every if not both or _flag(one) == (first != back)]
            if part.value is None or not own or part.part("omitted").value is True:
                continue
            ends = max(one.number("end") or 0.0 for one in own)
            whole = Fields(part.value, f"intervals[{number}].{part.place.rpartition('.')[2]}")
            # With -O, iperf3 counts the first interval from before time 0.
            _compare(whole, own, ends - before.get(back, 0.0), found)
            before[back] = ends


def _flag(one: Fields) -> bool:
    return bool(one.part("sender").value)


def _sends(stream: Fields) -> bool:
    return _flag(_half(stream, "sender"))


def _compare(whole: Fields, own: list[Fields], length_s: float, found: Measured) -> None:
    total = sum(one.count("bytes") or 0 for one in own)
    said = whole.count("bytes")
    if said is not None and said != total:
        found.note(f"{whole.place}.bytes is {said}; its streams have {total}")
    rate = whole.number("bits_per_second")
    if rate is None or length_s <= 0:
        return
    computed = total * 8 / length_s
    if abs(rate - computed) > _ROUNDING * max(rate, computed):
        found.note(
            f"{whole.place}.bits_per_second is {rate:.6g}; bytes and times of its streams give "
            f"{computed:.6g}"
        )


FORMAT = Format("iperf3", "iperf3's JSON", 3, looks, read)
