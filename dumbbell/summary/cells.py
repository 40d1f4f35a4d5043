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
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.summary.flow_lines import FlowLine, flow_lines, is_lasting, titled
from dumbbell.summary.links import DROPS, MOST, links
from dumbbell.summary.phases import MOST_CELLS, MOST_REPEATS, Phase, ends_itself, phases
from dumbbell.summary.recovery import recovery_ms
from dumbbell.summary.setting import Setting, setting
from dumbbell.summary.totals import (
    DATA,
    active_s,
    mean,
    page_connections,
    reordering_packets,
    share,
    tcp_rtt_ms,
    total_mbps,
    transfers_s,
)

#: Flows of a cell whose setting is looked up.
_MOST_KNOWN = 200
#: Metrics of an RTT; the first that applies to a flow counts.
_RTTS = ("srtt_mean_ms", "rtt_mean_ms", "ping_rtt_ms")


@dataclass(frozen=True)
class LinkLine:
    """A bottleneck: means over repeats; None where it is not known.

    Attributes:
        pipe: Link and direction.
        throughput_mbps: Bits of frames that it carried, over the run.
        used: Share of what it could carry.
        marked: Share of the packets offered that was marked (ECN); None if none was.
        dropped: Share of the packets offered.
        delay_p10_ms: Quantile of the queueing delay in the time of load, as the next two.
        jain: Jain's index of the goodputs of the bulk flows that it limits; None for one flow.
        drops: Share of the packets offered that was dropped for each reason.
    """

    pipe: str
    throughput_mbps: float
    used: float | None
    marked: float | None
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
        data = [row["flow"] for row in own if row["kind"] in DATA]
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
                flows=flow_lines(_while_together(own, parts, places), places, known),
                links=_while_active(
                    _link_lines([r for run in runs for r in link_rows.get(run, [])], own, places),
                    own,
                    spec,
                ),
                bulk=any(is_lasting(row, places) for row in own),
                goodput_mbps=total_mbps(own, duration_s),
                transfer_s=mean(transfers_s(own, spec)),
                setting=known,
                phases=[titled(phase, own) for phase in parts],
                reordered=share(own, "reordered_packets", "received_packets"),
                spurious=share(own, "spurious_retransmitted_packets", "data_packets"),
                retransmitted=share(own, "retransmitted_packets", "data_packets"),
                tcp_rtt_ms=tcp_rtt_ms(own),
                timed_out=mean(late.get(run) for run in runs),
                reordering_packets=reordering_packets(own),
                segments_per_recovery=share(own, "fast_retransmitted_packets", "recoveries"),
                recovery_ms=recovery,
                page_connections=page_connections(own, spec),
            )
        )
    return done


def _while_together(
    rows: list[dict[str, Any]], phases: list[Phase], places: Bottlenecks
) -> list[dict[str, Any]]:
    """The rows with `shared_mbps`: goodput in the longest phase in which all bulk flows send."""
    bulk = {row["flow"] for row in rows if is_lasting(row, places)}
    common = [phase for phase in phases if bulk <= set(phase.goodput_mbps)] if bulk else []
    longest = max(common, key=lambda one: one.end_s - one.begin_s, default=None)
    rates = longest.goodput_mbps if longest is not None else {}
    for row in rows:
        row["shared_mbps"] = rates.get(row["flow"], row["goodput_mbps"])
    return rows


def _while_active(
    links: list[LinkLine], rows: list[dict[str, Any]], spec: Scenario
) -> list[LinkLine]:
    """The bottlenecks with throughput and use of the time in which transfers of given size last."""
    finite = {flow["name"] for flow in spec["flows"] if ends_itself(flow)}
    data = [row for row in rows if row["kind"] in DATA]
    if not data or any(row["flow"] not in finite for row in data):
        return links
    whole = spec["duration_ns"] * 1e-9
    share = active_s(data, whole) / whole
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
        values = {name: mean(row[name] for row in own) for name in own[0] if name not in _NAMES}
        drops = {words: values.pop(reason) or 0.0 for reason, words in DROPS.items()}
        throughput = values.pop("throughput_mbps") or 0.0
        limits = {pipe, ANYWHERE}
        limited = [
            row for row in flows if is_lasting(row, places) and limits & places.pipes[row["flow"]]
        ]
        lines.append(LinkLine(pipe, throughput, jain=_jain(limited), drops=drops, **values))
    return lines


_NAMES = ("run", "pipe")


def _jain(rows: list[dict[str, Any]]) -> float | None:
    """Jain's index of the goodputs, mean over runs; None with fewer than two flows."""
    runs: dict[str, list[float]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row["shared_mbps"] or 0.0)
    return mean(jain_index(shares) for shares in runs.values() if len(shares) > 1)
