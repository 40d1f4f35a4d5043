"""Colours and type of figures, light and dark. A specification names styles; this gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell.catalogue import congestion_controls, traffic_kinds

ThemeName = Literal["light", "dark"]
#: A configuration of Vega-Lite.
Config = dict[str, Any]

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

#: How algorithms are written.
NAMES = {
    **{one.name: one.title for one in congestion_controls().values()},
    "newreno": "NewReno",
    "udp": "UDP",
    "sack": "SACK",
    "fack": "FACK",
    "abc": "ABC",
    "sack-abc": "SACK + ABC",
    "fack-abc": "FACK + ABC",
}
#: Shapes of points, in the order of the colours: colour is never the only difference.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
#: Dash patterns of lines; the next one each time the colours have been used up.
DASHES = ([1, 0], [6, 3], [2, 2], [12, 3], [10, 3, 2, 3, 2, 3])
#: Dash pattern of algorithms that couple subflows.
_COUPLED = [8, 3, 2, 3]
#: Colour of traffic without congestion control; algorithms use those before it. Probes are black,
#: or white on a dark ground: they compete with nothing.
_GREY, _TEXT = 5, 6
#: Algorithms with a colour that no other one shares: they are compared often, in few colours.
_OWN = {"vegas": 7}
#: Pixels of a letter of a label, and what else an entry of a legend takes, roughly.
_LETTER = 7
_ENTRY = 34
#: Pixels in which labels have to find room.
_ROOM = 600


@dataclass(frozen=True)
class Theme:
    """Colours of a theme.

    The series can be told apart with each kind of colour blindness (after Okabe and Ito, 2008,
    lightness adapted to the ground).
    """

    ground: str
    text: str
    faint: str
    grid: str
    alarm: str
    #: From too little over an equal share to too much.
    diverging: tuple[str, str, str]
    series: tuple[str, ...]
    #: Colours of single algorithms, behind those of the series and the text.
    own: tuple[str, ...]

    @property
    def colours(self) -> tuple[str, ...]:
        """All colours of lines, in the order of their indices."""
        return (*self.series, self.text, *self.own)


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        ground="#ffffff",
        text="#1c2430",
        faint="#5b6675",
        grid="#e3e7ec",
        alarm="#c2251c",
        diverging=("#f0b452", "#f3f4f6", "#6fb1e6"),
        series=("#0b6fb8", "#c47a00", "#00825d", "#b3478a", "#5d5fc4", "#59636f"),
        own=("#6b2d00",),
    ),
    "dark": Theme(
        ground="#12171e",
        text="#e6eaf0",
        faint="#9aa6b5",
        grid="#2a333f",
        alarm="#ff8a7a",
        diverging=("#8a5600", "#222b36", "#175f9c"),
        series=("#63b3f2", "#f0ad3d", "#3fcf9f", "#ee8fc8", "#a3a5ff", "#aab4c0"),
        own=("#a0522d",),
    ),
}


@dataclass(frozen=True)
class Style:
    """Look of a series.

    Attributes:
        colour: Index of its colour in `Theme.colours`.
        dash: Dash pattern of its line.
        shape: Shape of its points.
    """

    colour: int
    dash: list[int]
    shape: str


def _algorithm_styles() -> dict[str, Style]:
    """Style of each congestion control and kind of traffic by name and title, in lower case.

    Plain and coupled algorithms are counted apart: a new one at the end of either changes no other.
    """
    styles = {
        "udp": Style(_GREY, [1, 0], SHAPES[_GREY]),
        "ping": Style(_TEXT, [1, 0], SHAPES[_TEXT % len(SHAPES)]),
    }
    others = (kind for kind in traffic_kinds() if kind not in (*styles, "tcp"))
    for place, kind in enumerate(others):
        dash, shape = DASHES[1 + place % (len(DASHES) - 1)], SHAPES[place % _GREY]
        styles[kind] = Style(_GREY, dash, shape)
    for coupled in (False, True):
        found = (one for one in congestion_controls().values() if one.coupled == coupled)
        for place, one in enumerate(found):
            colour = place % _GREY
            if one.name in _OWN:
                style = Style(_OWN[one.name], [1, 0], SHAPES[_OWN[one.name] % len(SHAPES)])
                styles |= {one.name.lower(): style, one.title.lower(): style}
                continue
            # The shapes of a colour: plain ones from the first on, coupled ones from the last back.
            turn = place // _GREY
            dash = _COUPLED if coupled else DASHES[turn % len(DASHES)]
            shape = SHAPES[(colour + (-1 - turn if coupled else turn)) % len(SHAPES)]
            style = Style(colour, dash, shape)
            styles |= {one.name.lower(): style, one.title.lower(): style}
    return styles


_ALGORITHMS = _algorithm_styles()


def algorithm_style(name: str) -> Style | None:
    """Style of a congestion control or kind of traffic in every figure; None for other names."""
    return _ALGORITHMS.get(name.lower())


def colour_expression(index: int) -> dict[str, str]:
    """Colour of a theme in a specification, which knows no theme: a parameter of `config`."""
    return {"expr": f"colour{index}"}


def alarm_expression() -> dict[str, str]:
    """Colour of losses and retransmissions in a specification."""
    return {"expr": "alarm"}


def legend_columns(
    names: Sequence[str], *, room: int = _ROOM, letter: float = _LETTER, entry: int = _ENTRY
) -> int:
    """Entries of a legend side by side; 0 where one row holds them all."""
    widest = max(map(len, names), default=0) * letter + entry
    fits = sum(len(name) * letter + entry for name in names) <= room
    return 0 if fits else max(1, int(room / widest))


def label_angle(labels: Sequence[str], *, room: int = _ROOM, letter: float = _LETTER) -> int:
    """Degrees by which the labels of an axis are turned: 0 where they have room side by side."""
    return 0 if max(map(len, labels), default=0) * letter * len(labels) <= room else -35


def config(name: ThemeName) -> Config:
    """The Vega-Lite configuration of a theme."""
    theme = THEMES[name]
    axis = {
        "labelColor": theme.faint,
        "titleColor": theme.text,
        "gridColor": theme.grid,
        "domainColor": theme.faint,
        "tickColor": theme.faint,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": 500,
        "titlePadding": 8,
        "labelOverlap": True,
    }
    return {
        "background": "transparent",
        "font": _FONT,
        "padding": 4,
        "view": {"stroke": "transparent"},
        "axis": axis,
        "axisX": {"grid": False},
        "axisY": {"domain": False, "ticks": False, "tickCount": 6},
        "title": {
            "color": theme.text,
            "fontSize": 14,
            "fontWeight": 600,
            "anchor": "start",
            "subtitleColor": theme.faint,
        },
        "header": {
            "labelColor": theme.text,
            "titleColor": theme.text,
            "labelFontSize": 13,
            "labelFontWeight": 600,
            "labelAnchor": "start",
        },
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "labelColor": theme.text,
            "titleColor": theme.faint,
            "labelFontSize": 13,
            "symbolSize": 90,
            "columnPadding": 14,
            "offset": 6,
        },
        "params": [
            {"name": "alarm", "value": theme.alarm},
            *(
                {"name": f"colour{place}", "value": colour}
                for place, colour in enumerate(theme.colours)
            ),
        ],
        "range": {
            "category": list(theme.series),
            "symbol": list(SHAPES),
            "diverging": list(theme.diverging),
        },
        "style": {
            "reference": {"color": theme.text, "strokeDash": [5, 4], "strokeWidth": 1.3},
            "reference-label": {"color": theme.faint, "fontSize": 12},
            "host": {"color": theme.faint, "strokeWidth": 2},
            "ladder-label": {"color": theme.text, "fontSize": 11},
            "lost": {"color": theme.alarm},
            "loss": {"color": theme.alarm, "thickness": 1, "opacity": 0.85},
            "published": {"strokeWidth": 2.5},
            "interval": {"color": theme.text, "strokeWidth": 1.6},
            "cell": {"color": theme.text, "fontSize": 13},
        },
    }
