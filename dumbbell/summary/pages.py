"""Tables of pages, requests, arrivals and groups of connections, a row per cell."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Group
from rich.table import Table

from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled
from dumbbell.summary.load import text

#: Table → what names a row beside the factors, and column → heading and metric.
TABLES: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "pages": (
        "Pages",
        "session",
        {
            "page_load_s": ("page load\ns", "page_load_s"),
            "object_ms": ("object\nms", "object_time_ms"),
            "ttfb_ms": ("TTFB\nms", "ttfb_ms"),
        },
    ),
    "requests": (
        "Requests",
        "session",
        {
            "requests": ("requests", "request_count"),
            "unfinished": ("unfinished", "request_unfinished"),
            "median_ms": ("median\nms", "request_median_ms"),
            "p95_ms": ("p95\nms", "request_p95_ms"),
            "p99_ms": ("p99\nms", "request_p99_ms"),
            "max_ms": ("longest\nms", "request_max_ms"),
        },
    ),
    "arrivals": (
        "Arrivals",
        "arrivals",
        {
            "flows": ("flows", "fct_count"),
            "fct_ms": ("mean FCT\nms", "fct_mean_ms"),
            "median_ms": ("median FCT\nms", "fct_median_ms"),
            "p99_ms": ("p99 FCT\nms", "fct_p99_ms"),
            "slowdown": ("slowdown", "fct_slowdown"),
        },
    ),
    "groups": (
        "Groups of connections",
        "group",
        {
            "time_s": ("total time\ns", "group_time_s"),
            "completion_s": ("completion\ns", "group_completion_s"),
            "rate_kbps": ("rate\nkbit/s", "group_rate_kbps"),
            "timeouts": ("time-outs", "group_timeouts"),
        },
    ),
}


def heading(name: str) -> str:
    """Heading of the column that names a row of a table."""
    return {"pages": "page", "requests": "client"}.get(name, TABLES[name][1])


def rows(results: Tables, name: str) -> list[dict[str, Any]]:
    """One row per cell and page (or group); none where there are none."""
    _, key, columns = TABLES[name]
    keys = [*results.experiment.factors, key]
    frame: pl.DataFrame | None = None
    for column, (_, metric) in columns.items():
        found = summary(results, METRICS[metric], keys)
        if found.is_empty():
            return []
        ends = [
            pl.col(end).fill_nan(None).alias(column if end == "mean" else f"{column}_{end}")
            for end in ("mean", "low", "high")
        ]
        one = found.select(*keys, *ends)
        frame = one if frame is None else frame.join(one, keys, "left", maintain_order="left")
    return [] if frame is None else frame.to_dicts()


def tables(results: Tables, width: int = WIDTH) -> list[Group]:
    """The rows for a terminal of this width, a table for each kind that there is."""
    found = ((name, rows(results, name)) for name in TABLES)
    return [_table(results, name, every, width) for name, every in found if every]


def _table(results: Tables, name: str, every: list[dict[str, Any]], width: int) -> Group:
    title, key, columns = TABLES[name]
    factors = list(results.experiment.factors)

    def make(intervals: bool) -> Table:
        shown = plain_table()
        left = [*map(shortened, factors), heading(name)]
        add_columns(shown, left, (heading for heading, _ in columns.values()))
        for row in every:
            names = (shortened(row[one]) for one in [*factors, key])
            shown.add_row(*names, *(text(row, column, intervals=intervals) for column in columns))
        return shown

    return titled(title, fitted(make, (True, False), width))


def to_json(results: Tables) -> dict[str, list[dict[str, Any]]]:
    """The tables that there are, by name."""
    found = {name: rows(results, name) for name in TABLES}
    return {name: some for name, some in found.items() if some}
