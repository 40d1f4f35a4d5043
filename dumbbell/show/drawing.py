"""Drawings of a run: congestion windows, and queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from rich.text import Text

from dumbbell.console.words import many
from dumbbell.errors import shortened
from dumbbell.metrics.numbers import number
from dumbbell.metrics.queues import queue_lengths
from dumbbell.show.chart import Line, Terminal, by_signs, chart
from dumbbell.show.chosen import KEEPS, Chosen

#: Maximum numbers of flows and of queues that are drawn, and of names of the others.
_FLOWS, _QUEUES, _NAMES = 6, 3, 12
_WINDOW_ROWS, _QUEUE_ROWS = 15, 9
_SIGNS = "*+ox#@"
_STYLES = ("cyan", "yellow", "magenta", "green", "bright_blue", "red")
#: Metrics of a window in its legend, and their words.
_WINDOW = {"cwnd_mean_packets": "mean {:.0f}", "cwnd_max_packets": "at most {:.0f}"}
#: Columns of a name in messages.
_NAME = 40
#: Points of a line for each column of the terminal; more are thinned.
_POINTS_PER_COLUMN = 8


def drawing(chosen: Chosen, terminal: Terminal) -> Iterator[Text]:
    """Lines of all drawings of a run."""
    yield Text()
    yield from windows(chosen, terminal)
    yield Text()
    yield from _queues(chosen, terminal)


def windows(chosen: Chosen, terminal: Terminal, rows: int = _WINDOW_ROWS) -> Iterator[Text]:
    """Lines of the drawing of congestion windows."""
    if chosen.samples.is_empty():
        yield Text(f"No windows over time are kept; the file's field {KEEPS} keeps them")
        return
    known = chosen.samples.filter(pl.col("cwnd_packets") >= 0)  # UDP and ping have no window
    names = known["flow"].unique(maintain_order=True).to_list()
    if not names:
        yield Text("No flow with a congestion window")
        return
    yield Text("Congestion windows (packets)")
    drawn = [known.filter(pl.col("flow") == name) for name in names[:_FLOWS]]
    lines = [
        Line(_outline(own, "cwnd_packets", terminal), sign, style)
        for own, sign, style in zip(drawn, _SIGNS, _STYLES, strict=False)
    ]
    yield from chart(lines, _end(chosen), rows, terminal)
    for name, line in zip(names, lines, strict=False):
        measured = chosen.measured.get(name, {})
        yield _legend(chosen.titles.get(name, name), measured, line, terminal, len(lines))
    yield from _others("flow", names[_FLOWS:])


def _legend(
    name: str, measured: Mapping[str, float], line: Line, terminal: Terminal, lines: int
) -> Text:
    """Line about a flow, with its sign or colour."""
    key = line.sign if by_signs(terminal, lines) else "━━"
    windows = [
        words.format(measured[metric]) for metric, words in _WINDOW.items() if metric in measured
    ]
    parts = [", ".join(windows)] if windows else []
    if (again := measured.get("retransmissions")) is not None:
        parts.append(many(round(again), "retransmission"))
    if (warm_up_s := measured.get("warm_up_s")) is not None:
        parts.append(f"warm-up {warm_up_s:.2g} s")
    words = f": {'; '.join(parts)}" if parts else ""
    return Text.assemble(
        "  ", (key, line.style if terminal.colour else ""), f" {shortened(name, _NAME)}{words}"
    )


def _queues(chosen: Chosen, terminal: Terminal) -> Iterator[Text]:
    if chosen.queues.is_empty():
        yield Text(f"No queues over time are kept; the file's field {KEEPS} keeps them")
        return
    ranked = queue_lengths(chosen.queues)
    waiting = ranked.filter(pl.col("most") > 0)["pipe"].to_list()
    if not waiting:
        yield Text("All queues are empty at the sampled times")
    for name in waiting[:_QUEUES]:
        rows = chosen.queues.filter(pl.col("pipe") == name).sort("time_ns")
        yield Text(_about_queue(name, rows, chosen.pipes))
        line = Line(_outline(rows, "queued_packets", terminal), _SIGNS[0], _STYLES[0])
        yield from chart([line], _end(chosen), _QUEUE_ROWS, terminal)
    yield from _others("queue", waiting[_QUEUES:])
    empty = ranked.height - len(waiting)
    if waiting and empty:
        yield Text(f"{_count(empty, 'queue')} always empty at the sampled times")


def _about_queue(name: str, rows: pl.DataFrame, pipes: pl.DataFrame) -> str:
    """Heading of the drawing of a queue."""
    last = rows.row(-1, named=True)
    parts = [f"Queue of {shortened(name, _NAME)} (packets)", shortened(last["qdisc"], _NAME)]
    if last["dropped_packets"] >= 0:
        parts.append(f"{last['dropped_packets']} dropped")
    for pipe in pipes.filter(pl.col("pipe") == name).iter_rows(named=True):
        if pipe["sojourn_max_ns"] >= 0:
            mean, most = pipe["sojourn_mean_ns"] / 1e6, pipe["sojourn_max_ns"] / 1e6
            parts.append(f"waiting time {number(mean)} ms, at most {number(most)} ms")
    return ", ".join(filter(None, parts))


def _others(what: str, names: Sequence[str]) -> Iterator[Text]:
    """Line with the names of what is not drawn."""
    if names:
        shown = ", ".join(shortened(name, _NAME) for name in names[:_NAMES])
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        yield Text(f"Not drawn, {many(len(names), what)}: {shown}{more}")


def _count(number: int, word: str) -> str:
    return f"{number} {word} is" if number == 1 else f"{number} {word}s are"


def _end(chosen: Chosen) -> int:
    return chosen.scenario["duration_ns"]


def _outline(rows: pl.DataFrame, column: str, terminal: Terminal) -> list[tuple[int, float]]:
    """Points of a series; of a long one the extremes of each stretch, which look the same."""
    points = rows.filter(pl.col(column) >= 0).select("time_ns", column).sort("time_ns")
    stretch = points.height // (terminal.width * _POINTS_PER_COLUMN) + 1
    if stretch == 1:
        return list(points.iter_rows())
    value = pl.col(column)
    extremes = (
        points.with_row_index("number")
        .group_by(pl.col("number") // stretch, maintain_order=True)
        .agg(pl.col("time_ns").first(), value.min().alias("least"), value.max().alias("most"))
    )
    found = extremes.select("time_ns", "least", "most").iter_rows()
    return [(at, one) for at, least, most in found for one in (least, most)]
