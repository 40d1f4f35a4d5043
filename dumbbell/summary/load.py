"""Table of latency under load, a row per cell, for experiments with probes."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Group
from rich.table import Table

from dumbbell.metrics import METRICS, Metric, Tables
from dumbbell.metrics.numbers import number, with_error
from dumbbell.metrics.statistics import interval
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled

#: The worst call; of a single call nothing.
_WORST = "voice_mos_worst"
#: Column → heading, metric, and which of its flows count; of several the mean, or the worst.
COLUMNS: dict[str, tuple[str, str, str]] = {
    "upload_mbps": ("up\nMbit/s", "upload_mbps", ""),
    "download_mbps": ("down\nMbit/s", "download_mbps", ""),
    "idle_ms": ("idle RTT\nms", "latency_idle_ms", "ping"),
    "loaded_ms": ("RTT under\nload ms", "latency_ms", "ping"),
    "p95_ms": ("RTT p95\nms", "latency_p95_ms", "ping"),
    "lost_share": ("probe\nloss", "probe_loss_ratio", "ping"),
    "rpm": ("RPM", "rpm", ""),
    "voice_mos": ("speech\nMOS", "voice_mos", ""),
    _WORST: ("MOS of the\nworst call", "voice_mos", ""),
}


def rows(results: Tables) -> list[dict[str, Any]]:
    """One row per cell: factors, columns with `_low` and `_high` (95 %); none without probes."""
    if not results.has("probes"):
        return []
    factors = list(results.experiment.factors)
    columns = {
        name: _of_cells(results, METRICS[metric], kind, worst=name == _WORST)
        for name, (_, metric, kind) in COLUMNS.items()
    }
    done: list[dict[str, Any]] = []
    for cell in results.flows.select(factors or "run").unique(maintain_order=True).iter_rows():
        row: dict[str, Any] = dict(zip(factors, cell, strict=False))
        for name, found in columns.items():
            low, mean, high = found.get(cell if factors else (), (None, None, None))
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        done.append(row)
        if not factors:
            break
    return done


Interval = tuple[float | None, float | None, float | None]


def _of_cells(
    results: Tables, metric: Metric, kind: str, *, worst: bool
) -> dict[tuple[object, ...], Interval]:
    """Low, mean and high of a metric by cell: of the mean of its flows, or of the worst of several.

    A larger value is the better one where the worst is asked for.
    """
    factors = list(results.experiment.factors)
    frame = metric.measure(results).filter(pl.col("value").is_not_nan())
    if kind:
        frame = frame.filter(pl.col("kind") == kind)
    runs = frame.group_by([*factors, "repeat"], maintain_order=True)
    of_runs = runs.agg(pl.col("value").mean())
    if worst:
        of_runs = runs.agg(pl.col("value").min(), pl.len().alias("flows"))
        of_runs = of_runs.filter(pl.col("flows") > 1).drop("flows")
    cells: dict[tuple[object, ...], list[float]] = {}
    for *cell, _, value in of_runs.sort("repeat", maintain_order=True).iter_rows():
        cells.setdefault(tuple(cell), []).append(value)
    return {cell: _interval(values) for cell, values in cells.items()}


def _interval(values: list[float]) -> Interval:
    found = interval(values)
    known = found.low == found.low
    return (found.low if known else None, found.mean, found.high if known else None)


def table(results: Tables, width: int = WIDTH) -> Group | None:
    """The rows for a terminal of this width; None without probes."""
    every = rows(results)
    if not every:
        return None
    names = [name for name in COLUMNS if any(row[name] is not None for row in every)]
    factors = list(results.experiment.factors)

    def make(intervals: bool) -> Table:
        shown = plain_table()
        add_columns(shown, map(shortened, factors), (COLUMNS[name][0] for name in names))
        for row in every:
            levels = (shortened(row[factor]) for factor in factors)
            shown.add_row(*levels, *(text(row, name, intervals=intervals) for name in names))
        return shown

    return titled("Under load", fitted(make, (True, False), width))


def text(row: dict[str, Any], name: str, *, intervals: bool = True) -> str:
    """A column of a row, with its interval."""
    mean, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if mean is None:
        return "–"
    if low is None or high is None or high <= low or not intervals:
        return number(mean)
    return with_error(mean, max(high - mean, mean - low))
