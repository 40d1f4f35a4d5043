"""A row per cell: what an experiment of many cells looks like at a glance."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.metrics import Tables
from dumbbell.metrics.numbers import number, percent
from dumbbell.summary.cells import CellLine, of_metric
from dumbbell.summary.flow_lines import FlowLine

#: Metrics of applications, where they were measured, and their headings.
_ASKED = {
    "page_load_s": "page load s",
    "request_median_ms": "request ms",
    "fct_slowdown": "slowdown",
    "voice_mos": "MOS",
    "latency_p95_ms": "ping p95 ms",
}


def rows(cells: list[CellLine], results: Tables) -> tuple[list[str], list[list[str]]]:
    """Headings without the factors, and texts of each cell, without columns that nothing fills."""
    columns: dict[str, list[float | None]] = {}
    for name, heading in _ASKED.items():
        columns[heading] = [one.mean() for one in of_metric(results, name, cells)]
    for heading, value in _COLUMNS.items():
        columns[heading] = [value(cell) for cell in cells]
    shown = {
        heading: [_text(heading, value) for value in values]
        for heading, values in columns.items()
        if any(value is not None for value in values)
    }
    for heading, own in (_JOINT, _joint_mbps), (_EACH, _own_mbps):
        texts = [_each_flow(cell, own) for cell in cells]
        if any(texts):
            shown[heading] = texts
            break
    return list(shown), [list(texts) for texts in zip(*shown.values(), strict=True)]


def _joint_mbps(flow: FlowLine) -> float | None:
    return flow.joint_mbps


def _own_mbps(flow: FlowLine) -> float | None:
    return flow.goodput_mbps.mean


def _each_flow(cell: CellLine, mbps: Callable[[FlowLine], float | None]) -> str:
    """`CUBIC 2.31, BBR 8.64`: goodput of each flow that always has data, if there are a few."""
    flows = [flow for flow in cell.flows if flow.bulk or flow.algorithm == "UDP"]
    rates = [rate for flow in flows if (rate := mbps(flow)) is not None]
    several = 2 <= len(flows) <= _FEW_FLOWS and all(flow.count == 1 for flow in flows)
    if not several or len(rates) < len(flows):
        return ""
    named = len({flow.algorithm for flow in flows}) > 1
    return ", ".join(
        f"{flow.algorithm} {number(rate)}" if named else number(rate)
        for flow, rate in zip(flows, rates, strict=True)
    )


def _seen(share: float | None) -> float | None:
    return share if share is not None and share >= _SEEN else None


_COLUMNS: dict[str, Callable[[CellLine], float | None]] = {
    "transfer s": lambda cell: cell.transfer_s,
    "goodput Mbit/s": lambda cell: cell.goodput_mbps,
    "use": lambda cell: cell.worst.get("used"),
    "queue ms p50": lambda cell: cell.worst.get("delay_p50_ms"),
    "p95": lambda cell: cell.worst.get("delay_p95_ms"),
    "TCP RTT ms": lambda cell: cell.tcp_rtt_ms,
    "retransmitted": lambda cell: cell.retransmitted,
    "timed out": lambda cell: cell.timed_out,
    "marked": lambda cell: cell.worst.get("marked") or None,
    "dropped": lambda cell: cell.worst.get("dropped"),
    "reordered": lambda cell: _seen(cell.reordered),
    "spurious": lambda cell: _seen(cell.spurious),
    "recovery ms": lambda cell: cell.recovery_ms,
    "Jain": lambda cell: cell.worst.get("jain"),
}
#: Smaller shares of reordered and of spuriously retransmitted packets are not shown.
_SEEN = 0.01
_JOINT, _EACH, _FEW_FLOWS = "each flow, joint Mbit/s", "each flow Mbit/s", 4
_SHARES = ("use", "retransmitted", "timed out", "marked", "dropped", "reordered", "spurious")
_CAPTIONS = {
    "page load s": "Page load: from the request until the last object has arrived.",
    "slowdown": "Slowdown: time of a transfer over its time alone, mean.",
    "MOS": "MOS: quality of speech, 1 (bad) to 4.5.",
    "ping p95 ms": "Ping: RTT of echo requests beside the load, 95th percentile.",
    "transfer s": "Transfer: time of a transfer of given size, mean of those that finished.",
    "goodput Mbit/s": "Goodput: payload of all flows in both directions, while any is under way.",
    "use": "Use: share of what a link could carry while any flow is under way, the largest.",
    "queue ms p50": (
        "Queueing delay (means over a sample): while all long TCP flows last (if never, in the "
        "whole run), of the queue with the largest p95 of each run."
    ),
    "marked": "Marked: by ECN, at the bottleneck where most are.",
    "dropped": "Dropped: at the bottleneck where most are.",
    "TCP RTT ms": "TCP RTT: mean of the flows, by the bytes that they deliver.",
    "retransmitted": "Retransmitted: share of all segments with data of all TCP and QUIC flows.",
    "timed out": "Timed out: arriving flows that had a time-out.",
    "reordered": "Reordered: received packets that a later one had overtaken.",
    "spurious": "Spurious: segments retransmitted although they arrived.",
    "recovery ms": "Recovery: from the first duplicate ACK until the sender is in the Open state.",
    "Jain": "Jain's index: of the flows that always have data, while all of them send.",
    _JOINT: "Each flow: its goodput while all of them send.",
    _EACH: "Each flow: its goodput, over its own life.",
}


def caption(head: list[str]) -> str:
    """Sentences about the columns shown."""
    return " ".join(words for heading, words in _CAPTIONS.items() if heading in head)


def _text(heading: str, value: float | None) -> str:
    if value is None:
        return ""
    return percent(value) if heading in _SHARES else number(value)
