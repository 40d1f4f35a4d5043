"""A figure in print: so many mm wide, with letters and lines that can be read at that width.

A pixel of the drawing is a point (1/72 inch) on paper.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from dumbbell.figures.theme import Config, label_angle, legend_columns
from dumbbell.vega.drawing import drawn

#: Width of a column in mm, as of ACM and IEEE.
COLUMN_MM = 85.0
#: Resolution of PNG.
PPI = 600
_POINTS_PER_MM = 72 / 25.4
LEAST_MM, MOST_MM = 50.0, 400.0
#: Letters of axes, and of titles and legends, in points.
_SMALL, _LARGE = 7.0, 8.0
#: Width of a letter in points, roughly.
_LETTER = 4.6
_TITLE_LETTER = 5.4
#: Lines and lengths against those on a screen, and the thinnest line in points.
_LENGTH = 0.55
_THINNEST = 0.75
#: Widest panel that stands beside another.
_TWO_COLUMNS = 330
_PANEL_HEIGHT = 96
#: Height of a plot against its width, and of a figure with a height of its own against that.
_FLAT = 0.5
#: Drawings until the width fits, less than so many points too narrow.
_TRIES = 5
_SLACK = 4


def printed_svg(spec: dict[str, Any], width_mm: float, height: int | None) -> str:
    """A whole specification as SVG of exactly this width.

    Args:
        spec: Specification for a screen.
        width_mm: Width, 50 to 400 mm.
        height: Height on a screen of a figure that chose its own; None: follows from the width.
    """
    width = round(width_mm * _POINTS_PER_MM)
    spec = _for_print(spec, width)
    plot, across = _plot(spec, width)
    if "spec" in spec:
        plot["height"] = _PANEL_HEIGHT
    else:
        plot["height"] = round(_FLAT * width if height is None else _LENGTH * height)
    plot["width"] = round(width / across - 40)
    for _ in range(_TRIES):
        svg = drawn(spec)
        excess = _size(svg)[0] - width
        if -_SLACK < excess <= 0:
            break
        plot["width"] = max(30, plot["width"] - -(-excess // across))
    return _in_mm(svg, width, width_mm)


def _plot(spec: dict[str, Any], width: int) -> tuple[dict[str, Any], int]:
    """What has the width of a plot, and how many stand side by side."""
    if "spec" not in spec:
        return spec, 1
    spec["columns"] = 2 if width > _TWO_COLUMNS else 1
    return spec["spec"], spec["columns"]


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'<svg [^>]*width="(\d+)" height="(\d+)"', svg)
    if found is None:
        raise ValueError("the drawing has no size")
    return int(found[1]), int(found[2])


def _in_mm(svg: str, width: int, width_mm: float) -> str:
    """The drawing in mm; one that is narrower than wanted has a margin at its right."""
    own, height = _size(svg)
    tall = height * width_mm / width
    pixels = f'width="{own}" height="{height}" viewBox="0 0 {own} {height}"'
    size = f'width="{width_mm:g}mm" height="{tall:.2f}mm" viewBox="0 0 {width} {height}"'
    return svg.replace(pixels, size, 1)


def _for_print(spec: dict[str, Any], width: int) -> dict[str, Any]:
    spec = copy.deepcopy(spec)
    config = spec.pop("config")
    if "title" in spec:
        lines = wrap(spec["title"]["text"], round(width / _TITLE_LETTER))
        spec["title"] = {"text": lines, "limit": width - 8}
    for part in _parts(spec):
        if isinstance(part.get("mark"), dict):
            part["mark"] = _mark(part["mark"])
        for name, channel in part.get("encoding", {}).items():
            if isinstance(channel, dict):
                _channel(name, channel, width)
    spec["config"] = _config(config, width)
    return spec


def _parts(spec: Any) -> Iterator[dict[str, Any]]:
    """The specification, its layers and panels."""
    yield spec
    for inner in (*spec.get("layer", ()), *([spec["spec"]] if "spec" in spec else ())):
        yield from _parts(inner)


def _mark(mark: dict[str, Any]) -> dict[str, Any]:
    """A mark with lines and lengths for print."""
    lengths = {"height", "dx", "dy", "xOffset", "yOffset", "cornerRadius"}
    found = dict(mark)
    for name, value in mark.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if name in ("strokeWidth", "thickness"):
            found[name] = max(_THINNEST, round(_LENGTH * value, 2))
        elif name == "size" and mark["type"] != "tick":  # an area
            found[name] = round(_LENGTH**2 * value, 1)
        elif name in lengths or name == "size":
            found[name] = round(_LENGTH * value, 2)
        elif name == "fontSize":
            found[name] = max(_SMALL, round(_LENGTH * value, 1))
    return found


def _channel(name: str, channel: dict[str, Any], width: int) -> None:
    """Legends and labels in the room that there is."""
    names = (channel.get("scale") or {}).get("domain")
    if isinstance(channel.get("legend"), dict) and isinstance(names, list):
        columns = legend_columns(list(map(str, names)), room=width, letter=_LETTER, entry=22)
        channel["legend"] = {**channel["legend"], "columns": columns, "labelLimit": width - 40}
    axis = channel.get("axis")
    if isinstance(axis, dict):
        axis.pop("labelLimit", None)
        levels = channel.get("sort")
        if name == "x" and "labelAngle" in axis and isinstance(levels, list):
            labels = list(map(str, levels))
            axis["labelAngle"] = label_angle(labels, room=width - 50, letter=_LETTER)


def _config(config: Config, width: int) -> Config:
    """The configuration of a theme with letters and lines for print."""
    small, large = {"labelFontSize": _SMALL}, {"labelFontSize": _LARGE}
    limit = round(0.4 * width)
    axis: Config = {"titleFontSize": _LARGE, "titlePadding": 4, "labelLimit": limit, "tickSize": 3}
    axis |= {"gridWidth": 0.5, "domainWidth": 0.75, "tickWidth": 0.75}
    legend = {
        "symbolSize": 28,
        "symbolStrokeWidth": 1,
        "columnPadding": 8,
        "rowPadding": 1,
        "offset": 3,
    }
    styles = {
        name: {**style, "fontSize": _SMALL} if "fontSize" in style else _mark({"type": "", **style})
        for name, style in config["style"].items()
    }
    for style in styles.values():
        style.pop("type", None)
    return {
        **config,
        "padding": 1,
        "axis": {**config["axis"], **small, **axis},
        "title": {**config["title"], "fontSize": _LARGE, "limit": width},
        "header": {**config["header"], **large, "labelPadding": 3, "labelLimit": width - 30},
        "legend": {**config["legend"], **large, **legend},
        "facet": {"spacing": 10},
        "concat": {"spacing": 10},
        "style": styles,
    }
