"""Mean round-trip time at the tap against a factor (Figures 5.5, 5.9 of study 1)."""

from __future__ import annotations

from typing import Any, Unpack

import polars as pl

from dumbbell.figures.factor import Extras, choose, metric_against_factor
from dumbbell.figures.figure import Figure
from dumbbell.figures.options import LineOptions
from dumbbell.metrics import METRICS, Tables, flow_limits
from dumbbell.rows import Where, where_rows


def rtt(
    results: Tables,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    flow: str | None = None,
    **options: Unpack[LineOptions],
) -> Figure:
    """Mean RTT in ms against a factor, with the RTT without queues as a dashed line."""
    if "extras" not in options:
        shown = choose(results, METRICS["rtt_mean_ms"], x=x, by=by, where=where or {}, flow=flow)
        lines = _base_rtts(results, shown.x, shown.x_levels, dict(where or {}))
        # one value for all levels spans the chart
        lines = lines[:1] if len({line["value"] for line in lines}) == 1 else lines
        options["extras"] = Extras(line=lines, line_label="without queues", zero=True)
    return metric_against_factor(
        results, "rtt_mean_ms", x=x, by=by, where=where, flow=flow, **options
    )


def _base_rtts(results: Tables, x: str, levels: list[str], where: Where) -> list[dict[str, Any]]:
    """The base RTT in ms of the first TCP flow at each level of x."""
    if x not in results.experiment.factors:
        return []
    found = []
    for level in levels:
        known = {name: fixed for name, fixed in where.items() if name in results.runs.columns}
        rows = where_rows(results.runs.filter(pl.col(x) == level), known)
        flows = results.flows.filter((pl.col(x) == level) & (pl.col("kind") == "tcp"))
        if rows.is_empty() or flows.is_empty():
            continue
        try:
            limits = flow_limits(rows["scenario"][0], flows["flow"][0])
        except KeyError:  # a measured run has no network
            continue
        found.append({"x": level, "value": round(limits.base_rtt_s * 1e3, 4)})
    return found
