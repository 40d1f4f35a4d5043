"""A metric for factors of words: grouped bars with 95 % intervals."""

from __future__ import annotations

from dataclasses import replace

import altair as alt

from dumbbell.figures.factor import (
    Shown,
    choose,
    points_of,
    sentence,
    series_name,
    tooltips,
)
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of
from dumbbell.figures.theme import algorithm_style, label_angle
from dumbbell.metrics import Metric, Tables, metric_named
from dumbbell.rows import Where

#: Gap between groups, as a share of a group.
_GAP = 0.25


def bars(
    results: Tables,
    *,
    metric: str = "goodput_mbps",
    x: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    flow: str | None = None,
    over: str | None = None,
    title: str | None = None,
) -> Figure:
    """Means over repeats as bars: a group per level of `x`, a bar in it per level of `by`.

    `x` is by default the first factor of words that varies. Without `by`, bars of algorithms have
    the colours of these. Other options as of `metric_against_factor`.
    """
    measured = metric_named(metric)
    chosen = where or {}
    shown = choose(results, measured, x=x, by=by, where=chosen, flow=flow, over=over, numeric=False)
    return bars_of(shown, measured, title or f"{measured.label} by {shown.x_name}")


def bars_of(shown: Shown, metric: Metric, title: str) -> Figure:
    """The figure of chosen cells."""
    shown = replace(shown, scale=None)
    if shown.by is None and any(algorithm_style(level) for level in shown.x_levels):
        shown = replace(shown, by=shown.x, series=series_of(shown.x_levels))
    return Figure(title, _description(shown, metric), as_spec(_chart(shown, metric)))


def _chart(shown: Shown, metric: Metric) -> alt.LayerChart | alt.FacetChart:
    rows = [{**row, "x": series_name(str(row["x"]))} for row in points_of(shown, metric)]
    groups = [series_name(level) for level in shown.x_levels]
    title = sentence(shown.x_name)
    axis = alt.Axis(labelAngle=label_angle(groups), labelOverlap=False)
    x = alt.X("x:N", sort=groups, title=title, axis=axis, scale=alt.Scale(padding=_GAP))
    grouped = shown.by not in (None, shown.x)
    look = shown.series
    color = look.color("series:N", legend=grouped)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, tooltip=tooltips(shown, metric))
    if grouped:
        base = base.encode(xOffset=alt.XOffset("series:N", sort=look.names))
    scale = alt.Scale(zero=True, nice=True)
    y = alt.Y("mean:Q", title=metric.axis, scale=scale)
    layers = [
        base.mark_bar().encode(y=y, color=color, opacity=look.opacity("series:N", legend=grouped))
    ]
    if any(row["low"] is not None for row in rows):
        low = alt.Y("low:Q", title=metric.axis, scale=scale)
        layers.append(base.mark_rule(style="interval").encode(y=low, y2="high:Q"))
    return alt.layer(*layers)


def _description(shown: Shown, metric: Metric) -> str:
    values = [row["mean"] for row in shown.rows]
    groups = ", ".join(map(series_name, shown.x_levels))
    ends = f"from {min(values):.4g} to {max(values):.4g} {metric.unit}".strip()
    return f"{metric.label} for {groups}, {ends}."
