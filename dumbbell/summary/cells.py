"""What happened in each cell: its flows, its bottlenecks, and how they shared them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from dumbbell.limits.sharing import ANYWHERE, Bottlenecks, bottlenecks
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.arrivals import timed_out, without_arrivals
from dumbbell.metrics.fairness import jain_index
from dumbbell.metrics.statistics import Interval, interval
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.summary.flow_names import algorithm, flow_title, fold_title, stem
from dumbbell.summary.links import DROPS, MOST, links
from dumbbell.summary.phases import MOST_CELLS, MOST_REPEATS, Phase, ends_itself, phases
from dumbbell.summary.recovery import recovery_ms
from dumbbell.summary.setting import Setting, setting

#: From so many flows on that differ by number alone, they are one line.
_FOLDED_FROM = 4
#: Flows that deliver until this share of a run last until its end.
_LAST = 0.98
#: Flows of a cell whose setting is looked up.
_MOST_KNOWN = 200
#: Metrics of an RTT; the first that applies to a flow counts.
_RTTS = ("srtt_mean_ms", "rtt_mean_ms", "ping_rtt_ms")
_TCP = ("tcp", "mptcp")
_DATA = (*_TCP, "udp")


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
class LinkLine:
    """A bottleneck: means over repeats; None where it is not known.

    Attributes:
        pipe: Link and direction.
        throughput_mbps: Bits of frames that it carried, over the run.
        used: Share of what it could carry.
        dropped: Share of the packets offered.
        delay_p10_ms: Quantile of the queueing delay in the time of load, as the next two.
        jain: Jain's index of the goodputs of the bulk flows that it limits; None for one flow.
        drops: Share of the packets offered that was dropped for each reason.
    """

    pipe: str
    throughput_mbps: float
    used: float | None
    dropped: float | None
    delay_p10_ms: float | None
    delay_p50_ms: float | None
    delay_p95_ms: float | None
    jain: float | None
    drops: Mapping[str, float]


@dataclass(frozen=True)
class CellLine:
    """A cell of an experiment.

    Attributes:
        levels: Factor → level.
        flows: Its flows.
        links: Its bottlenecks.
        bulk: True if some flow always has data to send.
        goodput_mbps: Payload of all its flows until the last of them ends; None without flows.
        transfer_s: Time of its transfers of given size, mean; None without such.
        setting: Its network and flows; None in an experiment of very many cells.
        phases: Its phases, by the titles of its flows; none there, or if one is all.
        reordered: Share of the received packets that a later one had overtaken; None without any.
        spurious: Share of the segments with data that were retransmitted although they arrived.
        retransmitted: Share of the segments with data that were sent again.
        tcp_rtt_ms: Mean RTT of the TCP flows, by the bytes that they deliver.
        timed_out: Share of the flows that arrived at random which had a time-out.
        reordering_packets: Reordering that the senders allow for, mean of the largest of each run.
        segments_per_recovery: Fast retransmissions per recovery; None without one.
        recovery_ms: Mean time of recovery from a loss; None where it is not known.
        page_connections: Number of connections that pages opened.
    """

    levels: dict[str, str]
    flows: list[FlowLine]
    links: list[LinkLine]
    bulk: bool
    goodput_mbps: float | None = None
    transfer_s: float | None = None
    setting: Setting | None = None
    phases: list[Phase] = field(default_factory=list)
    reordered: float | None = None
    spurious: float | None = None
    retransmitted: float | None = None
    tcp_rtt_ms: float | None = None
    timed_out: float | None = None
    reordering_packets: float | None = None
    segments_per_recovery: float | None = None
    recovery_ms: float | None = None
    page_connections: int = 0


def of_links(cell: CellLine, name: str, choose: Callable[[Iterable[float]], float]) -> float | None:
    """Smallest or largest value of a column of the bottlenecks of a cell."""
    known = [value for link in cell.links if (value := getattr(link, name)) is not None]
    return choose(known) if known else None


def cells(tables: Tables) -> list[CellLine]:
    """All cells, in order."""
    factors = list(tables.experiment.factors)
    flows, every_link = _flows(tables), links(tables)
    levels = tables.runs.select("run", *factors)
    of_cells: dict[tuple[Any, ...], list[str]] = {}
    for run, *cell in levels.iter_rows():
        of_cells.setdefault(tuple(cell), []).append(run)
    flow_rows, link_rows = _by_run(flows), _by_run(every_link)
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    late = timed_out(tables)
    done = []
    for named, runs in of_cells.items():
        own = [row for run in runs for row in flow_rows.get(run, [])]
        data = [row["flow"] for row in own if row["kind"] in _DATA]
        places = bottlenecks(scenarios[runs[0]], data)
        known: Setting | None = None
        parts: list[Phase] = []
        recovery: float | None = None
        spec = read_scenario(scenarios[runs[0]])
        duration_s = spec["duration_ns"] * 1e-9
        if len(of_cells) <= MOST_CELLS:
            known = setting(spec, data[:_MOST_KNOWN])
            read = {run: flow_rows.get(run, []) for run in runs[:MOST_REPEATS]}
            parts = phases(tables, read, spec)
            rtts = [flow.base_rtt_ms for flow in known.flows.values()]
            recovery = recovery_ms(tables, list(read), spec, max(rtts, default=None))
        done.append(
            CellLine(
                levels=dict(zip(factors, named, strict=True)),
                flows=_flow_lines(_while_together(own, parts, places), places, known),
                links=_while_active(
                    _link_lines([r for run in runs for r in link_rows.get(run, [])], own, places),
                    own,
                    spec,
                ),
                bulk=any(_is_lasting(row, places) for row in own),
                goodput_mbps=_total_mbps(own, duration_s),
                transfer_s=_mean(_transfers_s(own, spec)),
                setting=known,
                phases=[_titled(phase, own) for phase in parts],
                reordered=_share(own, "reordered_packets", "received_packets"),
                spurious=_share(own, "spurious_retransmitted_packets", "data_packets"),
                retransmitted=_share(own, "retransmitted_packets", "data_packets"),
                tcp_rtt_ms=_tcp_rtt_ms(own),
                timed_out=_mean(late.get(run) for run in runs),
                reordering_packets=_reordering_packets(own),
                segments_per_recovery=_share(own, "fast_retransmitted_packets", "recoveries"),
                recovery_ms=recovery,
                page_connections=_page_connections(own, spec),
            )
        )
    return done


def _page_connections(rows: list[dict[str, Any]], spec: Scenario) -> int:
    """Connections that pages used, mean over runs, rounded."""
    opened = {
        name
        for page in spec["sessions"]
        for origin in page["origins"]
        for name in origin["connections"]
    }
    used = [row for row in rows if row["flow"] in opened and row["delivered_bytes"] > 0]
    return round(len(used) / len({row["run"] for row in used})) if used else 0


def _share(rows: list[dict[str, Any]], part: str, whole: str) -> float | None:
    """Sum of a column over that of another, of TCP flows; None if nothing is known."""
    known = [
        (row[part], row[whole])
        for row in rows
        if row["kind"] in _TCP and (row[part] or 0) >= 0 and (row[whole] or 0) > 0
    ]
    total = sum(own for _, own in known)
    return sum(own or 0 for own, _ in known) / total if total else None


def _tcp_rtt_ms(rows: list[dict[str, Any]]) -> float | None:
    known = [
        (row["rtt_ms"], max(row["delivered_bytes"], 1))
        for row in rows
        if row["kind"] == "tcp" and row["rtt_ms"] is not None
    ]
    whole = sum(size for _, size in known)
    return sum(rtt * size for rtt, size in known) / whole if known else None


def _reordering_packets(rows: list[dict[str, Any]]) -> float | None:
    runs: dict[str, float] = {}
    for row in rows:
        if row["kind"] in _TCP:
            runs[row["run"]] = max(runs.get(row["run"], 0), row["reordering_packets"] or 0)
    return _mean(runs.values())


def _while_together(
    rows: list[dict[str, Any]], phases: list[Phase], places: Bottlenecks
) -> list[dict[str, Any]]:
    """The rows with `shared_mbps`: goodput in the longest phase in which all bulk flows send."""
    bulk = {row["flow"] for row in rows if _is_lasting(row, places)}
    common = [phase for phase in phases if bulk <= set(phase.goodput_mbps)] if bulk else []
    longest = max(common, key=lambda one: one.end_s - one.begin_s, default=None)
    rates = longest.goodput_mbps if longest is not None else {}
    for row in rows:
        row["shared_mbps"] = rates.get(row["flow"], row["goodput_mbps"])
    return rows


def _transfers_s(rows: list[dict[str, Any]], spec: Scenario) -> Iterable[float]:
    finite = {flow["name"] for flow in spec["flows"] if ends_itself(flow)}
    for row in rows:
        if row["flow"] in finite and row["start_ns"] >= 0 and row["last_delivery_ns"] > 0:
            yield (row["last_delivery_ns"] - row["start_ns"]) * 1e-9


def _total_mbps(rows: list[dict[str, Any]], duration_s: float) -> float | None:
    """Mean over runs of the payload until the last flow ends, per second. It is at most what links
    carry, unlike a sum of the goodputs of flows that live at different times."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] in _DATA:
            runs.setdefault(row["run"], []).append(row)
    return _mean(
        sum(max(row["delivered_bytes"], 0) for row in own) * 8e-6 / _active_s(own, duration_s)
        for own in runs.values()
    )


