"""Packets of a run in a stretch of time: at taps, on links, or dropped."""

from __future__ import annotations

from typing import Any

import polars as pl

from dumbbell.errors import DumbbellError
from dumbbell.explore.sources import Source, planned_of

#: Columns of each table, the time first.
_COLUMNS = {
    "packets": (
        "time_ns", "tap", "flow", "direction", "packet_number", "frame_bytes", "seq_bytes",
        "payload_bytes", "ack_bytes", "sack_ranges_bytes", "tcp_flags", "window_bytes",
    ),
    "hops": (
        "offered_ns", "pipe", "flow", "direction", "packet_number", "kind", "frame_bytes",
        "seq_bytes", "payload_bytes", "ack_bytes", "dropped", "cause",
    ),
    "drops": ("time_ns", "pipe", "reason", "flow", "seq_bytes"),
}  # fmt: skip
#: Rows of an answer, at most.
MOST_PACKETS = 2000


def packet_rows(
    source: Source, run: str, table: str, window: tuple[float, float]
) -> dict[str, Any]:
    """Rows of a table of packets within a stretch of time (s), the earliest first.

    Raises `DumbbellError` for an unknown table or run, `StoreError` if its files are damaged.
    """
    planned_of(source, run)
    if table not in _COLUMNS:
        raise DumbbellError(f"packets are in {', '.join(_COLUMNS)}")
    results = source.of_run(run)
    if not results.has(table):
        raise DumbbellError(f"{table} were not kept of this run")
    whole: pl.DataFrame = getattr(results, table)
    columns = [name for name in _COLUMNS[table] if name in whole.columns]
    first, last = (int(time * 1e9) for time in window)
    time = pl.col(columns[0])
    found = whole.select(columns).filter(time.is_between(first, last)).sort(columns[0])
    rows = [[row[0] / 1e9, *row[1:]] for row in found.head(MOST_PACKETS).iter_rows()]
    return {"columns": ["time (s)", *columns[1:]], "rows": rows, "total": found.height}
