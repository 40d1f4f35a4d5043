"""Table of latency under load, a row per cell, for experiments with probes."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from rich.console import Group
from rich.table import Table

from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.cells import CellValues, Levels, Values
from dumbbell.metrics.numbers import number, with_interval
from dumbbell.summary.fit import WIDTH, add_columns, fitted, plain_table, shortened, titled

#: The worst call; of a single call nothing.
_WORST = "voice_mos_worst"
#: The column that is a share, shown in percent.
_SHARE = "lost_share"
#: Column → heading, metric, and which of its flows count; of several the mean, or the worst.
COLUMNS: dict[str, tuple[str, str, str]] = {
    "upload_mbps": ("up\nMbit/s", "upload_mbps", ""),
    "download_mbps": ("down\nMbit/s", "download_mbps", ""),
    "idle_ms": ("idle RTT\nms", "latency_idle_ms", "ping"),
    "loaded_ms": ("RTT under\nload ms", "latency_ms", "ping"),
    "p95_ms": ("RTT p95\nms", "latency_p95_ms", "ping"),
    _SHARE: ("probe\nloss %", "probe_loss_ratio", "ping"),
    "rpm": ("RPM", "rpm", ""),
    "voice_mos": ("speech\nMOS", "voice_mos", ""),
    _WORST: ("MOS of the\nworst call", "voice_mos", ""),
}


def rows(results: Tables) -> list[dict[str, Any]]:
    """One row per cell: factors, columns with `_low` and `_high` (95 %); none without probes."""
    if not results.has("probes"):
        return []
    factors = list(results.experiment.factors)
    metrics = {metric for _, metric, _ in COLUMNS.values()}
    values = CellValues(results, [METRICS[name] for name in metrics])
    flows: dict[Levels, dict[str, list[str]]] = {}
    for *levels, flow, kind in (
        results.flows.select(*factors, "flow", "kind").unique(maintain_order=True).iter_rows()
    ):
        flows.setdefault(tuple(levels), {}).setdefault(kind, []).append(flow)
    done: list[dict[str, Any]] = []
    for cell, own in flows.items():
        row: dict[str, Any] = dict(zip(factors, cell, strict=True))
        for name, (_, metric, kind) in COLUMNS.items():
            found = values.of(metric, cell)
            low, mean, high = _interval(found, own.get(kind, []) if kind else None, name == _WORST)
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        done.append(row)
    return done


def _interval(
    values: Values, flows: Collection[str] | None, worst: bool
) -> tuple[float | None, float | None, float | None]:
    """Low, mean and high of the mean of some flows (None: all), or of the worst of several."""
    if worst and len(values.names()) < 2:
        return None, None, None
    # A larger value is the better one where the worst is asked for.
    found = values.interval(flows, "min" if worst else "mean")
    low, mean, high = (
        None if math.isnan(one) else one for one in (found.low, found.mean, found.high)
    )
    return low, mean, high


def table(results: Tables, width: int = WIDTH) -> Group | None:
    """The rows for a terminal of this width; None if nothing is known of probes."""
    every = rows(results)
    if not every:
        return None
    names = [name for name in COLUMNS if any(row[name] is not None for row in every)]
    if not names:
        return None
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
    mean, low, high = (_shown(row[name + end], name) for end in ("", "_low", "_high"))
    return with_interval(mean, low, high) if intervals else number(mean)


def _shown(value: float | None, name: str) -> float | None:
    """A share in percent, as its heading says."""
    return 100 * value if value is not None and name == _SHARE else value