def _active_s(rows: list[dict[str, Any]], duration_s: float) -> float:
    """Seconds until the last flow has delivered its last byte; the run where that is its end."""
    last = max((row["last_delivery_ns"] * 1e-9 for row in rows), default=0.0)
    return last if 0 < last < _LAST * duration_s else duration_s


def _while_active(
    links: list[LinkLine], rows: list[dict[str, Any]], spec: Scenario
) -> list[LinkLine]:
    """The bottlenecks with throughput and use of the time in which transfers of given size last."""
    finite = {flow["name"] for flow in spec["flows"] if ends_itself(flow)}
    data = [row for row in rows if row["kind"] in _DATA]
    if not data or any(row["flow"] not in finite for row in data):
        return links
    whole = spec["duration_ns"] * 1e-9
    share = _active_s(data, whole) / whole
    return [
        replace(
            link,
            throughput_mbps=link.throughput_mbps / share,
            used=None if link.used is None else min(link.used / share, 1.0),
        )
        for link in links
    ]


def _by_run(frame: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        found.setdefault(row["run"], []).append(row)
    return found


def _flows(tables: Tables) -> pl.DataFrame:
    """Rows of flows with `goodput_mbps`, `rtt_ms`, `lost`, `lasts`; without arrivals."""
    tables = without_arrivals(tables)
    frame = tables.flows.drop(tables.experiment.factors)
    for name in ("goodput_mbps", *_RTTS, "probe_loss_ratio"):
        one = METRICS[name].measure(tables).select("run", "flow", pl.col("value").fill_nan(None))
        one = one.rename({"value": name})
        frame = frame.join(one, on=["run", "flow"], how="left", maintain_order="left")
    sent, data = pl.col("sent_packets"), pl.col("data_packets")
    tcp = pl.col("kind").is_in(["tcp", "mptcp", "subflow"])
    life_ns = pl.col("end_ns") - pl.col("start_ns")
    return frame.with_columns(
        pl.coalesce(_RTTS).alias("rtt_ms"),
        pl.when(tcp & (data > 0))
        .then(pl.col("retransmitted_packets") / data)
        .when((pl.col("kind") == "udp") & (sent > 0))
        .then(1 - pl.col("received_packets").clip(0) / sent)
        .when(pl.col("kind") == "ping")
        .then(pl.col("probe_loss_ratio"))
        .alias("lost"),
        (life_ns * 2 >= life_ns.max().over("run")).alias("lasts"),
    )


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
            [row["shared_mbps"] or 0.0 for row in own if _is_lasting(row, places)],
        )
        for key, own in found.items()
    }


