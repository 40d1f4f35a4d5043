"""JSON like that of `iperf3 -J`: streams, intervals, sums. Bytes over time are those received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.export.run import OneRun, Row, intervals, known
from dumbbell.files.output import json_text
from dumbbell.measured.iperf3 import OWN_TOOL
from dumbbell.metrics.definition import CONNECTIONS

SUFFIX = ".json"
#: Sender and receiver of a flow; only one that swaps those of the first goes back.
Ends = tuple[str, str]
#: Number of the first socket, as iperf3 has it.
_FIRST = 5
_S = 1e9

Part = dict[str, Any]


def encode(run: OneRun) -> Mapping[str, bytes]:
    """Report of a run: its TCP flows, or its UDP flows if there are none.

    Raises `DumbbellError` without any.
    """
    flows = run.flows(*CONNECTIONS) or run.flows("udp")
    flows = [
        {**one, "segment_bytes": run.segment_bytes(one["flow"])}
        for one in flows
        if 0 <= one["established_ns"] < one["end_ns"]
    ]
    if not flows:
        raise DumbbellError("no TCP or UDP flow that began", code=Code.SELECTION)
    udp = flows[0]["kind"] == "udp"
    others = [one["flow"] for one in run.flows("ping", *(() if udp else ("udp",)))]
    if others:
        run.notes.append(f"no streams of this test: {', '.join(others)}")
    begin = min(one["established_ns"] for one in flows)
    back = flows[0]["to_host"], flows[0]["from_host"]
    streams = [_stream(place, one, begin, udp, back) for place, one in enumerate(flows, _FIRST)]
    report = {
        "start": _start(run, flows, udp),
        "intervals": _intervals(run, flows, begin, back),
        "end": {"streams": streams, **_sums(streams, udp), **_control(flows)},
    }
    return {"": (json_text(report, indent=1) + "\n").encode()}


def _start(run: OneRun, flows: Sequence[Row], udp: bool) -> Part:
    ends = [
        {"socket": place, "local_host": one["from_host"], "remote_host": one["to_host"]}
        for place, one in enumerate(flows, _FIRST)
    ]
    return {
        "connected": ends,
        "version": f"{OWN_TOOL}, engine {run.engine}",
        "system_info": run.title,
        "timestamp": {},
        **({} if udp else {"tcp_mss_default": flows[0]["segment_bytes"]}),
        "test_start": {
            "protocol": "UDP" if udp else "TCP",
            "num_streams": len(flows),
            "duration": run.duration_s,
            "omit": 0,
            "reverse": 0,
        },
    }


def _rated(socket: int, start: float, end: float, size: int) -> Part:
    rate = 8 * size / (end - start)
    times = {"start": start, "end": end, "seconds": end - start}
    return {"socket": socket, **times, "bytes": size, "bits_per_second": rate}


def _stream(socket: int, flow: Row, begin: int, udp: bool, back: Ends) -> Part:
    start, end = ((flow[name] - begin) / _S for name in ("established_ns", "end_ns"))
    flag = {"sender": (flow["from_host"], flow["to_host"]) != back}
    received: Part = {"socket": socket, "start": start, "end": end, "seconds": end - start}
    if flow["delivered_bytes"] >= 0:
        received = _rated(socket, start, end, flow["delivered_bytes"])
    if udp:
        packets = known({"packets": flow["sent_packets"]})
        if min(flow["sent_packets"], flow["received_packets"]) >= 0:
            packets["lost_packets"] = flow["sent_packets"] - flow["received_packets"]
        return {"udp": {**received, **packets, **flag}}
    sender = known(
        {
            "retransmits": flow["retransmitted_packets"],
            "mean_rtt": flow["srtt_mean_ns"] / 1e3,
            "max_snd_cwnd": max(-1, flow["cwnd_max_packets"] * flow["segment_bytes"]),
        }
    )
    times = {name: received[name] for name in ("start", "end", "seconds")}
    return {
        "sender": {"socket": socket, **times, **sender, **flag},
        "receiver": {**received, **flag},
    }


def _intervals(run: OneRun, flows: Sequence[Row], begin: int, back: Ends) -> list[Part]:
    """Intervals of all streams: those of the samples."""
    parts: dict[int, list[Part]] = {}
    for socket, flow in enumerate(flows, _FIRST):
        for left, right, size in intervals(flow, run.samples(flow["flow"])):
            one = _rated(socket, (left - begin) / _S, (right - begin) / _S, size)
            one |= {"omitted": False, "sender": (flow["from_host"], flow["to_host"]) != back}
            parts.setdefault(right, []).append(one)
    return [{"streams": parts[time]} for time in sorted(parts)]


def _sums(streams: Sequence[Part], udp: bool) -> Part:
    """Sums of the first direction, and of the other."""
    found: Part = {}
    halves = (("sum", "udp"),) if udp else (("sum_received", "receiver"),)
    for name, half in halves:
        for back in (False, True):
            own = [one[half] for one in streams if one[half]["sender"] != back]
            if own and all("bytes" in one for one in own):
                start, end = min(one["start"] for one in own), max(one["end"] for one in own)
                total = _rated(0, start, end, sum(one["bytes"] for one in own))
                del total["socket"]
                found[f"{name}_bidir_reverse" if back else name] = {**total, "sender": not back}
    return found


def _control(flows: Sequence[Row]) -> Part:
    names = {one["congestion_control"] for one in flows}
    return {"sender_tcp_congestion": names.pop()} if len(names) == 1 and "" not in names else {}
