"""Single runs: every repeat of every cell, with a published run among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.figures.factor import Extras, series_name
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.names import where_said
from dumbbell.figures.series import algorithms_of
from dumbbell.figures.theme import algorithm_style, colour_expression
from dumbbell.metrics import Tables, metric_named
from dumbbell.metrics.statistics import percentiles
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.rows import Where, where_rows

#: Ratio of the ends above which an axis is logarithmic.
_WIDE = 20
#: Pixels of a line of ticks, and of the rest.
_LINE, _FOOT = 26, 30


def runs(
    results: Tables,
    *,
    metric: str,
    by: Sequence[str] | str | None = None,
    where: Where | None = None,
    title: str | None = None,
    extras: Extras | None = None,
) -> Figure:
    """Every repeat as a tick, one line per cell, with median and central 95 %.

    `by`: the factors that name a line (all that vary, if not given). Published values are crosses;
    their `x` and `series` are the first and second of `by`. Raises `ValueError` for unknown names
    and where several values fall on one run.
    """
    measured = metric_named(metric)
    frame = measured.measure(results).filter(pl.col("value").is_not_nan())
    frame = where_rows(frame, where or {})
    if frame.is_empty():
        raise ValueError(unmeasured(measured, results) + where_said(where or {}))
    known = (*results.experiment.factors, "flow", "session", "group", "arrivals", "pipe")
    varying = [c for c in known if c in frame.columns and frame[c].n_unique() > 1]
    named = [by] if isinstance(by, str) else list(by or varying)
    # A factor that goes with those named is not open.
    lines = frame.n_unique(named) if named else 1
    left = [c for c in varying if c not in named and frame.n_unique([*named, c]) > lines]
    if left:
        raise ValueError(f"several values for each run: fix {', '.join(left)} by where")
    levels = frame.select(named).unique(maintain_order=True).rows() if named else [()]
    flows = algorithms_of(frame)
    colours = {_name(level): _colour(level, flows if "flow" in named else {}) for level in levels}
    groups = {
        _name(level): frame.filter(
            *(pl.col(c) == one for c, one in zip(named, level, strict=True))
        )["value"].to_list()
        for level in levels
    }
    published = {
        _name([row["x"], row["series"]][: len(named)]): float(row["value"])
        for row in (extras.published if extras else ())
    }
    heading = title or f"{measured.label}: single runs"
    chart = _chart(groups, published, measured.axis, colours)
    count = max(map(len, groups.values()))
    text = f"{measured.label} of {count} single runs each for {'; '.join(groups)}."
    return Figure(heading, text, as_spec(chart), height=_FOOT + _LINE * len(groups))


def _name(levels: Sequence[str]) -> str:
    return ", ".join(map(series_name, levels)) or "all"


def _ticks(values: Sequence[float]) -> list[dict[str, float]]:
    """Ticks of runs; those at the same place are one tick with their number."""
    found: dict[float, int] = {}
    for value in sorted(values):
        place = float(f"{value:.3g}")
        found[place] = found.get(place, 0) + 1
    return [{"value": value, "runs": count} for value, count in found.items()]


def _colour(levels: Sequence[str], algorithms: Mapping[str, str]) -> int:
    """Colour of the first algorithm that names a line; the first colour if none does."""
    found = (algorithm_style(algorithms.get(level, level)) for level in levels)
    return next((style.colour for style in found if style is not None), 0)


def _chart(
    groups: Mapping[str, list[float]],
    published: Mapping[str, float],
    axis: str,
    colours: Mapping[str, int],
) -> Any:
    """The layers: ranges, ticks of runs, medians, crosses of what was published."""
    ticks: list[dict[str, Any]] = []
    ranges: list[dict[str, Any]] = []
    for name, values in groups.items():
        low, high = percentiles(values)
        middle = float(np.median(values))
        ticks += [{"cell": name, **tick} for tick in _ticks(values)]
        ranges.append(
            {"cell": name, "low": low, "high": high, "median": middle, "runs": len(values)}
        )
    crosses = [{"cell": name, "value": published[name]} for name in groups if name in published]
    everything = [row["value"] for row in (*ticks, *crosses)]
    wide = min(everything) > 0 and max(everything) > _WIDE * min(everything)
    scale = alt.Scale(type="log" if wide else "linear", zero=False, nice=not wide, padding=12)
    shade = alt.Scale(type="sqrt", domain=[1, max(row["runs"] for row in ticks)], range=[0.3, 1])
    order = list(groups)
    y = alt.Y("cell:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    x = alt.X("value:Q", title=axis, scale=scale)
    looks = [colour_expression(colours[name]) for name in order]
    color = alt.Color("cell:N", scale=alt.Scale(domain=order, range=looks), legend=None)
    tip = [
        alt.Tooltip("cell:N", title="runs of"),
        alt.Tooltip("median:Q", title="median", format=",.4~g"),
        alt.Tooltip("low:Q", title="central 95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("runs:Q", title="runs"),
    ]
    bars = alt.Chart(alt.InlineData(values=ranges)).encode(y=y, tooltip=tip, color=color)
    layers = [
        bars.mark_bar(height=13, opacity=0.22).encode(
            x=alt.X("low:Q", title=axis, scale=scale), x2="high:Q"
        ),
        alt.Chart(alt.InlineData(values=ticks))
        .mark_tick(thickness=1.2, size=11)
        .encode(x=x, y=y, color=color, opacity=alt.Opacity("runs:Q", scale=shade, legend=None)),
        bars.mark_tick(thickness=3, size=18).encode(x=alt.X("median:Q", title=axis, scale=scale)),
    ]
    if crosses:
        mark = alt.Chart(alt.InlineData(values=crosses)).mark_point(
            style=["published", "lost"], shape="M-1,-1L1,1M-1,1L1,-1", size=110, opacity=1
        )
        hint = [alt.Tooltip("cell:N", title="published, for"), alt.Tooltip("value:Q", title=axis)]
        layers.append(mark.encode(x=x, y=y, tooltip=hint))
    return alt.layer(*layers)