def _is_lasting(row: Mapping[str, Any], places: Bottlenecks) -> bool:
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


def _titled(phase: Phase, rows: list[dict[str, Any]]) -> Phase:
    """The phase with a goodput per line, as the mean of its flows."""
    goodputs = {}
    for flows in _folds(rows):
        rates = [phase.goodput_mbps.get(own[0]["flow"], 0.0) for own in flows]
        if any(rates):
            goodputs[_title(flows)] = sum(rates) / len(rates)
    return replace(phase, goodput_mbps=goodputs)


def _flow_lines(
    rows: list[dict[str, Any]], places: Bottlenecks, known: Setting | None
) -> list[FlowLine]:
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
        if _is_lasting(row, places) and len(bulk) > 1 and sum(bulk) > 0:
            fair.setdefault(row["flow"], []).append(goodput * len(bulk) / sum(bulk))
    means = [_mean(row["goodput_mbps"] for row in own) or 0.0 for own in flows]
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
        shared_mbps=_mean(row["shared_mbps"] for row in rows) or 0.0,
        share=None if alone else _mean(shares.values()),
        rtt_ms=_over_repeats(rows, "rtt_ms"),
        lost=_mean(row["lost"] for row in rows),
        timeouts=sum(max(row["timeouts"] or 0, 0) for row in rows) / runs,
        fair_share=min((sum(own) / len(own) for own in fair.values()), default=None),
        bulk=any(_is_lasting(row, places) for row in rows),
        window_packets=_mean(_positive(row["cwnd_mean_packets"]) for row in rows),
        base_rtt_ms=(min(rtts), max(rtts)) if rtts else None,
        bdp_packets=_mean(one.bdp_packets for one in settings),
        hops=max((one.bottlenecks for one in settings), default=0),
        rate_mbps=_mean(one.rate_mbps for one in settings),
        burst_packets=max((one.burst_packets for one in settings), default=0.0),
    )


