"""Congestion window against time, with the BDP and the losses (Figures 5.2, 5.4 of study 1)."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from dumbbell.console.words import many
from dumbbell.figures.factor import series_name
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.names import no_factor
from dumbbell.figures.series import Series, algorithms_of, series_of
from dumbbell.figures.thinning import thinned
from dumbbell.lives import while_alive
from dumbbell.metrics import Tables, flow_limits
from dumbbell.rows import Where, where_rows

_MOST_POINTS = 420
_MOST_TICKS = 300


def window(
    results: Tables,
    *,
    by: str | None = None,
    over: str | None = None,
    where: Where | None = None,
    flow: str | None = None,
    repeat: int | None = None,
    title: str | None = None,
) -> Figure:
    """The window of one run per level of `by` (one panel each), in packets, against seconds.

    `over` names a column whose levels are drawn over each other (`engine` of a comparison).
    `where` fixes levels of the other factors; of `by` a list chooses some. The dashed line is the
    bandwidth-delay product of the flow's paths, the ticks below are packets of the flow that were
    dropped. `repeat`: which repeat is shown, by default the first that there is. Raises
    `ValueError` where the experiment keeps no samples, or factors stay open.
    """
    chosen = dict(where or {})
    samples = results.of_repeat("samples", chosen, repeat)
    if samples.is_empty():
        raise ValueError("no samples are kept here: set sampling.keep to [samples, drops]")
    samples = while_alive(samples, results.flows)
    samples = samples.filter(pl.col("cwnd_packets") >= 0)  # UDP and ping have none.
    if samples.is_empty():
        raise ValueError("the samples that are kept here know no congestion window")
    names = samples["flow"].unique(maintain_order=True).to_list()
    if over is not None and over not in samples.columns:
        raise no_factor(over, [*results.experiment.factors, "flow"])
    column, levels = _panels(results, samples, by, flow, names, over)
    _closed(results, samples, column, over)
    if flow is not None:
        samples = samples.filter(pl.col("flow") == flow)
    if over is None:
        look = series_of(levels, _algorithms(results, chosen) if column == "flow" else None)
    else:
        look = series_of(results.experiment.factors.get(over) or _levels(samples, over))
    layers = [
        alt.Chart()
        .mark_line(strokeWidth=1.4, clip=True)
        .encode(**_line_encoding(look, over is not None))
        .transform_filter("isNumber(datum.time)"),
        alt.Chart()
        .mark_rule(style="reference")
        .encode(y="bdp:Q")
        .transform_filter("isNumber(datum.bdp)"),
        alt.Chart()
        .mark_tick(style="loss", yOffset=-3, height=7, width=1)
        .encode(x="loss:Q", y=alt.value("height"))
        .transform_filter("isNumber(datum.loss)"),
    ]
    rows = _rows(results, samples, column, levels, over)
    chart = alt.layer(*layers, data=_csv(rows)).facet(
        facet=alt.Facet("panel:N", title=None, sort=[series_name(level) for level in levels]),
        columns=2,
    )
    heading = title or "Congestion window against time"
    panels = max(2, len(levels))
    return Figure(heading, _description(rows, levels), as_spec(chart), panels)


def _panels(
    results: Tables,
    samples: pl.DataFrame,
    by: str | None,
    flow: str | None,
    flows: list[str],
    over: str | None,
) -> tuple[str, list[str]]:
    """The column that makes panels, and its levels in order."""
    if by is None:
        factors = [factor for factor in results.experiment.factors if factor != over]
        by = next((f for f in factors if samples[f].n_unique() > 1), None)
        by = by or ("flow" if flow is None and len(flows) > 1 else next(iter(factors), "flow"))
    if by not in samples.columns:
        raise no_factor(by, [*results.experiment.factors, "flow"])
    found = samples[by].unique(maintain_order=True).to_list()
    known = results.experiment.factors.get(by, found)
    return by, [level for level in known if level in found]


def _closed(results: Tables, samples: pl.DataFrame, by: str, over: str | None) -> None:
    factors = results.experiment.factors
    left = [f for f in factors if f not in (by, over) and samples[f].n_unique() > 1]
    if left:
        raise ValueError(f"several runs for each panel: fix {', '.join(left)} by where")


def _algorithms(results: Tables, where: Where) -> dict[str, str]:
    """Flow → its algorithm in the runs that are shown."""
    known = {name: level for name, level in where.items() if name in results.flows.columns}
    return algorithms_of(where_rows(results.flows, known))


def _levels(samples: pl.DataFrame, column: str) -> list[str]:
    return [str(level) for level in samples[column].unique(maintain_order=True)]


def _line_encoding(look: Series, over: bool) -> dict[str, Any]:
    return {
        "x": alt.X("time:Q", title="Time (s)", scale=alt.Scale(nice=False, domainMin=0)),
        "y": alt.Y(
            "window:Q",
            title="Window (packets)",
            scale=alt.Scale(zero=True),
            axis=alt.Axis(tickCount=4),
        ),
        "color": look.color("over:N" if over else "panel:N", legend=over),
        "detail": [alt.Detail("flow:N"), alt.Detail("over:N")],
        "tooltip": [
            alt.Tooltip("panel:N", title="run"),
            alt.Tooltip("time:Q", title="time (s)", format=".1f"),
            alt.Tooltip("window:Q", title="window (packets)"),
            alt.Tooltip("state:N", title="state"),
        ],
    }


def _rows(
    results: Tables, samples: pl.DataFrame, by: str, levels: list[str], over: str | None
) -> list[dict[str, Any]]:
    """The rows of all panels: points of the line, the BDP, losses."""
    rows: list[dict[str, Any]] = []
    for level in levels:
        panel = series_name(level)
        here = samples.filter(pl.col(by) == level)
        for (run, flow), series in here.group_by("run", "flow", maintain_order=True):
            ordered = series.sort("time_ns")
            above = {} if over is None else {"over": str(series[over][0])}
            kept = ordered[thinned(ordered["cwnd_packets"].to_numpy(), _MOST_POINTS).tolist()]
            for time_ns, size, state in kept.select("time_ns", "cwnd_packets", "state").iter_rows():
                point = {"time": round(time_ns / 1e9, 2), "window": size, "state": state}
                rows.append({"panel": panel, "flow": flow, **above, **point})
            if (bdp := _bdp(results, str(run), str(flow))) is not None:
                rows.append({"panel": panel, "bdp": bdp})
            drops = _losses(results, str(run), str(flow))
            rows.extend({"panel": panel, "loss": time} for time in drops)
    return rows


def _csv(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as text with one header: a fraction of the size of a list of objects."""
    columns = ("panel", "flow", "over", "time", "window", "state", "bdp", "loss")
    text = pl.DataFrame(rows, schema=dict.fromkeys(columns), infer_schema_length=None).write_csv()
    parse = dict.fromkeys(("time", "window", "bdp", "loss"), "number")
    return alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv", parse=parse))


