"""Tables of pages, arrivals and groups of connections, a row per cell."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.metrics import METRICS, Tables, summary
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


def tables(results: Tables) -> list[Table]:
    """The rows for a terminal, a table for each kind that there is."""
    shown = []
    for name, (title, key, columns) in TABLES.items():
        every = rows(results, name)
        if not every:
            continue
        table = Table(title=title, title_justify="left")
        for column in [*results.experiment.factors, "page" if key == "session" else key]:
            table.add_column(column)
        for heading, _ in columns.values():
            table.add_column(heading, justify="right", no_wrap=True)
        for row in every:
            levels = (row[factor] for factor in results.experiment.factors)
            table.add_row(*levels, row[key], *(text(row, column) for column in columns))
        shown.append(table)
    return shown


def to_json(results: Tables) -> dict[str, list[dict[str, Any]]]:
    """The tables that there are, by name."""
    found = {name: rows(results, name) for name in TABLES}
    return {name: some for name, some in found.items() if some}
