"""Lines of flows: one flow, or several that differ by number alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from dumbbell.metrics import METRICS
from dumbbell.metrics.cells import CellValues, Levels, Several
from dumbbell.metrics.phases import Phase
from dumbbell.metrics.statistics import Interval
from dumbbell.summary.flow_names import algorithm, flow_title, fold_title, stem
from dumbbell.summary.setting import Setting

#: From so many flows on that differ by number alone, they are one line.
_FOLDED_FROM = 4
#: Kind of a flow → metric of what it lost; of TCP what it sent again.
_LOST = {"udp": "datagram_loss_ratio", "ping": "probe_loss_ratio"}
#: The metrics of all lines.
MEASURED = [
    METRICS[name]
    for name in (
        "goodput_mbps", "joint_goodput_mbps", "share", "joint_share", "joint_fair_share",
        "rtt_ms", "retransmitted_share", "timeouts", "cwnd_mean_packets", "outage_s",
        "blocked_share", *_LOST.values(),
    )
]  # fmt: skip
#: Measured only where a link goes down: it is read from samples.
OF_OUTAGES = METRICS["resume_s"]


@dataclass(frozen=True)
class FlowLine:
    """A flow, or several that differ by number alone.

    Attributes:
        title: What it is called.
        algorithm: Its congestion control, or kind.
        count: Number of flows.
        goodput_mbps: Mean over flows and repeats.
        range_mbps: Smallest and largest mean of a flow.
        joint_mbps: Goodput while all flows that always have data send, mean over the flows.
        share: Goodput of all of them over that of all flows that share their bottleneck, each over
            its own life; None for a flow that has it alone.
        joint_share: The same while all flows that always have data send.
        rtt_ms: Mean RTT.
        lost: Share of retransmitted segments; of datagrams and echoes that never arrived.
        timeouts: Time-outs per run, of all of them; None: not known on this engine.
        fair_share: Goodput, while all send, of the least of them over the mean of all such flows
            at its bottleneck; None where it is alone, or has not always data to send.
        bulk: True if they always have data to send.
        window_packets: Mean congestion window; None if it was not measured.
        base_rtt_ms: Smallest and largest round trip without queues; None if it is not known.
        bdp_packets: Rate of the narrowest link times that, in full frames.
        hops: Number of links that are the narrowest of the path; 0 if it is not known, or if there
            are several paths.
        narrowest: Pipes that are the narrowest of a path of any of them.
        pipes: Pipes that the data of any of them may pass; none if that is not known.
        rate_mbps: Rate of the narrowest links of all paths; None without a limit.
        burst_packets: Packets that the datagrams of one interval make; 0 but for UDP.
        outage_s: Time in which a link of its paths is down; None if it is not known.
        resume_s: Longest time from the end of an outage to new data; None without an outage.
        blocked: Share of the life of a Multipath TCP connection in which its receiver waits for
            data of another path; None for others.
    """

    title: str
    algorithm: str
    count: int
    goodput_mbps: Interval
    range_mbps: tuple[float, float]
    joint_mbps: float | None
    share: float | None
    joint_share: float | None
    rtt_ms: Interval
    lost: float | None
    timeouts: float | None
    fair_share: float | None
    bulk: bool = False
    window_packets: float | None = None
    base_rtt_ms: tuple[float, float] | None = None
    bdp_packets: float | None = None
    hops: int = 0
    narrowest: frozenset[str] = frozenset()
    pipes: frozenset[str] = frozenset()
    rate_mbps: float | None = None
    burst_packets: float = 0.0
    outage_s: float | None = None
    resume_s: float | None = None
    blocked: float | None = None


_Flows = list[list[dict[str, Any]]]
"""Flows, each with its rows of all runs."""


def _folds(rows: list[dict[str, Any]]) -> list[_Flows]:
    """Flows of each line: those that differ by number alone together, if there are several."""
    folds: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        key = stem(row["flow"]), row["kind"], row["congestion_control"]
        folds.setdefault(key, {}).setdefault(row["flow"], []).append(row)
    lines: list[_Flows] = []
    for flows in folds.values():
        every = list(flows.values())
        lines += [every] if len(every) >= _FOLDED_FROM else [[one] for one in every]
    return lines


def _titles(folds: list[_Flows]) -> list[str]:
    """Titles of the lines; those that are alike get the name of their first flow."""
    plain = [
        flow_title(flows[0][0]) if len(flows) == 1 else fold_title(flows[0][0], len(flows))
        for flows in folds
    ]
    return [
        title if plain.count(title) == 1 else f"{flows[0][0]['flow']}: {title}"
        for title, flows in zip(plain, folds, strict=True)
    ]


def titled(phase: Phase, rows: list[dict[str, Any]]) -> Phase:
    """The phase with a goodput per line, as the mean of its flows."""
    goodputs = {}
    folds = _folds(rows)
    for title, flows in zip(_titles(folds), folds, strict=True):
        rates = [phase.goodput_mbps.get(own[0]["flow"], 0.0) for own in flows]
        if any(rates):
            goodputs[title] = fmean(rates)
    return replace(phase, goodput_mbps=goodputs)


def flow_lines(
    values: CellValues,
    cell: Levels,
    rows: list[dict[str, Any]],
    bulk: Collection[str],
    known: Setting | None,
) -> list[FlowLine]:
    """Lines of the flows of a cell.

    Args:
        values: The metrics `MEASURED`.
        cell: The cell.
        rows: Rows of `flows` of all its runs.
        bulk: Flows that always have data to send.
        known: Setting of the cell; None: unknown.
    """
    folds = _folds(rows)
    return [
        _flow_line(title, values, cell, flows, bulk, known)
        for title, flows in zip(_titles(folds), folds, strict=True)
    ]


def _flow_line(
    title: str,
    values: CellValues,
    cell: Levels,
    flows: _Flows,
    bulk: Collection[str],
    known: Setting | None,
) -> FlowLine:
    """Line of some flows."""
    first = flows[0][0]
    names = {own[0]["flow"] for own in flows}

    def measured(metric: str, several: Several = "mean") -> float | None:
        return values.of(metric, cell).mean(names, several)

    goodput = values.of("goodput_mbps", cell)
    each = [value for name in names if (value := goodput.mean([name])) is not None]
    found = known.flows if known else {}
    settings = [found[name] for own in flows if (name := own[0]["flow"]) in found]
    rtts = [one.base_rtt_ms for one in settings]
    return FlowLine(
        title=title,
        algorithm=algorithm(first),
        count=len(flows),
        goodput_mbps=goodput.interval(names),
        range_mbps=(min(each, default=0.0), max(each, default=0.0)),
        joint_mbps=measured("joint_goodput_mbps"),
        share=measured("share", "sum"),
        joint_share=measured("joint_share", "sum"),
        rtt_ms=values.of("rtt_ms", cell).interval(names),
        lost=measured(_LOST.get(first["kind"], "retransmitted_share")),
        timeouts=measured("timeouts", "sum"),
        fair_share=measured("joint_fair_share", "min"),
        bulk=not names.isdisjoint(bulk),
        window_packets=measured("cwnd_mean_packets") or None,
        base_rtt_ms=(min(rtts), max(rtts)) if rtts else None,
        bdp_packets=_mean(one.bdp_packets for one in settings),
        hops=max((len(one.narrowest) for one in settings if one.paths == 1), default=0),
        narrowest=frozenset(pipe for one in settings for pipe in one.narrowest),
        pipes=frozenset(pipe for one in settings for pipe in one.pipes),
        rate_mbps=_mean(one.rate_mbps for one in settings),
        burst_packets=max((one.burst_packets for one in settings), default=0.0),
        outage_s=measured("outage_s", "max"),
        resume_s=measured(OF_OUTAGES.name, "max"),
        blocked=measured("blocked_share", "max"),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Mean of known settings."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
