"""The table of `dumbbell run`: flows and bottlenecks of each cell, and what stands out."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import polars as pl
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.active import times_differ
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.numbers import number, percent, with_interval
from dumbbell.metrics.statistics import Interval
from dumbbell.rows import repeats_range, repeats_words
from dumbbell.summary import load as load_summary
from dumbbell.summary import pages as page_summary
from dumbbell.summary import programs as program_summary
from dumbbell.summary.cells import CellLine
from dumbbell.summary.changes import delay_text
from dumbbell.summary.contrasts import contrasts
from dumbbell.summary.findings import findings
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled
from dumbbell.summary.flow_lines import FlowLine
from dumbbell.summary.links import LinkLine, arrow, shown

#: Columns of the rows of `flows` in JSON, each a metric of this name.
QUANTITIES = (
    "goodput_mbps", "joint_goodput_mbps", "share", "joint_share", "rtt_ms", "retransmissions",
    "retransmitted_share", "timeouts",
)  # fmt: skip
_ENDS = {"mean": "", "low": "_low", "high": "_high"}


def rows(results: Tables) -> list[dict[str, Any]]:
    """One row per cell and flow: factors, flow, each quantity with `_low` and `_high` (95 %)."""
    keys = [*results.experiment.factors, "flow"]
    tables: Tables = without_arrivals(results)
    frame = tables.flows.select([*keys, "kind", "congestion_control"]).unique(
        subset=keys, maintain_order=True
    )
    for name in QUANTITIES:
        found = summary(tables, METRICS[name], keys).select(
            *keys, *(pl.col(end).fill_nan(None).alias(name + mark) for end, mark in _ENDS.items())
        )
        frame = frame.join(found, on=keys, how="left", maintain_order="left")
    return frame.to_dicts()


_MAX_CELLS = 60
#: Column → its heading.
COLUMNS = {
    "rate": "Mbit/s",
    "share": "share",
    "joint": "joint\nshare",
    "use": "use",
    "rtt": "RTT\nms",
    "p50": "queue\nms p50",
    "p95": "\np95",
    "again": "retrans-\nmitted",
    "marked": "marked",
    "lost": "lost",
    "jain": "Jain",
}
#: Times of the rates, where they are not the same.
TIMES = "Mbit/s: of a flow over its own life, of a link while any flow is under way"
#: Column → what it says of flows, and of links.
_OF_FLOWS = {
    "rate": "goodput over its own life",
    "share": "its share at the bottleneck (Σ: of all of them)",
    "joint": (
        "its share at the bottleneck while all flows that always have data send (Σ: of all of them)"
    ),
    "rtt": "mean RTT",
    "again": "retransmitted segments (spurious ones included)",
    "lost": "lost datagrams and echoes",
}
_OF_LINKS = {
    "rate": "throughput of frames while any flow is under way",
    "use": "use in that time",
    "p95": "queueing delay under load",
    "marked": "marked packets",
    "lost": "dropped packets",
    "jain": "Jain's index of the flows that always have data, while all of them send",
}
#: What is never retransmitted: its losses are known.
NOT_REPEATED = ("UDP", "ping")

Line = tuple[str, dict[str, str]]


def table(results: Tables, every: list[CellLine], width: int = WIDTH) -> Group:
    """The rows for a terminal of this width, without intervals if it is narrow."""
    factors = list(results.experiment.factors)
    repeats = repeats_range(results.runs, factors)
    notes = [TIMES] if times_differ(results) and any(cell.flows for cell in every) else []
    if (more := len(every) - _MAX_CELLS) > 0:
        notes.append(f"{more} more cells: dumbbell report, or --json")

    def make(form: tuple[bool, bool]) -> Table:
        intervals, headed = form
        made = plain_table()
        made.caption = "\n".join(notes) or None
        made.caption_justify = "left"
        _fill(made, every[:_MAX_CELLS], [] if headed else factors, intervals=intervals)
        return made

    forms = ((True, False), (False, False), (True, True), (False, True))
    made = fitted(make, forms, width)
    value = ": mean ± half the 95 % interval" if _has_intervals(made) else ": mean"
    count = repeats_words(repeats) + (value if repeats[1] > 1 and made.row_count else "")
    title = f"{results.experiment.name} ({count})"
    return titled(title, made) if made.row_count else Group(Text(title, style="bold"), "")


def _has_intervals(table: Table) -> bool:
    return any("±" in str(cell) for column in table.columns for cell in column.cells)


def _fill(table: Table, every: list[CellLine], factors: list[str], *, intervals: bool) -> None:
    """Adds columns and rows. A factor that is no column stands in a heading of each cell."""
    drawn = [lines(cell, intervals) for cell in every]
    columns = columns_of(drawn)
    names = [*map(shortened, factors), ""]
    add_columns(table, names, (COLUMNS[column] for column in columns))
    for cell, own in zip(every, drawn, strict=True):
        levels = [shortened(cell.levels[name]) for name in factors]
        apart = ", ".join(level for name, level in cell.levels.items() if name not in factors)
        if apart:
            table.add_row(shortened(apart), *[""] * len(columns), style="bold")
        for place, (name, texts) in enumerate(own):
            first = levels if place == 0 else [""] * len(levels)
            values = (texts.get(column, "") for column in columns)
            table.add_row(*first, name, *values, end_section=place == len(own) - 1)


def columns_of(drawn: list[list[Line]]) -> list[str]:
    """Columns that some row fills, in order; one of the two shares, while all send if known."""
    known = {column for cell in drawn for _, texts in cell for column in texts}
    known -= {"share"} if "joint" in known else set()
    return [column for column in COLUMNS if column in known]


def lines(cell: CellLine, intervals: bool = True) -> list[Line]:
    """Name and texts of the rows of a cell, by column."""
    flows = [_flow_line(flow, intervals) for flow in cell.flows]
    return flows + [_link_line(link) for link in shown(cell.links)]


def caption(cells: list[CellLine], columns: list[str], *, arrivals: bool = False) -> str:
    """Sentences about the columns shown. `arrivals`: flows arrive at random beside those shown."""
    told = []
    of_flows = [_flow_line(flow, False)[1] for cell in cells for flow in cell.flows]
    of_links = [_link_line(link)[1] for cell in cells for link in shown(cell.links)]
    folded = any(flow.count > 1 for cell in cells for flow in cell.flows)
    flows = "Flows (of several the mean)" if folded else "Flows"
    for what, words, lines_ in (flows, _OF_FLOWS, of_flows), ("Links", _OF_LINKS, of_links):
        filled = {column for row in lines_ for column in row}.intersection(columns)
        parts = [text for column, text in words.items() if column in filled]
        told += [f"{what}: {', '.join(parts)}."] if parts else []
    if arrivals and not {"share", "joint"}.isdisjoint(columns):
        told.append("Shares leave out what flows of arrivals carry.")
    return " ".join(told)


def _flow_line(flow: FlowLine, intervals: bool) -> Line:
    rate = _value(flow.goodput_mbps, intervals)
    if flow.count > 1:
        rate = f"{number(flow.goodput_mbps.mean)} ({'–'.join(map(number, flow.range_mbps))})"
    texts = {
        "rate": rate if flow.algorithm != "ping" else "",
        "share": _together(flow, flow.share),
        "joint": _together(flow, flow.joint_share),
        "rtt": _value(flow.rtt_ms, intervals),
        "lost" if flow.algorithm in NOT_REPEATED else "again": percent(flow.lost),
    }
    return shortened(flow.title), {key: text for key, text in texts.items() if text}


def _together(flow: FlowLine, share: float | None) -> str:
    """Share of a flow; of several, whose goodput is a mean, the sum of their shares."""
    return f"Σ{percent(share)}" if flow.count > 1 and share is not None else percent(share)


def _link_line(link: LinkLine) -> Line:
    texts = {
        "rate": number(link.throughput_mbps),
        "use": percent(link.used),
        "p50": delay_text(link.delay_p50_ms),
        "p95": delay_text(link.delay_p95_ms),
        "marked": percent(link.marked),
        "lost": percent(link.dropped),
        "jain": "" if link.jain is None else number(round(link.jain, 2)),
    }
    name, _, way = link.pipe.rpartition("/")
    return arrow(f"{shortened(name)}/{way}"), {key: text for key, text in texts.items() if text}


def _value(found: Interval, intervals: bool) -> str:
    if math.isnan(found.mean):
        return ""
    return with_interval(found.mean, found.low, found.high) if intervals else number(found.mean)


def to_json(results: Tables, every: list[CellLine]) -> dict[str, Any]:
    """Content of `--json`, shaped as a study's, without claims."""
    loaded = load_summary.rows(results)
    versions = dict(results.runs.select("engine", "engine_version").unique().sort("engine").rows())
    return {
        "study": None,
        "experiment": results.experiment.name,
        "engine": "+".join(versions),
        "versions": versions,
        "claims": [],
        "effects": contrasts(every, results),
        "findings": [asdict(finding) for finding in findings(every)],
        "tables": {
            "flows": rows(results),
            "links": [{**cell.levels, **asdict(link)} for cell in every for link in cell.links],
            **page_summary.to_json(results),
            **({"load": loaded} if loaded else {}),
            **({"programs": told} if (told := program_summary.to_json(results)) else {}),
        },
    }
