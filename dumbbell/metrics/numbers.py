"""Numbers as people read them."""

from __future__ import annotations

import math

#: A number this near to a whole one, as a part of it, is whole: 2.00001 s from ns.
_WHOLE = 1e-5


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
    if abs(value - round(value)) <= _WHOLE * value:
        return f"{value:.0f}"
    if value < 1e-4:
        return f"{float(f'{value:.3g}'):.{_places(value) + 2}f}".rstrip("0")
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def _places(value: float) -> int:
    """Decimal place of the first digit of a number below 1."""
    return -math.floor(math.log10(value))


def with_error(value: float, half: float) -> str:
    """A value with half the width of its interval, to the same decimal place: `98.5 ± 0.3`."""
    if half <= 0 or half < abs(value) * 5e-5:
        return number(value)
    # Of a small number as many places as its first three digits need.
    most = max(4, _places(abs(value)) + 2) if 0 < abs(value) < 1 else 4
    places = max(0, min(most, 1 + _places(half)))
    if abs(value) >= 1000:
        return f"{number(value)} ± {number(math.ceil(half))}"
    places = min(places, 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else most)
    return f"{value:.{places}f} ± {max(half, 10**-places):.{places}f}"


def with_interval(mean: float | None, low: float | None, high: float | None) -> str:
    """A mean with half the width of its interval; alone where the interval is unknown or empty."""
    if mean is None or low is None or high is None or not low < high:
        return number(mean)
    return with_error(mean, max(high - mean, mean - low))


def percent(share: float | None) -> str:
    """A share with at most one decimal place; what is not 0 does not look so. Empty for none."""
    if share is None:
        return ""
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1 %"
    return f"{value:.1f} %" if value < 10 and value else f"{value:.0f} %"
