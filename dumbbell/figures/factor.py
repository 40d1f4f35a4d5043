"""A metric against a factor: means with intervals, and published values beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.names import no_factor, where_said
from dumbbell.figures.series import Series, algorithms_of, series_of
from dumbbell.figures.theme import NAMES, label_angle
from dumbbell.figures.varied import varied
from dumbbell.levels import Scale, scale_of
from dumbbell.metrics import Metric, Tables, metric_named, summary
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.rows import Where, where_rows

#: Labels of levels: a log scale's own format leaves out those between powers of ten.
LEVEL_LABELS = "format(datum.value, ',.6~g')"


@dataclass(frozen=True)
class Extras:
    """Further contents of a chart.

    `published`: rows with `x` (level), `series` (level) and `value`. `line`: rows with `x` and
    `value`, drawn dashed with `line_label`; with one row it spans the chart.
    """

    published: Sequence[Mapping[str, Any]] = ()
    line: Sequence[Mapping[str, Any]] = ()
    line_label: str = ""
    zero: bool = False


@dataclass(frozen=True)
class Shown:
    """Cells chosen for a chart: which column is x, which tells series apart, and the rows."""

    x: str
    by: str | None
    rows: list[dict[str, Any]] = field(repr=False)
    x_levels: list[str]
    by_levels: list[str]
    scale: Scale | None
    #: What x varies, in words.
    x_name: str
    series: Series


def metric_against_factor(
    results: Tables,
    metric: str,
    *,
    x: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    flow: str | None = None,
    over: str | None = None,
    title: str | None = None,
    extras: Extras | None = None,
) -> Figure:
    """Means over repeats of a metric with 95 % intervals, against a factor.

    `x`: the factor on the axis (by default the first whose levels are numbers); `by`: the factor
    or column that makes series (by default the other one that varies). `where` fixes the levels of
    the remaining factors, a list chooses some; the levels of a factor `over` are averaged within
    each repeat. Raises `ValueError` where that leaves several values for a point.
    """
    measured = metric_named(metric)
    shown = choose(results, measured, x=x, by=by, where=where or {}, flow=flow, over=over)
    return figure_of(shown, measured, title=title, extra=extras or Extras())


def figure_of(shown: Shown, metric: Metric, *, title: str | None, extra: Extras) -> Figure:
    """The figure of chosen cells."""
    layers = [*_measured(shown, metric, extra), *_published(shown, metric, extra)]
    layers += _lines(shown, metric, extra)
    heading = title or f"{metric.label} against {shown.x_name}"
    return Figure(heading, _description(shown, metric), as_spec(alt.layer(*layers)))


def choose(
    results: Tables,
    metric: Metric,
    *,
    x: str | None,
    by: str | None,
    where: Where,
    flow: str | None,
    over: str | None = None,
    numeric: bool = True,
) -> Shown:
    """The cells of a chart.

    `numeric`: on the axis is by default a factor of numbers, else one of words. Raises `ValueError`
    for unknown names and open factors.
    """
    cell = [*results.experiment.factors, *metric.of]
    if over is not None and over not in cell:
        raise no_factor(over, cell)
    frame = summary(results, metric, [c for c in cell if c != over]).filter(pl.col("count") > 0)
    chosen = dict(where) | ({"flow": flow} if flow is not None else {})
    if over in chosen:
        raise ValueError(f"over means all of {over}, and one of it is chosen, too")
    frame = where_rows(frame, chosen)
    if frame.is_empty():
        raise ValueError(unmeasured(metric, results) + where_said(chosen))
    named = (*results.experiment.factors, "flow", "session", "group", "arrivals", "pipe")
    columns = [c for c in named if c in frame.columns]
    varying = [c for c in columns if frame[c].n_unique() > 1]
    levels = {c: _in_order(results, frame, c) for c in columns}
    if x is None:
        first = [c for c in varying if c != by and (scale_of(levels[c]) is None) != numeric]
        x = next(iter([*first, *(c for c in varying if c != by), *columns]), "flow")
    if by is None:
        by = next((c for c in varying if c != x), None)
    for name in filter(None, (x, by)):
        if name not in frame.columns:
            raise no_factor(name, columns)
    fixed = [c for c in dict.fromkeys((x, by)) if c]
    # A factor that goes with those shown is not open.
    open_factors = [
        c for c in varying if c not in fixed and frame.n_unique([*fixed, c]) > frame.n_unique(fixed)
    ]
    if open_factors:
        raise ValueError(f"several values for each point: fix {', '.join(open_factors)} by where=")
    order = levels[x] if x in levels else _in_order(results, frame, x)
    series = _in_order(results, frame, by) if by else [metric.label]
    scale = scale_of(order)
    name = varied(results, x, scale) or words(x)
    look = series_of(series, algorithms_of(frame) if by == "flow" else None)
    return Shown(x, by, frame.to_dicts(), order, series, scale, name, look)


def _in_order(results: Tables, frame: pl.DataFrame, column: str) -> list[str]:
    """The levels that occur, in the order of the experiment."""
    found = frame[column].unique(maintain_order=True).to_list()
    known = results.experiment.factors.get(column, found)
    return [level for level in known if level in found]


#: Names that are abbreviations.
_SHORT = {"aqm", "bdp", "ecn", "mss", "mtu", "rtt", "sack", "tcp", "udp"}


def words(name: str) -> str:
    """The name of a factor in words: `udp_rate` → `UDP rate`, `cc` → `congestion control`."""
    known = {"cc": "congestion control", "delay": "link delay", "loss": "loss rate"}
    parts = (part.upper() if part in _SHORT else part for part in name.split("_"))
    return known.get(name) or " ".join(parts)


def sentence(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def series_name(level: str) -> str:
    """Name of a level in a legend."""
    return NAMES.get(level, level)


def _point(shown: Shown, level: str) -> float | str:
    return level if shown.scale is None else shown.scale.values[level]


def rounded(value: float) -> float:
    """A value with 7 significant digits."""
    return float(f"{value:.7g}")


def points_of(shown: Shown, metric: Metric) -> list[dict[str, Any]]:
    """Points with their intervals; `low` and `high` are None below two repeats."""
    rows = []
    for row in shown.rows:
        low, high = row["low"], row["high"]
        rows.append(
            {
                "x": _point(shown, row[shown.x]),
                "series": series_name(row[shown.by]) if shown.by else metric.label,
                "mean": rounded(row["mean"]),
                "low": None if math.isnan(low) else rounded(low),
                "high": None if math.isnan(high) else rounded(high),
                "repeats": row["count"],
            }
        )
    return rows


def _x(shown: Shown) -> alt.X:
    title = shown.x_name
    if shown.scale is None:
        axis = alt.Axis(labelAngle=label_angle(shown.x_levels), labelOverlap=False)
        return alt.X("x:N", title=sentence(title), sort=shown.x_levels, axis=axis)
    unit = f" ({shown.scale.unit})" if shown.scale.unit else ""
    values = list(shown.scale.values.values())
    few: dict[str, Any] = {"values": values} if len(values) <= 12 else {}
    axis = alt.Axis(labelExpr=LEVEL_LABELS, **few)
    if shown.scale.spans_decades:
        scale = alt.Scale(type="log", nice=False, padding=14)
    else:
        scale = alt.Scale(nice=False, zero=False, padding=14)
    return alt.X("x:Q", title=f"{sentence(title)}{unit}", axis=axis, scale=scale)


def x_tooltip(shown: Shown) -> alt.Tooltip:
    """Tooltip of the factor on the axis."""
    if shown.scale is None:
        return alt.Tooltip("x:N", title=shown.x_name)
    unit = f" ({shown.scale.unit})" if shown.scale.unit else ""
    return alt.Tooltip("x:Q", title=shown.x_name + unit)


def tooltips(shown: Shown, metric: Metric) -> list[alt.Tooltip]:
    """Tooltips of a point of `points_of`."""
    return [
        alt.Tooltip("series:N", title=words(shown.by) if shown.by else "metric"),
        x_tooltip(shown),
        alt.Tooltip("mean:Q", title=metric.axis, format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % interval from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("repeats:Q", title="repeats"),
    ]


def _measured(shown: Shown, metric: Metric, extra: Extras) -> list[alt.Chart]:
    names = shown.series.names
    rows = points_of(shown, metric)
    data = alt.InlineData(values=rows)
    # Without lines, the height of a point above the axis is what a reader compares.
    from_zero = extra.zero or shown.scale is None
    y = alt.Y("mean:Q", title=metric.axis, scale=alt.Scale(zero=from_zero, nice=True))
    pick = alt.selection_point(fields=["series"], bind="legend", name="pick")
    opacity = alt.when(pick).then(alt.value(1.0)).otherwise(alt.value(0.15))
    color = shown.series.color("series:N")
    base = alt.Chart(data).encode(x=_x(shown), color=color, opacity=opacity)
    if shown.scale is None and len(names) > 1:
        base = base.encode(xOffset=alt.XOffset("series:N", sort=names))
    tooltip = tooltips(shown, metric)
    layers: list[alt.Chart] = []
    if shown.scale is not None:
        dash = shown.series.dash("series:N")
        layers.append(base.mark_line(strokeWidth=1.8).encode(y=y, strokeDash=dash))
    if any(row["low"] is not None for row in rows):
        low = alt.Y("low:Q", title=metric.axis)
        layers.append(base.mark_rule(strokeWidth=2.2).encode(y=low, y2="high:Q"))
    shape = shown.series.shape("series:N")
    points = base.mark_point(filled=True, size=64).encode(y=y, shape=shape, tooltip=tooltip)
    layers.append(points.add_params(pick))
    return layers


def _published(shown: Shown, metric: Metric, extra: Extras) -> list[alt.Chart]:
    rows = [
        {
            "x": _point(shown, row["x"]),
            "series": series_name(row["series"]) if shown.by else metric.label,
            "mean": row["value"],
            "what": "published",
        }
        for row in extra.published
        if row["x"] in shown.x_levels
    ]
    if not rows:
        return []
    tooltip = [
        alt.Tooltip("series:N", title="published, for"),
        alt.Tooltip("mean:Q", title=metric.axis),
    ]
    mark = alt.Chart(alt.InlineData(values=rows)).mark_point(
        style="published", shape="M-1,-1L1,1M-1,1L1,-1", size=90, strokeWidth=2.5, opacity=1
    )
    drawn = mark.encode(
        x=_x(shown), y="mean:Q", color=shown.series.color("series:N"), tooltip=tooltip
    )
    names = shown.series.names
    if shown.scale is None and len(names) > 1:
        drawn = drawn.encode(xOffset=alt.XOffset("series:N", sort=names))
    return [drawn]


def _lines(shown: Shown, metric: Metric, extra: Extras) -> list[alt.Chart]:
    if not extra.line:
        return []
    label = extra.line_label
    if len(extra.line) == 1:
        data = alt.InlineData(values=[{"value": extra.line[0]["value"], "label": label}])
        y = alt.Y("value:Q", title=metric.axis)
        rule = alt.Chart(data).mark_rule(style="reference").encode(y=y)
        text = alt.Chart(data).mark_text(
            style="reference-label", align="right", baseline="bottom", dy=-4, dx=-2
        )
        return [rule, text.encode(y=y, x=alt.value("width"), text="label:N")]
    rows = [{"x": _point(shown, row["x"]), "value": row["value"]} for row in extra.line]
    y = alt.Y("value:Q", title=metric.axis)
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(style="reference", clip=True)
    inner = alt.InlineData(values=[{**rows[len(rows) // 2], "label": label}])
    text = alt.Chart(inner).mark_text(style="reference-label", align="left", dx=8, dy=12)
    return [
        line.encode(x=_x(shown), y=y),
        text.encode(x=_x(shown), y=y, text="label:N"),
    ]


def _description(shown: Shown, metric: Metric) -> str:
    values = [row["mean"] for row in shown.rows]
    names = ", ".join(series_name(level) for level in shown.by_levels)
    return (
        f"{metric.label} against {shown.x_name} for {names}: from {min(values):.4g} to "
        f"{max(values):.4g} {metric.unit}".strip()
        + "."
    )
