"""Figure of a scorecard: goodput against queueing delay, a point per cell and side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from dumbbell.cards.display import on_plane, sides
from dumbbell.cards.running import Scorecard
from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of

#: Shortest delay on the axis, ms: it is logarithmic.
_SHORTEST = 0.1


def plane_figure(card: Scorecard) -> Figure:
    """Points with their 95 % intervals; a line joins both sides of a cell."""
    rows = list(_points(card))
    names = list(dict.fromkeys(sides(card)))
    look = series_of(names)
    color = look.color("side:N")
    scale = alt.Scale(reverse=True, type="log", nice=False)
    x = alt.X("delay:Q", title="Queueing delay, 95th percentile (ms)", scale=scale)
    y = alt.Y("goodput:Q", title="Goodput of all flows (Mbit/s)", scale=alt.Scale(zero=True))
    data = alt.InlineData(values=rows)
    base = alt.Chart(data)
    layers = [
        base.mark_line(strokeWidth=1, opacity=0.35, color="gray").encode(x=x, y=y, detail="cell:N"),
        base.mark_rule(strokeWidth=1.2).encode(x=x, x2="delay_high:Q", y=y, color=color),
        base.mark_rule(strokeWidth=1.2).encode(x=x, y=y, y2="goodput_high:Q", color=color),
        base.mark_point(filled=True, size=50).encode(
            x=x,
            y=y,
            color=color,
            shape=look.shape("side:N"),
            tooltip=[
                alt.Tooltip("cell:N", title="cell"),
                alt.Tooltip("side:N", title="discipline"),
                alt.Tooltip("delay:Q", title="delay (ms)", format=",.4~g"),
                alt.Tooltip("goodput:Q", title="goodput (Mbit/s)", format=",.4~g"),
            ],
        ),
    ]
    text = f"Goodput against queueing delay of {' and '.join(names)}; less delay is to the right."
    return Figure("Goodput and queueing delay", text, as_spec(alt.layer(*layers)))


def _points(card: Scorecard) -> Iterator[dict[str, Any]]:
    for item, levels, both in on_plane(card):
        for side, name in zip(("before", "now"), sides(card), strict=True):
            delay, goodput = (getattr(both[one], side) for one in ("delay", "goodput"))
            yield {
                "cell": ": ".join(filter(None, [item.name, levels])),
                "side": name,
                "delay": max(_SHORTEST, delay.mean),
                "delay_high": max(_SHORTEST, delay.widened(0.0)[1]),
                "goodput": goodput.mean,
                "goodput_high": goodput.widened(0.0)[1],
            }
