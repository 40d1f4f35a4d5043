"""Lines of flows: one flow, or several that differ by number alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.limits.sharing import Bottlenecks
from dumbbell.metrics.statistics import Interval, interval
from dumbbell.summary.flow_names import algorithm, flow_title, fold_title, stem
from dumbbell.summary.phases import Phase
from dumbbell.summary.setting import Setting
from dumbbell.summary.totals import mean

#: From so many flows on that differ by number alone, they are one line.
_FOLDED_FROM = 4


@dataclass(frozen=True)
class FlowLine:
    """A flow, or several that differ by number alone.

    Attributes:
        title: What it is called.
        algorithm: Its congestion control, or kind.
        count: Number of flows.
        goodput_mbps: Mean over flows and repeats.
        range_mbps: Smallest and largest mean of a flow.
        shared_mbps: Goodput while all flows that always have data send; else as `goodput_mbps`.
        share: Goodput of all of them over that of all flows that share their bottleneck; None for a
            flow that has it alone.
        rtt_ms: Mean RTT.
        lost: Share of retransmitted segments; of datagrams and echoes that never arrived.
        timeouts: Time-outs per run.
        fair_share: Goodput of the least of them over the mean of all such flows at its
            bottleneck; None where it is alone, or has not always data to send.
        bulk: True if they always have data to send.
        window_packets: Mean congestion window; None if it was not measured.
        base_rtt_ms: Smallest and largest round trip without queues; None if it is not known.
        bdp_packets: Rate of the narrowest link times that, in full frames.
        hops: Number of links that are the narrowest of the path; 0 if it is not known.
        rate_mbps: Rate of the narrowest links of all paths; None without a limit.
        burst_packets: Packets that the datagrams of one interval make; 0 but for UDP.
    """

    title: str
    algorithm: str
    count: int
    goodput_mbps: Interval
    range_mbps: tuple[float, float]
    shared_mbps: float
    share: float | None
    rtt_ms: Interval
    lost: float | None
    timeouts: float
    fair_share: float | None
    bulk: bool = False
    window_packets: float | None = None
    base_rtt_ms: tuple[float, float] | None = None
    bdp_packets: float | None = None
    hops: int = 0
    rate_mbps: float | None = None
    burst_packets: float = 0.0


@dataclass(frozen=True)
class _Shared:
    """Goodputs at a bottleneck in a run: of all flows together, of each that always has data."""

    total_mbps: float
    bulk_mbps: list[float]


def _shared(rows: list[dict[str, Any]], places: Bottlenecks) -> dict[tuple[str, str], _Shared]:
    """By run and bottleneck."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        for pipe in places.pipes.get(row["flow"], ()):
            found.setdefault((row["run"], pipe), []).append(row)
    return {
        key: _Shared(
            sum(row["shared_mbps"] or 0.0 for row in own),
            [row["shared_mbps"] or 0.0 for row in own if is_lasting(row, places)],
        )
        for key, own in found.items()
    }


def is_lasting(row: Mapping[str, Any], places: Bottlenecks) -> bool:
    """True for a flow that has data for at least half as long as any other lives."""
    return bool(row["lasts"]) and row["flow"] in places.bulk


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


def _title(flows: _Flows) -> str:
    first = flows[0][0]
    return flow_title(first) if len(flows) == 1 else fold_title(first, len(flows))


def titled(phase: Phase, rows: list[dict[str, Any]]) -> Phase:
    """The phase with a goodput per line, as the mean of its flows."""
    goodputs = {}
    for flows in _folds(rows):
        rates = [phase.goodput_mbps.get(own[0]["flow"], 0.0) for own in flows]
        if any(rates):
            goodputs[_title(flows)] = sum(rates) / len(rates)
    return replace(phase, goodput_mbps=goodputs)


def flow_lines(
    rows: list[dict[str, Any]], places: Bottlenecks, known: Setting | None
) -> list[FlowLine]:
    """Lines of the flows of a cell, as their names have them.

    Args:
        rows: Rows of `flows` of all runs, with `shared_mbps`.
        places: Bottlenecks of each flow.
        known: Setting of the cell; None: unknown.
    """
    shared = _shared(rows, places)
    return [_flow_line(flows, shared, places, known) for flows in _folds(rows)]


def _flow_line(
    flows: _Flows,
    shared: Mapping[tuple[str, str], _Shared],
    places: Bottlenecks,
    known: Setting | None,
) -> FlowLine:
    """Line of some flows."""
    rows = [row for own in flows for row in own]
    kind = algorithm(rows[0])
    common = places.of_all(row["flow"] for row in rows)
    shares: dict[str, float] = {}
    fair: dict[str, list[float]] = {}
    alone = True
    for row in rows:
        beside = [shared[row["run"], pipe] for pipe in common]
        total = max((one.total_mbps for one in beside), default=0.0)
        goodput = row["shared_mbps"] or 0.0
        if total > 0:
            alone &= goodput == total
            shares[row["run"]] = shares.get(row["run"], 0.0) + goodput / total
        pipes = sorted(places.pipes.get(row["flow"], ()))  # a set has no order
        bulk = max((shared[row["run"], pipe].bulk_mbps for pipe in pipes), key=len, default=[])
        if is_lasting(row, places) and len(bulk) > 1 and sum(bulk) > 0:
            fair.setdefault(row["flow"], []).append(goodput * len(bulk) / sum(bulk))
    means = [mean(row["goodput_mbps"] for row in own) or 0.0 for own in flows]
    runs = len({row["run"] for row in rows})
    settings = [
        known.flows[own[0]["flow"]] for own in flows if known and own[0]["flow"] in known.flows
    ]
    rtts = [one.base_rtt_ms for one in settings]
    return FlowLine(
        title=_title(flows),
        algorithm=kind,
        count=len(flows),
        goodput_mbps=_over_repeats(rows, "goodput_mbps"),
        range_mbps=(min(means), max(means)),
        shared_mbps=mean(row["shared_mbps"] for row in rows) or 0.0,
        share=None if alone else mean(shares.values()),
        rtt_ms=_over_repeats(rows, "rtt_ms"),
        lost=mean(row["lost"] for row in rows),
        timeouts=sum(max(row["timeouts"] or 0, 0) for row in rows) / runs,
        fair_share=min((sum(own) / len(own) for own in fair.values()), default=None),
        bulk=any(is_lasting(row, places) for row in rows),
        window_packets=mean(_positive(row["cwnd_mean_packets"]) for row in rows),
        base_rtt_ms=(min(rtts), max(rtts)) if rtts else None,
        bdp_packets=mean(one.bdp_packets for one in settings),
        hops=max((one.bottlenecks for one in settings), default=0),
        rate_mbps=mean(one.rate_mbps for one in settings),
        burst_packets=max((one.burst_packets for one in settings), default=0.0),
    )


def _over_repeats(rows: list[dict[str, Any]], column: str) -> Interval:
    """Mean of a column over the flows of each run, then over the runs."""
    runs: dict[str, list[float]] = {}
    for row in rows:
        if row[column] is not None:
            runs.setdefault(row["run"], []).append(row[column])
    return interval([sum(values) / len(values) for values in runs.values()])


def _positive(value: float | None) -> float | None:
    """The value, or None where it was not measured."""
    return value if value is not None and value > 0 else None
