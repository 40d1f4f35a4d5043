"""Words for times, rates and counts."""

from __future__ import annotations


def span(time_ns: float) -> str:
    """Length of time with its unit: `43.6 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if time_ns >= size:
            return f"{_digits(time_ns / size, 4)} {unit}"
    return f"{time_ns:.0f} ns"


def _digits(value: float, count: int) -> str:
    """Value with so many digits, none of them lost before the point: `1000`, not `1e+03`."""
    return f"{value:.0f}" if value >= 10 ** (count - 1) else f"{value:.{count}g}"


def moment(time_ns: int) -> str:
    """Point in time in seconds, to the microsecond: `0.12448 s`."""
    return f"{f'{time_ns / 1e9:.6f}'.rstrip('0').rstrip('.')} s"


def rate(bps: float) -> str:
    """Rate with its unit: `9.4 Mbit/s`."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{_digits(bps / size, 3)} {unit}"
    return f"{bps:.0f} bit/s"


def share(of_one: float) -> str:
    """Share as percent: `0.5 %`."""
    return f"{100 * of_one:.3g} %"


def size(count: int) -> str:
    """Bytes with their unit: `64 KiB`, `1448 bytes`."""
    for unit, one in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= 10 * one:
            return f"{_digits(count / one, 4)} {unit}"
    return f"{count} bytes"