def _over_repeats(rows: list[dict[str, Any]], column: str) -> Interval:
    """Mean of a column over the flows of each run, then over the runs."""
    runs: dict[str, list[float]] = {}
    for row in rows:
        if row[column] is not None:
            runs.setdefault(row["run"], []).append(row[column])
    return interval([sum(values) / len(values) for values in runs.values()])


def _link_lines(
    rows: list[dict[str, Any]], flows: list[dict[str, Any]], places: Bottlenecks
) -> list[LinkLine]:
    """Bottlenecks of a cell, each over the repeats in which it is one."""
    pipes: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        pipes.setdefault(row["pipe"], []).append(row)
    lines = []
    often = sorted(pipes.items(), key=lambda one: -len(one[1]))  # stable: then as named
    for pipe, own in often[:MOST]:
        values = {name: _mean(row[name] for row in own) for name in own[0] if name not in _NAMES}
        drops = {words: values.pop(reason) or 0.0 for reason, words in DROPS.items()}
        throughput = values.pop("throughput_mbps") or 0.0
        limits = {pipe, ANYWHERE}
        limited = [
            row for row in flows if _is_lasting(row, places) and limits & places.pipes[row["flow"]]
        ]
        lines.append(LinkLine(pipe, throughput, jain=_jain(limited), drops=drops, **values))
    return lines


_NAMES = ("run", "pipe")


def _jain(rows: list[dict[str, Any]]) -> float | None:
    """Jain's index of the goodputs, mean over runs; None with fewer than two flows."""
    runs: dict[str, list[float]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row["shared_mbps"] or 0.0)
    return _mean(jain_index(shares) for shares in runs.values() if len(shares) > 1)


def _positive(value: float | None) -> float | None:
    """The value, or None where it was not measured."""
    return value if value is not None and value > 0 else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