def _bdp(results: Tables, run: str, flow: str) -> float | None:
    """Bandwidth-delay product in packets; None: a measured run has no network."""
    scenario = results.runs.filter(pl.col("run") == run)["scenario"][0]
    try:
        return round(flow_limits(scenario, flow).bdp_packets, 2)
    except KeyError:
        return None


def _losses(results: Tables, run: str, flow: str) -> list[float]:
    """Times in seconds at which packets of a flow were dropped, at most a few hundred."""
    repeats = results.runs.filter(pl.col("run") == run)["repeat"]
    if not results.has("drops") or repeats.is_empty():
        return []
    times = results.of_repeat("drops", {"run": run, "flow": flow}, repeats[0])["time_ns"]
    seconds = (times / 1e9).round(2).unique().sort().to_list()
    step = max(1, len(seconds) // _MOST_TICKS)
    return list(seconds[::step])


def _description(rows: list[dict[str, Any]], levels: list[str]) -> str:
    parts = []
    for level in levels:
        panel = series_name(level)
        sizes = [row["window"] for row in rows if row["panel"] == panel and "window" in row]
        losses = sum("loss" in row for row in rows if row["panel"] == panel)
        parts.append(f"{panel} up to {max(sizes)} packets with losses at {many(losses, 'moment')}")
    return f"Congestion window over time: {'; '.join(parts)}."
