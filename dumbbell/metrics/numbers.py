"""Numbers as people read them."""

from __future__ import annotations

import math


def number(value: object) -> str:
    """A number with three to four significant digits, thousands apart; `–` for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if not isinstance(value, (int, float)):
        return str(value)
    if value < 0:
        return f"−{number(-value)}"
    if math.isinf(value):
        return "∞"
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def with_error(value: float, half: float) -> str:
    """A value with half the width of its interval, to the same decimal place: `98.5 ± 0.3`."""
    if half <= 0 or half < abs(value) * 5e-5:
        return number(value)
    places = max(0, min(4, 1 - math.floor(math.log10(half))))
    if abs(value) >= 1000:
        return f"{number(value)} ± {number(math.ceil(half))}"
    places = min(places, 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 4)
    return f"{value:.{places}f} ± {max(half, 10**-places):.{places}f}"
