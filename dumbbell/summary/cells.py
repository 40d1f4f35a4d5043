"""What happened in each cell: its flows, its bottlenecks, and how they shared them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.limits.outages import has_outages
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.cells import CellValues, Levels, Values
from dumbbell.metrics.definition import DATA
from dumbbell.metrics.phases import MOST_CELLS, Phase, phases
from dumbbell.metrics.sharing import lasting_flows
from dumbbell.metrics.totals import of_pages
from dumbbell.scenario import shared_scenario
from dumbbell.summary.flow_lines import MEASURED, OF_OUTAGES, FlowLine, flow_lines, titled
from dumbbell.summary.links import MEASURED as OF_LINKS
from dumbbell.summary.links import LinkLine, link_lines, worst
from dumbbell.summary.setting import Setting, setting

#: Field of a cell → its metric.
FIELDS = {
    "goodput_mbps": "total_goodput_mbps",
    "transfer_s": "transfer_s",
    "reordered": "total_reordered_share",
    "spurious": "total_spurious_share",
    "retransmitted": "total_retransmitted_share",
    "tcp_rtt_ms": "tcp_rtt_ms",
    "timed_out": "timed_out_share",
    "reordering_packets": "reordering_degree_max",
    "segments_per_recovery": "segments_per_recovery",
    "page_connections": "page_connections",
    "load_share": "load_share",
}
#: Read from samples, which may be large: not in an experiment of very many cells.
_RECOVERY = "recovery_ms"


@dataclass(frozen=True)
class CellLine:
    """A cell of an experiment: means over repeats; None where it is not known. Metrics: `FIELDS`.

    Attributes:
        levels: Factor → level.
        flows: Its flows.
        links: Its bottlenecks.
        bulk: True if some flow always has data to send.
        goodput_mbps: Payload of all its flows while any is under way.
        transfer_s: Time of its transfers of given size that finished.
        setting: Its network and flows; None in an experiment of very many cells.
        phases: Its phases, by the titles of its flows; none there, or if one is all.
        reordered: Share of the received packets that a later one had overtaken.
        spurious: Share of the segments with data that were retransmitted although they arrived.
        retransmitted: Share of the segments with data that are retransmissions.
        tcp_rtt_ms: RTT of the TCP flows, by the bytes that they deliver.
        timed_out: Share of the flows that arrived at random which had a time-out.
        reordering_packets: Reordering that the senders allow for, the largest of each run.
        segments_per_recovery: Fast retransmissions per recovery.
        recovery_ms: Time of recovery from a loss.
        page_connections: Number of connections that pages opened.
        load_share: Share of the time of all flows that is the time of load; None if there is none.
        worst: Field of a link → its value at the worst link of each run, mean over the repeats.
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
    page_connections: float | None = None
    load_share: float | None = None
    worst: Mapping[str, float] = field(default_factory=dict)


def of_metric(tables: Tables, metric: str, cells: list[CellLine]) -> list[Values]:
    """Values of a metric in each cell."""
    values = CellValues(tables, [METRICS[metric]])
    return [values.of(metric, tuple(cell.levels.values())) for cell in cells]


def cells(tables: Tables) -> list[CellLine]:
    """All cells, in order."""
    factors = list(tables.experiment.factors)
    of_cells: dict[Levels, list[str]] = {}
    for run, *cell in tables.runs.select("run", *factors).iter_rows():
        of_cells.setdefault(tuple(cell), []).append(run)
    few = len(of_cells) <= MOST_CELLS
    apart = without_arrivals(tables)
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    fails = few and any(has_outages(shared_scenario(text)) for text in set(scenarios.values()))
    of_flows = CellValues(apart, [*MEASURED, *([OF_OUTAGES] if fails else [])])
    names = [*FIELDS.values(), *([_RECOVERY] if few else [])]
    values = CellValues(tables, [*OF_LINKS, *(METRICS[name] for name in names)])
    bulk = dict(lasting_flows(tables).filter("lasting").group_by("run").agg("flow").iter_rows())
    rows = _by_run(apart.flows.drop(factors))
    done = []
    for named, runs in of_cells.items():
        spec = shared_scenario(scenarios[runs[0]])
        # Of the connections of pages those that were opened.
        of_a_page = of_pages(spec)
        own = [
            row
            for run in runs
            for row in rows.get(run, [])
            if row["start_ns"] >= 0 or row["flow"] not in of_a_page
        ]
        known: Setting | None = None
        parts: list[Phase] = []
        if few:
            data = [row["flow"] for row in own if row["kind"] in DATA]
            known = setting(scenarios[runs[0]], data)
            parts = phases(tables, {run: rows.get(run, []) for run in runs}, spec)
        always = {flow for run in runs for flow in bulk.get(run, ())}
        numbers: dict[str, Any] = {
            field: values.of(metric, named).mean() for field, metric in FIELDS.items()
        }
        done.append(
            CellLine(
                levels=dict(zip(factors, named, strict=True)),
                flows=flow_lines(of_flows, named, own, always, known),
                links=link_lines(values, named, spec, _of_paths(known)),
                worst=worst(values, named),
                bulk=bool(always),
                setting=known,
                phases=[titled(phase, own) for phase in parts],
                recovery_ms=values.of(_RECOVERY, named).mean(),
                **numbers,
            )
        )
    return done


def _of_paths(known: Setting | None) -> set[str]:
    """The narrowest pipes of flows that have several paths."""
    flows = known.flows.values() if known else ()
    return {pipe for flow in flows if flow.paths > 1 for pipe in flow.narrowest}


def _by_run(frame: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Run → rows of its flows; cells with one scenario share a run, whose rows count once."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in frame.unique(["run", "flow"], maintain_order=True).iter_rows(named=True):
        found.setdefault(row["run"], []).append(row)
    return found
