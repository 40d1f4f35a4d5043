"""Figure of a gate: the change of each quantity with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.series import series_of
from dumbbell.gate.verdict import Quantity

#: Quantities that are drawn: each has its label.
_MOST = 14
#: Largest change on the axis, percent: others are cut off there.
_WIDEST = 100.0


def changes_figure(rows: Sequence[Quantity]) -> Figure | None:
    """Mean changes in percent, with 95 % intervals; None if no change has a share.

    Args:
        rows: Quantities, in the order of the figure.
    """
    drawn = [one for one in rows if one.paired is not None and math.isfinite(one.change)][:_MOST]
    if not drawn:
        return None
    values = [_value(one) for one in drawn]
    look = series_of(list(dict.fromkeys(str(one["verdict"]) for one in values)))
    color = look.color("verdict:N")
    y = alt.Y("quantity:N", sort=None, title=None, axis=alt.Axis(labelLimit=420))
    x = alt.X("change:Q", title="Change (%)")
    base = alt.Chart(alt.InlineData(values=values))
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="gray")
    layers = [
        zero.encode(x=alt.X("zero:Q", title="Change (%)")),
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=y, color=color),
        base.mark_point(filled=True, size=50).encode(
            x=x,
            y=y,
            color=color,
            shape=look.shape("verdict:N"),
            tooltip=[
                alt.Tooltip("quantity:N", title="quantity"),
                alt.Tooltip("before:Q", format=",.4~g"),
                alt.Tooltip("now:Q", format=",.4~g"),
                alt.Tooltip("change:Q", title="change (%)", format=",.3~g"),
            ],
        ),
    ]
    text = (
        f"Changes of {len(drawn)} quantities in percent of the value before, with 95 % intervals."
    )
    return Figure("Changes", text, as_spec(alt.layer(*layers)))


def _value(one: Quantity) -> dict[str, float | str]:
    assert one.paired is not None
    whole = abs(one.before)
    moved = one.paired.difference
    low, high = moved.widened(0.0)
    return {
        "quantity": f"{one.sample.metric}, {one.place}",
        "verdict": one.verdict.value,
        "before": one.before,
        "now": one.now,
        "change": _cut(100 * one.change),
        "low": _cut(100 * low / whole),
        "high": _cut(100 * high / whole),
    }


def _cut(percent: float) -> float:
    """A change that leaves the others visible."""
    return max(-_WIDEST, min(_WIDEST, percent))
