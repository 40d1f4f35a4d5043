"""Page about a trace: tables, throughput, queues, loss and sequence plots in one HTML file."""

from __future__ import annotations

from typing import Any

import polars as pl

from dumbbell.console.words import left_out, noun
from dumbbell.face.markup import Markup, joined, table, tag
from dumbbell.face.page import chart_page, framed
from dumbbell.figures.figure import Figure
from dumbbell.figures.panels import Point, panels
from dumbbell.figures.thinning import thinned
from dumbbell.trace import Trace
from dumbbell.trace.terminal import count, problems

#: Remarks that are shown.
_MOST_REMARKS = 50

#: Maximum number of lines of a figure; those with most bytes are drawn.
LINES = 8
POINTS = 400
#: Number of intervals for mean rates.
STRETCHES = 120


def page(trace: Trace) -> str:
    """Page of a trace that `read_trace` returned."""
    about = trace.about
    seconds = (about["last_ns"] - about["first_ns"]) / 1e9
    words = (
        f"{about['format']} trace: {count(about['events'])} "
        f"{noun(about['events'], 'event')} in {seconds:.6g} s, "
        f"{count(about['dropped_packets'])} {noun(about['dropped_packets'], 'drop')}."
    )
    parts: list[Markup] = [tag("p", words)]
    told = problems(about)
    if told:
        parts.append(tag("h2", "What could not be read"))
        parts.append(tag("ul", *(tag("li", one) for one in told)))
    if about["remarks"]:
        remarks = about["remarks"]
        rows = [(f"{one['time_ns'] / 1e9:.6g} s", one["text"]) for one in remarks[:_MOST_REMARKS]]
        parts += [tag("h2", "Remarks of the simulator"), table(("time", "remark"), rows, left=2)]
        if more := left_out(len(remarks), _MOST_REMARKS):
            parts.append(tag("p", more, class_="caption"))
    parts += [tag("h2", "Flows"), _flows(about), tag("h2", "Links"), _links(trace)]
    parts.append(tag("h2", "Over time"))
    for place, drawn in enumerate(_figures(trace)):
        chart = framed(drawn, f"trace-{place}")
        parts.append(tag("figure", tag("h3", drawn.title), chart))
    return chart_page(trace.name, joined(parts), "Dumbbell trace")


def _ms(delay: dict[str, Any], name: str) -> str:
    return f"{delay[name] / 1e6:.4g}" if delay.get("count") else "–"


def _flows(about: dict[str, Any]) -> Markup:
    head = ("flow", "direction", "sent", "retransmitted", "dropped", "received", "unique bytes")
    delays = ("delay mean (ms)", "median", "p99", "max")
    rows = [
        (
            row["flow"],
            row["direction"],
            count(row["sent_packets"]),
            count(row["retransmitted_packets"]),
            count(row["dropped_packets"]),
            count(row["received_packets"]),
            count(row["delivered_bytes"]),
            *(_ms(row["delay"], one) for one in ("mean_ns", "p50_ns", "p99_ns", "max_ns")),
        )
        for row in about["streams"]
    ]
    return table((*head, *delays), rows, left=2)


def _links(trace: Trace) -> Markup:
    pipes = {row["pipe"]: row for row in trace.tables["pipes"].iter_rows(named=True)}
    head = ("link", "packets", "arrived", "dropped in queue", "dropped on line", "most waiting")
    delays = ("wait mean (ms)", "p99", "max", "on the line mean (ms)")
    rows = []
    for row in trace.about["delays"]:
        pipe = pipes[row["pipe"]]
        waits = [_ms(row["waits"], one) for one in ("mean_ns", "p99_ns", "max_ns")]
        rows.append(
            (
                row["pipe"],
                count(pipe["arrived_packets"]),
                count(pipe["left_packets"]),
                count(row["dropped_in_queue"]),
                count(row["dropped_on_line"]),
                count(pipe["queue_max_packets"]),
                *waits,
                _ms(row["transits"], "mean_ns"),
            )
        )
    return table((*head, *delays), rows)


def _figures(trace: Trace) -> list[Figure]:
    queues, samples = trace.tables["queues"], trace.tables["samples"]
    pipes = trace.tables["pipes"].sort("arrived_bytes", descending=True)["pipe"].to_list()
    flows = trace.tables["flows"].sort("sent_bytes", descending=True)["flow"].to_list()
    chosen = f" of the {LINES} busiest" if max(len(pipes), len(flows)) > LINES else ""
    rates = _rates(queues, "pipe", "sent_bytes", pipes[:LINES], "Throughput of links (Mbit/s)")
    rates += _rates(
        samples, "flow", "delivered_bytes", flows[:LINES], "Unique bytes of flows (Mbit/s)"
    )
    waiting = [
        one
        for pipe in pipes[:LINES]
        for one in _series(queues, "pipe", pipe, "queued_packets", "Packets waiting", 1.0)
    ]
    lost = [
        one
        for pipe in pipes[:LINES]
        for one in _series(queues, "pipe", pipe, "dropped_packets", "Dropped so far", 1.0)
    ]
    drawn = [
        panels(f"Throughput{chosen}", "Bits per second of links and flows over time.", rates),
        panels(f"Queues{chosen}", "Packets waiting, and dropped so far.", waiting + lost),
    ]
    points = _sequences(trace.about["streams"])
    if points:
        text = "Sequence numbers sent, retransmitted and dropped, over time."
        drawn.append(panels("Sequence numbers", text, points, dots=True))
    return drawn


def _series(
    frame: pl.DataFrame, by: str, name: str, column: str, panel: str, scale: float
) -> list[Point]:
    rows = frame.filter(pl.col(by) == name)
    values = rows[column].to_numpy() * scale
    times = rows["time_ns"].to_numpy() / 1e9
    kept = thinned(values, POINTS)
    return [(panel, name, float(times[one]), float(values[one])) for one in kept]


def _rates(frame: pl.DataFrame, by: str, column: str, names: list[str], panel: str) -> list[Point]:
    points: list[Point] = []
    for name in names:
        of_name = frame.filter(pl.col(by) == name)
        rows = of_name.gather_every(max(1, of_name.height // STRETCHES)).select(
            "time_ns", bps=pl.col(column).diff() * 8e9 / pl.col("time_ns").diff()
        )
        rows = rows.drop_nulls()
        if rows.height:
            mbps = rows["bps"].to_numpy() / 1e6
            times = rows["time_ns"].to_numpy() / 1e9
            points += [
                (panel, name, float(at), float(rate)) for at, rate in zip(times, mbps, strict=True)
            ]
    return points


def _sequences(streams: list[dict[str, Any]]) -> list[Point]:
    points: list[Point] = []
    carrying = [one for one in streams if one["data_packets"] and one["direction"] == "out"]
    carrying.sort(key=lambda one: -one["sent_bytes"])
    for stream in carrying[:LINES]:
        for mark, words in (("sent", "sent"), ("again", "retransmitted"), ("dropped", "dropped")):
            part = stream["sequence"][mark]
            step = max(1, len(part["seq"]) // POINTS)
            points += [
                (stream["flow"], words, at / 1e9, float(seq))
                for at, seq in zip(part["time_ns"][::step], part["seq"][::step], strict=True)
            ]
    return points
