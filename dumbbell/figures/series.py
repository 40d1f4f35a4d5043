"""Colour, dash pattern and shape of the series of a figure; an algorithm has its own everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import altair as alt
import polars as pl

from dumbbell.figures.theme import (
    DASHES,
    NAMES,
    SHAPES,
    THEMES,
    Style,
    algorithm_style,
    colour_expression,
    legend_columns,
)

#: Opacities of areas of one colour, in order.
_OPACITIES = (1.0, 0.65, 0.4, 0.25)
_COLOURS = len(THEMES["light"].series)


@dataclass(frozen=True)
class Series:
    """The series of a figure: names in the legend, and their styles."""

    names: list[str]
    styles: list[Style]

    def color(self, field: str, *, legend: bool = True, solid: bool = False) -> alt.Color:
        """Channel of colours; `solid`: in the legend also where the marks are transparent."""
        colours = [colour_expression(style.colour) for style in self.styles]
        channel = self._channel(colours, legend)
        if solid and channel["legend"] is not None:
            channel["legend"].symbolOpacity = 1
        return alt.Color(field, **channel)

    def opacity(self, field: str, *, legend: bool = True) -> alt.Opacity:
        """Channel of opacities, which tell areas of one colour apart."""
        colours = [style.colour for style in self.styles]
        before = [colours[:place].count(colour) for place, colour in enumerate(colours)]
        looks = [_OPACITIES[count % len(_OPACITIES)] for count in before]
        return alt.Opacity(field, **self._channel(looks, legend))

    def dash(self, field: str, *, legend: bool = True) -> alt.StrokeDash:
        """Channel of dash patterns."""
        return alt.StrokeDash(field, **self._channel([one.dash for one in self.styles], legend))

    def shape(self, field: str, *, legend: bool = True) -> alt.Shape:
        """Channel of shapes."""
        return alt.Shape(field, **self._channel([one.shape for one in self.styles], legend))

    def _channel(self, looks: Sequence[Any], legend: bool) -> dict[str, Any]:
        shown = legend and len(self.names) > 1
        columns = legend_columns(self.names)
        return {
            "scale": alt.Scale(type="ordinal", domain=self.names, range=looks),
            "sort": self.names,
            "legend": alt.Legend(title=None, columns=columns) if shown else None,
        }


def series_of(levels: Sequence[str], algorithms: Mapping[str, str] | None = None) -> Series:
    """Styles of the series of some levels.

    Args:
        levels: Levels in the order of the legend.
        algorithms: Level → name of its algorithm; of other levels the level itself is the name.

    A level that is no algorithm has a colour that no algorithm here has, as long as there is one.
    A second level of an algorithm has its colour and another dash pattern and shape.
    """
    known = algorithms or {}
    found: dict[str, Style] = {}
    for level in levels:
        style = algorithm_style(known.get(level, level))
        if style is not None:
            found[level] = _other_than(found, style)
    taken = {style.colour for style in found.values()}
    free = [colour for colour in range(_COLOURS) if colour not in taken] or list(range(_COLOURS))
    others = [Style(colour, dash, SHAPES[colour]) for dash, colour in product(DASHES, free)]
    rest = [level for level in levels if level not in found]
    found |= {level: others[place % len(others)] for place, level in enumerate(rest)}
    return Series([NAMES.get(level, level) for level in levels], [found[one] for one in levels])


def _other_than(found: Mapping[str, Style], style: Style) -> Style:
    """The style, or where a level has it already: the next dash pattern, and a shape with it."""
    same = sum(one.colour == style.colour for one in found.values())
    if style not in found.values():
        return style
    shape = SHAPES[(SHAPES.index(style.shape) + same) % len(SHAPES)]
    return replace(style, dash=DASHES[same % len(DASHES)], shape=shape)


def algorithms_of(flows: pl.DataFrame) -> dict[str, str]:
    """Flow → its congestion control, or kind of traffic; without flows that have several.

    Args:
        flows: Rows with `flow`, `kind` and `congestion_control`.
    """
    if not {"flow", "kind", "congestion_control"} <= set(flows.columns):
        return {}
    name = pl.when(pl.col("congestion_control") == "").then("kind").otherwise("congestion_control")
    rows = flows.select("flow", name.alias("name")).unique(maintain_order=True)
    return dict(rows.filter(pl.col("flow").is_unique()).iter_rows())
