"""Table of flows: means and intervals over repeats, a row per cell and flow."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from rich.table import Table

from dumbbell.metrics import METRICS, summary
from dumbbell.metrics.arrivals import processes
from dumbbell.metrics.numbers import number, with_error
from dumbbell.results import Results
from dumbbell.summary import load as load_summary
from dumbbell.summary import pages as page_summary

QUANTITIES: dict[str, tuple[str, ...]] = {
    "goodput_mbps": ("goodput_mbps",),
    "rtt_ms": ("rtt_mean_ms", "srtt_mean_ms", "ping_rtt_ms"),
    "retransmissions": ("retransmissions",),
}
"""Column → metrics; the first that applies to a flow counts. The RTT is the mean at the tap, else
the sender's smoothed one, else that of ping."""

_HEADINGS = {
    "goodput_mbps": "goodput\nMbit/s",
    "rtt_ms": "RTT\nms",
    "retransmissions": "retrans-\nmissions",
}
_MAX_ROWS = 200
_ENDS = ("mean", "low", "high")


def rows(results: Results) -> list[dict[str, Any]]:
    """One row per cell and flow: factors, flow, each quantity with `_low` and `_high` (95 %)."""
    keys = [*results.experiment.factors, "flow"]
    results = _without_arrivals(results)
    frame = results.flows.select([*keys, "kind", "congestion_control"]).unique(
        subset=keys, maintain_order=True
    )
    for column, metrics in QUANTITIES.items():
        found = [summary(results, METRICS[name]) for name in metrics]
        for place, one in enumerate(found):
            renamed = {end: f"{end}_{place}" for end in _ENDS}
            part = one.select([*keys, *_ENDS]).rename(renamed)
            frame = frame.join(part, on=keys, how="left", maintain_order="left")
        applies = [pl.col(f"mean_{place}").is_not_nan() for place in range(len(found))]
        for end in _ENDS:
            chosen: pl.Expr = pl.lit(None, dtype=pl.Float64)
            for place in reversed(range(len(found))):
                value = pl.col(f"{end}_{place}").fill_nan(None)
                chosen = pl.when(applies[place]).then(value).otherwise(chosen)
            frame = frame.with_columns(chosen.alias(column if end == "mean" else f"{column}_{end}"))
        spent = [f"{end}_{place}" for end in _ENDS for place in range(len(found))]
        frame = frame.drop(spent)
    return frame.to_dicts()


def _without_arrivals(results: Results) -> Results:
    """Without the flows of arrivals, of which there may be thousands: they have a table."""
    names = processes(results)
    if not names:
        return results
    process = pl.col("flow").str.replace(r"\.\d+$", "")
    arrived = pl.col("flow").str.contains(r"\.\d+$") & process.is_in(names)
    return results.with_tables(flows=results.flows.filter(~arrived))


def table(results: Results) -> Table:
    """The rows for a terminal."""
    factors = list(results.experiment.factors)
    repeats = results.experiment.repeats
    count = f"{repeats} repeats, mean ± half the 95 % interval" if repeats > 1 else "1 repeat"
    shown = Table(title=f"{results.experiment.name} ({count})", title_justify="left")
    for name in [*factors, "flow", "kind"]:
        shown.add_column(name)
    for column in QUANTITIES:
        shown.add_column(_HEADINGS[column], justify="right", no_wrap=True)
    every = rows(results)
    if len(every) > _MAX_ROWS:
        shown.caption = f"{len(every) - _MAX_ROWS} more rows: see --json"
    for row in every[:_MAX_ROWS]:
        kind = row["congestion_control"] or row["kind"]
        cells = [*(row[name] for name in factors), row["flow"], kind]
        shown.add_row(*cells, *(_with_interval(row, column) for column in QUANTITIES))
    return shown


def _with_interval(row: dict[str, Any], column: str) -> str:
    mean, low, high = (row[column + end] for end in ("", "_low", "_high"))
    if mean is None or math.isnan(mean):
        return "–"
    if low is None or high is None or high <= low:
        return number(mean)
    return with_error(mean, max(high - mean, mean - low))


def to_json(results: Results) -> dict[str, Any]:
    """Content of `--json`, shaped as a study's, without claims."""
    loaded = load_summary.rows(results)
    versions = dict(results.runs.select("engine", "engine_version").unique().sort("engine").rows())
    return {
        "study": None,
        "experiment": results.experiment.name,
        "engine": "+".join(versions),
        "versions": versions,
        "claims": [],
        "tables": {
            "flows": rows(results),
            **page_summary.to_json(results),
            **({"load": loaded} if loaded else {}),
        },
    }
