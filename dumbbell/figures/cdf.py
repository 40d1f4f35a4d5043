"""CDF of the RTT under load."""

from __future__ import annotations

import altair as alt
import polars as pl

from dumbbell.figures.factor import series_name, words
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import algorithms_of, series_of
from dumbbell.metrics import Tables
from dumbbell.metrics.load import load_windows
from dumbbell.rows import Where, where_rows

#: Points of a curve: a share of the probes each.
_POINTS = 200


def cdf(
    results: Tables,
    *,
    by: str | None = None,
    where: Where | None = None,
    flow: str | None = None,
    title: str | None = None,
) -> Figure:
    """Share of the probes that were back within a time, one curve per level of `by`.

    Probes of all repeats that were sent under load; what never came back leaves a curve below 1.
    Raises `ValueError` where no probes are kept, or factors stay open.
    """
    chosen = dict(where or {}) | ({"flow": flow} if flow is not None else {})
    pings = results.flows.filter(pl.col("kind") == "ping")["flow"].unique()
    kept = _probes(results, chosen, by)
    # Datagrams of other kinds go one way.
    probes = kept if kept.is_empty() else kept.filter(pl.col("flow").is_in(pings.implode()))
    if probes.is_empty():
        if kept.is_empty() and flow is None:
            raise ValueError("no probes are kept here: set sampling.keep to [probes]")
        raise ValueError("no ping here: the RTT of probes is that of a flow `ping`")
    factors = results.experiment.factors
    varying = [name for name in factors if probes[name].n_unique() > 1]
    series = by or next(iter(varying), "flow")
    left = [name for name in varying if name != series]
    if left:
        raise ValueError(f"several curves in one: fix {', '.join(left)} by where")
    columns = ["run", "time_ns", "delay_ns", series]
    loaded = (
        probes.select(columns)
        .join(load_windows(results), on="run")
        .filter(
            (pl.col("time_ns") >= pl.col("load_start_ns"))
            & (pl.col("time_ns") < pl.col("load_end_ns"))
        )
    )
    levels = list(factors.get(series, loaded[series].unique(maintain_order=True)))
    look = series_of(levels, algorithms_of(results.flows) if series == "flow" else None)
    rows = [
        row for level in levels for row in _curve(loaded.filter(pl.col(series) == level), level)
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("ms:Q", title="RTT (ms)", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("share:Q", title="Share of the probes", scale=alt.Scale(domain=[0, 1])),
            color=look.color("series:N"),
            strokeDash=look.dash("series:N"),
            tooltip=[
                alt.Tooltip("series:N", title=words(series)),
                alt.Tooltip("ms:Q", title="within (ms)", format=",.4~g"),
                alt.Tooltip("share:Q", title="share", format=".1%"),
            ],
        )
    )
    text = f"CDF of the RTT for {', '.join(look.names)}."
    return Figure(title or "CDF of RTT", text, as_spec(alt.layer(chart)))


def _probes(results: Tables, chosen: Where, by: str | None) -> pl.DataFrame:
    """Columns of the chosen probes that the curves need."""
    columns = [*results.experiment.factors, "flow", "time_ns", "delay_ns"]
    enough = set(chosen) | {by or "flow"} <= set(columns)
    parts = results.parts("probes", columns if enough else None)
    found = [where_rows(part, chosen) for part in parts]
    return pl.concat(found) if found else pl.DataFrame()


def _curve(probes: pl.DataFrame, level: str) -> list[dict[str, object]]:
    back = probes.filter(pl.col("delay_ns") >= 0)["delay_ns"].sort()
    total, count = probes.height, len(back)
    places = sorted({min(count - 1, round(i * (count - 1) / _POINTS)) for i in range(_POINTS + 1)})
    return [
        {
            "series": series_name(level),
            "ms": round(int(back[place]) / 1e6, 3),
            "share": round((place + 1) / total, 4),
        }
        for place in places
        if count > 0
    ]
