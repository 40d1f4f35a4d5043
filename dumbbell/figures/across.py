"""A metric against one factor, a line for each flow at each combination of the other factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dumbbell.figures.factor import Extras, Shown, figure_of, words
from dumbbell.figures.figure import Figure
from dumbbell.figures.series import algorithms_of, series_of
from dumbbell.figures.varied import varied
from dumbbell.levels import scale_of
from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.summary.flow_names import flow_title

_MOST_LINES = 10
_LINE = " line"  # no factor has a blank at its beginning
#: Columns beside factors that tell values apart.
_MEASURED = ("flow", "session", "group", "arrivals")


def across(results: Tables, metric: str, factor: str, *, title: str | None = None) -> Figure:
    """Means over repeats of a metric against a factor. Raises `ValueError` as `cells_across`."""
    shown, heading = cells_across(results, metric, factor)
    return figure_of(shown, METRICS[metric], title=title or heading, extra=Extras(zero=True))


def cells_across(results: Tables, metric: str, factor: str) -> tuple[Shown, str]:
    """Cells of a figure of a metric against a factor, and a title.

    Where there would be more than 10 lines, the other factors are fixed at their first levels, one
    after the other; the title says so. Raises `ValueError` where nothing was measured, or even then
    there are more lines.
    """
    measured = METRICS[metric]
    if "flow" in measured.of:
        results = without_arrivals(results)
    factors = list(results.experiment.factors)
    frame = summary(results, measured, [*factors, *measured.of]).filter(pl.col("count") > 0)
    if "kind" in frame.columns:  # a connection has the name of its subflows
        frame = frame.filter(pl.col("kind") != "subflow")
    if frame.is_empty():
        raise ValueError(unmeasured(measured, results))
    others = [one for one in factors if one != factor and frame[one].n_unique() > 1]
    fixed: list[str] = []
    frame = _labelled(results, frame, factor, others)
    while frame[_LINE].n_unique() > _MOST_LINES and others:
        name = others.pop(0)
        level = next(one for one in results.experiment.factors[name] if one in frame[name])
        frame = frame.filter(pl.col(name) == level)
        frame = _labelled(results, frame, factor, others)
        fixed.append(f"{words(name)} {level}")
    lines = frame[_LINE].unique(maintain_order=True).to_list()
    if len(lines) > _MOST_LINES:
        raise ValueError(f"{len(lines)} lines in one figure")
    levels = [one for one in results.experiment.factors[factor] if one in frame[factor]]
    scale = scale_of(levels)
    name = varied(results, factor, scale) or words(factor)
    by = _LINE if len(lines) > 1 else None
    kinds = algorithms_of(frame.with_columns(pl.col(_LINE).alias("flow")))
    look = series_of(lines if by else [measured.label], kinds)
    shown = Shown(factor, by, frame.to_dicts(), levels, lines, scale, name, look)
    return shown, ", ".join([f"{measured.label} against {name}", *fixed])


def _labelled(results: Tables, frame: pl.DataFrame, factor: str, others: list[str]) -> pl.DataFrame:
    """With `_LINE`: what is measured, and the levels of the other factors."""
    named = results.flows.unique("flow") if "flow" in frame.columns else results.flows.clear()
    flows = {row["flow"]: row for row in named.iter_rows(named=True)}
    several = any(frame[name].n_unique() > 1 for name in _MEASURED if name in frame.columns)
    varies: set[str] = set()
    if "congestion_control" in frame.columns:
        kinds = frame.group_by(["flow", *others]).agg(pl.col("congestion_control").n_unique())
        varies = set(kinds.filter(pl.col("congestion_control") > 1)["flow"])
    texts = []
    for row in frame.iter_rows(named=True):
        parts = [_title(row, flows, varies)] if several or not others else []
        texts.append(", ".join(filter(None, [*parts, *(row[name] for name in others)])))
    return frame.with_columns(pl.Series(_LINE, texts, dtype=pl.String))


def _title(row: Mapping[str, Any], flows: Mapping[str, Any], varies: set[str]) -> str:
    """What a row measures; a flow without its algorithm where that is what varies."""
    name = next((str(row[column]) for column in _MEASURED if row.get(column)), "")
    known = flows.get(name) if "flow" in row else None
    if known is None:
        return name
    if name in varies:
        return f"{known['from_host']}→{known['to_host']}"
    return flow_title({**known, "congestion_control": row.get("congestion_control")})
