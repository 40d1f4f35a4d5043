"""CDF of the queueing delay at the bottleneck, a curve per cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from dumbbell.figures.factor import series_name
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of
from dumbbell.metrics import Tables
from dumbbell.metrics.queue_delay import queueing_delays_under_load
from dumbbell.rows import where_rows

#: Points of a curve, and curves of a figure.
_POINTS, _MOST_CURVES = 120, 12


def queue_delay(
    results: Tables,
    *,
    where: Mapping[str, str] | None = None,
    pipe: str | None = None,
    title: str | None = None,
) -> Figure:
    """Share of the time of load in which the queue takes at most so long.

    `pipe`: by default the one whose queue is longest. All repeats count. A sample's delay is the
    mean time in the queue of the packets that left since the sample before, or else what waits over
    the pipe's rate. Raises `ValueError` where no queues are kept, or of more than 12 cells.
    """
    factors = list(results.experiment.factors)
    count = where_rows(results.runs, where or {}).select(factors).unique().height if factors else 1
    if count > _MOST_CURVES:
        raise ValueError(f"{count} curves in one: fix factors by where")
    delays = _delays(results, where or {})
    if delays.is_empty():
        raise ValueError("no queues are kept here: see the field sampling")
    means = delays.group_by("pipe", maintain_order=True).agg(pl.col("ms").mean())
    chosen = pipe or means.sort("ms", descending=True, maintain_order=True)["pipe"][0]
    own = delays.filter(pl.col("pipe") == chosen)
    if own.is_empty():
        raise ValueError(f"no queue {chosen!r}; there are {', '.join(means['pipe'])}")
    names = own["cell"].unique(maintain_order=True).to_list()
    rows = [row for name in names for row in _curve(own.filter(pl.col("cell") == name), name)]
    look = series_of(names)
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("ms:Q", title="Queueing delay (ms)", scale=alt.Scale(zero=True)),
            y=alt.Y("share:Q", title="Share of the time", scale=alt.Scale(domain=[0, 1])),
            color=look.color("cell:N"),
            strokeDash=look.dash("cell:N"),
            tooltip=[
                alt.Tooltip("cell:N", title="cell"),
                alt.Tooltip("ms:Q", title="at most (ms)", format=",.4~g"),
                alt.Tooltip("share:Q", title="share of the time", format=".1%"),
            ],
        )
    )
    heading = title or f"Queueing delay at {chosen}"
    text = f"CDF of the queueing delay at {chosen}."
    return Figure(heading, text, as_spec(alt.layer(chart)))


def _delays(results: Tables, where: Mapping[str, str]) -> pl.DataFrame:
    """Delay in ms of each sample under load: `cell`, `pipe`, `ms`."""
    factors = list(results.experiment.factors)
    runs = where_rows(results.runs, where).select("run", *factors)
    label = pl.concat_str(factors, separator=", ") if factors else pl.lit("all")
    cells = runs.select("run", label.alias("cell"))
    found = [
        part.join(cells, on="run", maintain_order="left")
        .select("cell", "pipe", pl.col("delay_ms").alias("ms"))
        .drop_nulls()
        for part in queueing_delays_under_load(results)
    ]
    return pl.concat(found) if found else pl.DataFrame()


def _curve(samples: pl.DataFrame, name: str) -> list[dict[str, Any]]:
    ordered = samples["ms"].sort()
    count = len(ordered)
    places = sorted({round(i * (count - 1) / _POINTS) for i in range(_POINTS + 1)})
    return [
        {
            "cell": series_name(name),
            "ms": round(ordered[place], 4),
            "share": round((place + 1) / count, 4),
        }
        for place in places
    ]
