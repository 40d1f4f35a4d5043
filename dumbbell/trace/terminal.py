"""View of a trace for the terminal."""

from __future__ import annotations

import math
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dumbbell.console.words import many, noun
from dumbbell.trace import Trace

#: Maximum number of rows of a table; those with most bytes are shown.
SHOWN = 20
_PROBLEMS = 10


def shown(trace: Trace) -> RenderableType:
    """Totals, problems, flows and links."""
    about = trace.about
    seconds = (about["last_ns"] - about["first_ns"]) / 1e9
    totals = (
        f"{about['format']} trace, {count(about['events'])} {noun(about['events'], 'event')} of "
        f"{count(about['lines'])} {noun(about['lines'], 'line')}, {seconds:.6g} s, "
        f"{many(len(about['nodes']), 'node')}, "
        f"{many(len(about['links']), 'direction of a link', 'directions of links')}, "
        f"{many(len(about['flows']), 'flow')}, "
        f"{count(about['dropped_packets'])} {noun(about['dropped_packets'], 'drop')}"
    )
    lines = [Text(trace.name, style="bold"), Text(totals), *map(Text, problems(about))]
    return Group(*lines, _flows(trace), _links(trace, seconds))


def problems(about: dict[str, Any]) -> list[str]:
    """Problems of a trace, one sentence each."""
    told = []
    for one in about["problems"][:_PROBLEMS]:
        more = f" (and {count(one['lines'] - 1)} more such lines)" if one["lines"] > 1 else ""
        told.append(f"line {one['line']}: {one['message']}{more}")
    return told


def count(number: int) -> str:
    """1 234 567."""
    return f"{number:,}".replace(",", "\u202f")


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for place, heading in enumerate(headings):
        if place == 0:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right")
    return table


def _cut(title: str, rows: int) -> str:
    return f"{title}, {SHOWN} largest of {rows}" if rows > SHOWN else title


def _ms(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return "< 0.001" if 0 < value < 1000 else f"{value / 1e6:.4g}"


def _flows(trace: Trace) -> Table:
    rows = sorted(trace.about["streams"], key=lambda row: -row["sent_bytes"])
    headings = ("flow", "sent", "retransmitted", "dropped", "kbit/s", "delay ms", "p99")
    table = _table(_cut("Flows, each direction", len(rows)), *headings)
    for row in rows[:SHOWN]:
        span = (row["last_ns"] or 0) - (row["first_ns"] or 0)
        rate = f"{row['received_bytes'] * 8e6 / span:.4g}" if span > 0 else "–"
        back = "" if row["direction"] == "out" else " (back)"
        delay = row["delay"]
        table.add_row(
            Text(row["flow"] + back),
            count(row["sent_packets"]),
            count(row["retransmitted_packets"]),
            count(row["dropped_packets"]),
            rate,
            _ms(delay.get("mean_ns")),
            _ms(delay.get("p99_ns")),
        )
    return table


def _links(trace: Trace, seconds: float) -> Table:
    pipes = {row["pipe"]: row for row in trace.tables["pipes"].iter_rows(named=True)}
    links = {one["pipe"]: one for one in trace.about["links"]}
    rows = sorted(trace.about["delays"], key=lambda row: -pipes[row["pipe"]]["arrived_bytes"])
    headings = ("link", "packets", "dropped", "kbit/s", "queue max", "wait ms", "p99", "on line")
    table = _table(_cut("Links, each direction", len(rows)), *headings)
    for row in rows[:SHOWN]:
        pipe, link = pipes[row["pipe"]], links[row["pipe"]]
        rate = f"{pipe['left_bytes'] * 8e-3 / seconds:.4g}" if seconds > 0 else "–"
        table.add_row(
            Text(f"{link['from']} → {link['to'] or '?'}"),
            count(pipe["arrived_packets"]),
            count(row["dropped_in_queue"] + row["dropped_on_line"]),
            rate,
            count(pipe["queue_max_packets"]),
            _ms(row["waits"].get("mean_ns")),
            _ms(row["waits"].get("p99_ns")),
            _ms(row["transits"].get("mean_ns")),
        )
    return table
