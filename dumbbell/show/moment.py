"""State of a run at a moment: a table of its flows, and one of its queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError, did_you_mean, shortened
from dumbbell.show.chosen import Chosen
from dumbbell.units import TIME, QuantityError, whole

#: Maximum number of rows of a table; most and fewest columns of a name.
_ROWS, _NAME, _LEAST = 50, 40, 8
_WIDEST = 1000
#: Slow-start threshold of a flow before its first loss (Linux's `TCP_INFINITE_SSTHRESH`).
_INFINITE_SSTHRESH = 0x7FFF_FFFF

_Row = Mapping[str, Any]
#: Heading of a column, and its text for a row.
_Column = tuple[str, Callable[[_Row], str]]


def _number(column: str, per: float = 1, places: int = 0) -> Callable[[_Row], str]:
    """Text of a number in units of `per`; `–` if it is unknown: negative, or NaN."""

    def text(row: _Row) -> str:
        value = row[column]
        return f"{value / per:.{places}f}" if value >= 0 else "–"

    return text


def _ssthresh(row: _Row) -> str:
    value = row["ssthresh_packets"]
    return "none" if value == _INFINITE_SSTHRESH else str(value) if value >= 0 else "–"


def _discipline(row: _Row) -> str:
    state = {0: "", 1: ", dropping"}.get(row["dropping"], "")
    if row["drop_probability"] >= 0:
        state = f", drops {100 * row['drop_probability']:.2g} %"
    return f"{shortened(row['qdisc'], _NAME) or '–'}{state}"


_FLOWS: Sequence[_Column] = (
    ("state", lambda row: shortened(row["state"], _NAME) or "–"),
    ("window\npackets", _number("cwnd_packets")),
    ("ssthresh\npackets", _ssthresh),
    ("in flight\npackets", _number("in_flight_packets")),
    ("RTT\nms", _number("srtt_ns", 1e6, 2)),
    ("delivery rate\nMbit/s", _number("delivery_rate_bps", 1e6, 3)),
    ("retrans-\nmissions", _number("retransmitted_packets")),
)
_QUEUES: Sequence[_Column] = (
    ("discipline", _discipline),
    ("queued\npackets", _number("queued_packets")),
    ("queued\nkB", _number("queued_bytes", 1e3, 1)),
    ("mean time\nin it, ms", _number("sojourn_mean_ns", 1e6, 2)),
    ("dropped\nso far", _number("dropped_packets")),
    ("marked\nso far", _number("marked_packets")),
)


def tables(chosen: Chosen, at: str, out: Console) -> list[Table]:
    """Tables of the last samples up to a time, of flows and of queues.

    Raises:
        DumbbellError: The time is malformed, before the first sample, or after the end.
    """
    at_ns = _time(at, chosen.scenario["duration_ns"])
    windows = chosen.samples.filter(pl.col("cwnd_packets") >= 0)  # UDP and ping have none
    kept = [("flow", windows, _FLOWS), ("pipe", chosen.queues, _QUEUES)]
    found = [
        _fitting(name, rows, columns, at_ns, out)
        for name, rows, columns in kept
        if not rows.filter(pl.col("time_ns") <= at_ns).is_empty()
    ]
    if not found:
        first = [min(rows["time_ns"].to_list()) for _, rows, _ in kept if rows.height]
        why = f"before the first sample, at {_words(min(first))}" if first else "no windows here"
        raise DumbbellError(f"--at {shortened(at)}: {why}", code=Code.MOMENT)
    return found


def _time(text: str, end_ns: int) -> int:
    """Value of `--at` in ns."""
    try:
        at_ns = whole(text, TIME)
    except QuantityError as error:
        hint = did_you_mean(error.nearest)
        raise DumbbellError(
            f"--at {shortened(text)}: {error.message}{hint}", code=error.code
        ) from None
    if at_ns > end_ns:
        raise DumbbellError(
            f"--at {shortened(text)}: after the run's end, {_words(end_ns)}", code=Code.MOMENT
        )
    return at_ns


def _fitting(
    name: str, rows: pl.DataFrame, columns: Sequence[_Column], at_ns: int, out: Console
) -> Table:
    """Table with as many of the columns, from the first, as a narrow terminal shows."""
    wide = out.options.update(width=_WIDEST)  # a measured width is at most that of its options
    for count in range(len(columns), 1, -1):
        table = _table(name, rows, columns[:count], at_ns)
        if out.measure(table, options=wide).minimum <= out.width:
            break
    return table


def _table(name: str, rows: pl.DataFrame, columns: Sequence[_Column], at_ns: int) -> Table:
    """Table with a row per flow or queue."""
    names = rows[name].unique(maintain_order=True).to_list()
    past = rows.filter(pl.col("time_ns") <= at_ns).sort("time_ns", maintain_order=True)
    last = {row[name]: row for row in past.unique(name, keep="last").iter_rows(named=True)}
    present = [one for one in names if one in last]
    title = f"Last samples, at {_words(max(row['time_ns'] for row in last.values()))}"
    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    table.add_column({"pipe": "queue"}.get(name, name), overflow="fold", min_width=_LEAST)
    (heading, _), *numbers = columns
    table.add_column(heading, overflow="fold", min_width=_LEAST)
    for heading, _ in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for one in present[:_ROWS]:
        cells = (text(last[one]) for _, text in columns)
        table.add_row(Text(shortened(one, _NAME)), *cells)
    left = [f"{len(present) - _ROWS} more"] if len(present) > _ROWS else []
    left += [f"{len(names) - len(present)} not begun"] if len(present) < len(names) else []
    table.caption = ", ".join(left) or None
    return table


def _words(time_ns: int) -> str:
    """Time in seconds, or in the unit that fits a short one."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time_ns >= size:
            return f"{time_ns / size:.6g} {unit}"
    return f"{time_ns} ns"
