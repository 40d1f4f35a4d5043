"""A metric against a factor of numbers: a line and its 95 % band for each series."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import Any

import altair as alt

from dumbbell.figures.factor import LEVEL_LABELS, Shown, choose, points_of, sentence, tooltips
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.metrics import Metric, Tables, metric_named
from dumbbell.rows import Where

#: Ratio of the ends from which on an axis may be logarithmic.
_WIDE = 8
#: Levels that the axis names one by one.
_MOST_TICKS = 10


def sweep(
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
    """Means over repeats against a factor of numbers; options as of `metric_against_factor`.

    The axis is logarithmic where the levels are nearer to equal ratios than to equal steps. Raises
    `ValueError` where the levels are words.
    """
    measured = metric_named(metric)
    shown = choose(results, measured, x=x, by=by, where=where or {}, flow=flow, over=over)
    if shown.scale is None:
        raise ValueError(f"{shown.x} has no numbers for an axis: the kind bars draws such factors")
    return sweep_of(shown, measured, title or f"{measured.label} against {shown.x_name}")


def sweep_of(shown: Shown, metric: Metric, title: str) -> Figure:
    """The figure of chosen cells, whose axis has numbers."""
    return Figure(title, _description(shown, metric), as_spec(alt.layer(*_layers(shown, metric))))


def is_geometric(levels: Sequence[float]) -> bool:
    """Returns true if the steps between levels are more alike as ratios than as differences."""
    values = sorted(set(levels))
    if not values or values[0] <= 0 or values[-1] < _WIDE * values[0]:
        return False
    if len(values) == 2:
        return values[-1] > _WIDE**2 * values[0]
    steps = [b - a for a, b in pairwise(values)]
    ratios = [log(b / a) for a, b in pairwise(values)]
    return max(ratios) / min(ratios) < max(steps) / min(steps)


def _x(shown: Shown) -> alt.X:
    if shown.scale is None:
        raise ValueError(f"{shown.x} has no numbers")
    values = sorted(set(shown.scale.values.values()))
    unit = f" ({shown.scale.unit})" if shown.scale.unit else ""
    few: dict[str, Any] = {"values": values} if len(values) <= _MOST_TICKS else {}
    axis = alt.Axis(labelExpr=LEVEL_LABELS, **few)
    kind: Any = "log" if is_geometric(values) else "linear"
    scale = alt.Scale(type=kind, nice=False, zero=False, padding=8)
    return alt.X("x:Q", title=f"{sentence(shown.x_name)}{unit}", axis=axis, scale=scale)


def _layers(shown: Shown, metric: Metric) -> list[alt.Chart]:
    rows = points_of(shown, metric)
    ends = [row[end] for row in rows for end in ("mean", "low", "high") if row[end] is not None]
    scale = alt.Scale(zero=min(ends) < max(ends) / 2, nice=True)
    y = alt.Y("mean:Q", title=metric.axis, scale=scale)
    look = shown.series
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=_x(shown), color=look.color("series:N", solid=True)
    )
    layers = []
    if any(row["low"] is not None for row in rows):
        low = alt.Y("low:Q", title=metric.axis, scale=scale)
        layers.append(base.mark_area(opacity=0.2, line=False).encode(y=low, y2="high:Q"))
    layers.append(base.mark_line(strokeWidth=1.8).encode(y=y, strokeDash=look.dash("series:N")))
    points = base.mark_point(filled=True, size=54, opacity=1)
    shape = look.shape("series:N")
    layers.append(points.encode(y=y, shape=shape, tooltip=tooltips(shown, metric)))
    return layers


def _description(shown: Shown, metric: Metric) -> str:
    names = ", ".join(shown.series.names)
    levels = f"{shown.x_levels[0]} to {shown.x_levels[-1]}"
    band = "" if all(row["count"] < 2 for row in shown.rows) else ", with bands of 95 %"
    return f"{metric.label} against {shown.x_name} from {levels} for {names}{band}."
