"""Delay against throughput: a point per flow and run, an ellipse around those of a cell.

As the figures of K. Winstein, H. Balakrishnan, "TCP ex Machina", SIGCOMM 2013: to the right is
less delay, upwards more throughput, and each ellipse holds what lies within a standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of
from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import CONNECTIONS
from dumbbell.rows import where_rows
from dumbbell.summary.flow_names import algorithm

#: Metrics of a flow's delay; the first that applies counts.
_DELAYS = ("srtt_mean_ms", "rtt_mean_ms")
_DELAY = " delay"  # no factor has a blank at its beginning
#: Points from which on an ellipse is drawn, and corners of one.
_ENOUGH, _CORNERS = 3, 48
_MOST_ELLIPSES = 60
_MOST_POINTS = 2000
#: Room beside the points, as a factor.
_ROOM = 1.25


def delay_throughput(
    results: Tables, *, where: Mapping[str, str] | None = None, title: str | None = None
) -> Figure:
    """Goodput of each TCP flow against its mean RTT, coloured by algorithm; without arrivals.

    Raises `ValueError` where no flow has both.
    """
    rows = list(_points(results, where or {}))
    if not rows:
        raise ValueError("no TCP flow has a goodput and an RTT here")
    names = list(dict.fromkeys(row["series"] for row in rows))
    look = series_of(names, {row["series"]: row["algorithm"] for row in rows})
    color = look.color("series:N")
    delays = [row["delay"] for row in rows]
    # Less delay to the right, with room beside the points.
    domain = [min(delays) / _ROOM, max(delays) * _ROOM]
    scale = alt.Scale(reverse=True, type="log", nice=False, domain=domain)
    x = alt.X("delay:Q", title="RTT (ms)", scale=scale)
    y = alt.Y("goodput:Q", title="Goodput (Mbit/s)", scale=alt.Scale(zero=True))
    ellipses = [row for cell in _cells(rows) for row in _ellipse(cell)]
    layers = [
        alt.Chart(alt.InlineData(values=rows[:_MOST_POINTS]))
        .mark_point(filled=True, size=36, opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=color,
            shape=look.shape("series:N"),
            tooltip=[
                alt.Tooltip("flow:N", title="flow"),
                alt.Tooltip("cell:N", title="cell"),
                alt.Tooltip("delay:Q", title="RTT (ms)", format=",.4~g"),
                alt.Tooltip("goodput:Q", title="goodput (Mbit/s)", format=",.4~g"),
            ],
        )
    ]
    if ellipses:
        layers.append(
            alt.Chart(alt.InlineData(values=ellipses))
            .mark_line(strokeWidth=1.3, opacity=0.9)
            .encode(x=x, y=y, color=color, detail="cell:N", order="corner:Q")
        )
    text = f"Goodput against RTT of {', '.join(names)}; less delay is to the right."
    return Figure(title or "Delay and throughput", text, as_spec(alt.layer(*layers)))


def _points(results: Tables, where: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    columns = ("goodput_mbps", *_DELAYS)
    results = without_arrivals(results)
    frame = where_rows(results.flows, where).filter(pl.col("kind").is_in(CONNECTIONS))
    for name in columns:
        one = METRICS[name].measure(results).select("run", "flow", pl.col("value").fill_nan(None))
        frame = frame.join(one.rename({"value": name}), on=["run", "flow"], maintain_order="left")
    factors = list(results.experiment.factors)
    found = frame.with_columns(pl.coalesce(_DELAYS).alias(_DELAY)).filter(
        (pl.col(_DELAY) > 0) & pl.col("goodput_mbps").is_not_null()
    )
    for row in found.iter_rows(named=True):
        levels = ", ".join(row[factor] for factor in factors)
        yield {
            "series": algorithm(row),
            "algorithm": row["congestion_control"],
            "cell": f"{levels}: {row['flow']}" if levels else row["flow"],
            "flow": row["flow"],
            "delay": round(row[_DELAY], 4),
            "goodput": round(row["goodput_mbps"], 5),
        }


def _cells(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["cell"], row["series"]), []).append(row)
    return [own for own in cells.values() if len(own) >= _ENOUGH][:_MOST_ELLIPSES]


def _ellipse(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Corners of the ellipse of one standard deviation; delays by their logarithm, as the axis."""
    both = np.array([[np.log(row["delay"]), row["goodput"]] for row in rows]).T
    values, vectors = np.linalg.eigh(np.cov(both))
    angle = np.linspace(0.0, 2 * np.pi, _CORNERS)
    circle: npt.NDArray[np.float64] = np.stack([np.cos(angle), np.sin(angle)])
    stretched = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    corners = both.mean(axis=1)[:, None] + stretched
    return [
        {
            "series": rows[0]["series"],
            "cell": rows[0]["cell"],
            "corner": corner,
            "delay": round(float(np.exp(corners[0, corner])), 4),
            "goodput": round(max(0.0, float(corners[1, corner])), 5),
        }
        for corner in range(_CORNERS)
    ]
