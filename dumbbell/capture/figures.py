"""Figures of captures: rate over time, frames by length, connections by class and by requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.theme import label_angle, legend_columns

#: Maximum number of points of a rate over time.
_POINTS_MAX = 100


def rate(found: dict[str, Any], title: str = "Rate of all traffic") -> Figure:
    """Rate of all traffic of a capture over time, in up to 100 intervals. `found`: of `survey`."""
    rates = found["rates"]
    counts, width_ns = rates["bytes"], rates["width_ns"]
    many = max(1, -(-len(counts) // _POINTS_MAX))
    seconds = many * width_ns / 1e9
    rows = [
        {
            "series": "all",
            "s": round(at * width_ns / 1e9, 6),
            "mbps": round(8 * sum(counts[at : at + many]) / seconds / 1e6, 6) if seconds else 0.0,
        }
        for at in range(0, len(counts), many)
    ]
    if rows:
        # A step extends to the start of the next one.
        rows.append({**rows[-1], "s": round(len(rows) * seconds, 6)})
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_area(interpolate="step-after", line=True, opacity=0.3)
        .encode(
            color=alt.Color("series:N", legend=None),
            x=alt.X("s:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("mbps:Q", title="Rate on the wire (Mbit/s)"),
            tooltip=[
                alt.Tooltip("s:Q", title="from (s)", format=",.4~g"),
                alt.Tooltip("mbps:Q", title="Mbit/s", format=",.4~g"),
            ],
        )
    )
    text = f"Rate of all packets over time, in stretches of {seconds:g} s."
    return Figure(title, text, as_spec(alt.layer(chart)))


def lengths(
    series: Mapping[str, Sequence[dict[str, Any]]], title: str = "Frames by length"
) -> Figure:
    """Frames by length. Argument: name and rows of the table `lengths` of each capture."""
    rows = [
        {
            "what": f"{row['from_bytes']}–{'' if row['to_bytes'] is None else row['to_bytes']}",
            "series": name,
            "percent": round(100 * row["share"], 4),
        }
        for name, bins in series.items()
        for row in bins
    ]
    return _bars(
        rows, list(series), title, "Length of the frame (bytes)", "Share of the frames (%)"
    )


def classes(
    series: Mapping[str, Sequence[dict[str, Any]]], title: str = "Connections by size"
) -> Figure:
    """Connections by class. Argument: name and rows of the table `classes` of each capture."""
    rows = [
        {"what": row["class"], "series": name, "percent": round(100 * row["share"], 4)}
        for name, found in series.items()
        for row in found
    ]
    return _bars(rows, list(series), title, "Class of sizes", "Share of the connections (%)")


def requests(found: dict[str, Any], title: str = "Requests per connection") -> Figure:
    """Connections by number of requests, from a result of `survey`."""
    told = found["together"]
    total = sum(row["connections"] for row in told["requests"])
    rows = [
        {
            "what": str(row["requests"]),
            "series": "connections",
            "percent": round(100 * row["connections"] / total, 4),
        }
        for row in told["requests"]
    ]
    return _bars(rows, ["connections"], title, "Requests", "Share of the connections (%)")


def _bars(
    rows: Sequence[dict[str, Any]], names: Sequence[str], title: str, across: str, up: str
) -> Figure:
    """Grouped bars, one per colour."""
    order = list(dict.fromkeys(row["what"] for row in rows))
    several = len(names) > 1
    legend = alt.Legend(title=None, columns=legend_columns(names), symbolType="square")
    scale = alt.Scale(domain=list(names))
    encodings: dict[str, Any] = {"xOffset": alt.XOffset("series:N", scale=scale)} if several else {}
    axis = alt.Axis(labelAngle=label_angle(order), labelOverlap=False)
    chart = (
        alt.Chart(alt.InlineData(values=list(rows)))
        .mark_bar()
        .encode(
            x=alt.X("what:O", title=across, sort=order, axis=axis),
            y=alt.Y("percent:Q", title=up),
            color=alt.Color("series:N", scale=scale, legend=legend if several else None),
            tooltip=[
                alt.Tooltip("what:O", title=across),
                alt.Tooltip("series:N", title="of"),
                alt.Tooltip("percent:Q", title="%", format=".2f"),
            ],
            **encodings,
        )
    )
    text = f"{up} by {across[0].lower()}{across[1:]}: {', '.join(names)}."
    return Figure(title, text, as_spec(alt.layer(chart)), height=260)
