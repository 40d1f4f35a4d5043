"""Colours of figures, as JSON for the programs of pages."""

from __future__ import annotations

from typing import Any

from dumbbell.catalogue import congestion_controls, traffic_kinds
from dumbbell.figures.theme import NAMES, THEMES, algorithm_style


def colours() -> dict[str, Any]:
    """Series of each theme, and name, place in the series and dashes of each algorithm."""
    algorithms = {}
    for name in (*congestion_controls(), *traffic_kinds()):
        style = algorithm_style(name)
        if style is not None:
            algorithms[name] = {
                "title": NAMES.get(name, name),
                "colour": style.colour,
                "dash": style.dash,
            }
    series = {name: list(theme.colours) for name, theme in THEMES.items()}
    return {"series": series, "algorithms": algorithms}
