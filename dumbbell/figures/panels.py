"""Lines over time in panels with axes of their own."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.figures.factor import series_name
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of
from dumbbell.metrics import Tables
from dumbbell.rows import Where

#: A point: panel, line, seconds, value.
Point = tuple[str, str, float, float]


def one_run(results: Tables, name: str, where: Where, repeat: int | None) -> pl.DataFrame:
    """The rows of a table of one run: where these levels hold, of the first repeat or of that one.

    Raises `ValueError` for unknown names and where several runs are left.
    """
    frame = results.of_repeat(name, where, repeat)
    left = [name for name in results.experiment.factors if frame[name].n_unique() > 1]
    if left:
        raise ValueError(f"several runs: fix {', '.join(left)} by where")
    return frame


def panels(
    title: str,
    description: str,
    points: Sequence[Point],
    *,
    dots: bool = False,
    algorithms: Mapping[str, str] | None = None,
    zoom: bool = False,
) -> Figure:
    """The lines, or points by themselves, a panel under each name in order of appearance.

    `algorithms`: line → its algorithm, which gives the colour. `zoom`: the wheel and dragging move
    the time axis of all panels.
    """
    order = list(dict.fromkeys(panel for panel, *_ in points))
    lines = list(dict.fromkeys(line for _, line, *_ in points))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "line", "s", "value"])
    for panel, line, at, value in points:
        # Without a value a line breaks off.
        known = "NaN" if math.isnan(value) else f"{value:.5g}"
        writer.writerow((panel, series_name(line), f"{at:.7g}", known))
    data = alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv"))
    look = series_of(lines, algorithms)
    base = alt.Chart(data)
    marked = base.mark_circle(size=9, clip=True, opacity=1)
    lined = base.mark_line(strokeWidth=1.3, clip=True).encode(strokeDash=look.dash("line:N"))
    drawn = marked if dots else lined
    if zoom:
        drawn = drawn.add_params(alt.selection_interval("zoom", bind="scales", encodings=["x"]))
    chart = (
        drawn.encode(
            x=alt.X(
                "s:Q",
                title="Time (s)",
                scale=alt.Scale(nice=False, domainMin=0),
                axis=alt.Axis(labelFlush=False, labelSeparation=4),
            ),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)),
            color=look.color("line:N"),
            tooltip=[
                alt.Tooltip("line:N", title="line"),
                alt.Tooltip("s:Q", title="time (s)"),
                alt.Tooltip("value:Q", title="value", format=",.4~g"),
            ],
        )
        .facet(facet=alt.Facet("panel:N", title=None, sort=order), columns=2)
        .resolve_scale(y="independent")
    )
    odd = len(order) % 2
    if odd:  # else a place without a panel would have an axis
        chart = chart.resolve_axis(x="independent")
    # The areas of a column are below each other, whatever the labels of their axes.
    chart = chart.properties(bounds="flush", spacing={"column": 60, "row": 95 if odd else 56})
    return Figure(title, description, as_spec(chart), max(2, len(order)))
