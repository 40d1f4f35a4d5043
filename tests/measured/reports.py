"""Reports of iperf3, made by hand: the fields that iperf3 3.12 writes."""

from __future__ import annotations

import json
from typing import Any

Report = dict[str, Any]


def stream(socket: int, start: float, end: float, size: int, **more: Any) -> Report:
    """A stream of an interval."""
    rate = 8 * size / (end - start)
    return {
        "socket": socket, "start": start, "end": end, "seconds": end - start, "bytes": size,
        "bits_per_second": rate, "omitted": False, **more,
    }  # fmt: skip


def summed(parts: list[Report], **more: Any) -> Report:
    """The sum of streams as iperf3 writes it."""
    total = sum(one["bytes"] for one in parts)
    start, end = parts[0]["start"], parts[0]["end"]
    rate = 8 * total / (end - start)
    return {
        "start": start, "end": end, "seconds": end - start, "bytes": total,
        "bits_per_second": rate, "omitted": False, **more,
    }  # fmt: skip


def tcp(sizes: list[list[int]], *, lost: int = 0, sender: bool = True) -> Report:
    """A TCP test: bytes of each stream in each interval of a second. `lost`: bytes not received."""
    of_tcp = {"snd_cwnd": 14480, "snd_wnd": 65536, "rtt": 20_000, "rttvar": 1000} if sender else {}
    count = len(sizes[0])
    intervals, ends = [], []
    for place in range(count):
        more = {**of_tcp, "retransmits": place, "sender": True} if sender else {"sender": False}
        own = [stream(5 + k, place, place + 1.0, one[place], **more) for k, one in enumerate(sizes)]
        intervals.append({"streams": own, "sum": summed(own, sender=sender)})
    for k, one in enumerate(sizes):
        sent = stream(5 + k, 0, float(count), sum(one), sender=sender)
        if sender:
            sent |= {
                "retransmits": sum(range(count)), "max_snd_cwnd": 28960, "mean_rtt": 21_000,
                "min_rtt": 20_000, "max_rtt": 22_000,
            }  # fmt: skip
        received = stream(5 + k, 0, float(count), sum(one) - lost, sender=sender)
        ends.append({"sender": sent, "receiver": received})
    end = {
        "streams": ends,
        "sum_sent": summed([one["sender"] for one in ends], sender=sender),
        "sum_received": summed([one["receiver"] for one in ends], sender=sender),
        **({"sender_tcp_congestion": "cubic"} if sender else {}),
    }
    return {**head("TCP", tcp_mss_default=1448), "intervals": intervals, "end": end}


def udp(size: int, packets: int, lost: int) -> Report:
    """A UDP test of a stream and a second."""
    own = stream(5, 0, 1.0, size * packets, packets=packets, sender=True)
    both = {**own, "jitter_ms": 0.1, "lost_packets": lost, "packets": packets, "out_of_order": 0}
    end = {"streams": [{"udp": both}], "sum": summed([own], packets=packets, lost_packets=lost)}
    report = {**head("UDP"), "intervals": [{"streams": [own], "sum": summed([own])}], "end": end}
    report["start"]["test_start"]["blksize"] = size
    return report


def head(protocol: str, **more: Any) -> Report:
    """The part `start`."""
    start = {
        "connected": [{"socket": 5, "local_host": "10.0.0.1", "remote_host": "10.0.0.2"}],
        "version": "iperf 3.12",
        "system_info": "Linux host",
        "timestamp": {"time": "Mon, 30 Nov 2026 00:31:00 GMT"},
        "connecting_to": {"host": "10.0.0.2", "port": 5201},
        **more,
        "test_start": {"protocol": protocol, "num_streams": 1, "omit": 0, "reverse": 0},
    }
    return {"start": start}


def encoded(report: Report) -> bytes:
    """Bytes of a report."""
    return json.dumps(report, indent="\t").encode()


def events(report: Report) -> bytes:
    """The same report as `--json-stream` writes it."""
    lines: list[Report] = [{"event": "start", "data": report["start"]}]
    lines += [{"event": "interval", "data": one} for one in report["intervals"]]
    lines.append({"event": "end", "data": report["end"]})
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)
