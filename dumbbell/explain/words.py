"""Words for times, rates and counts."""

from __future__ import annotations


def span(time_ns: float) -> str:
    """Length of time with its unit: `43.6 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if time_ns >= size:
            return f"{time_ns / size:.4g} {unit}"
    return f"{time_ns:.0f} ns"


def moment(time_ns: int) -> str:
    """Point in time in seconds, to the microsecond: `0.12448 s`."""
    return f"{f'{time_ns / 1e9:.6f}'.rstrip('0').rstrip('.')} s"


def rate(bps: float) -> str:
    """Rate with its unit: `9.4 Mbit/s`."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps:.0f} bit/s"


def share(of_one: float) -> str:
    """Share as percent: `0.5 %`."""
    return f"{100 * of_one:.3g} %"


def size(count: int) -> str:
    """Bytes with their unit: `64 KiB`, `1448 bytes`."""
    return f"{count / 1024:.4g} KiB" if count >= 10 * 1024 else f"{count} bytes"


def many(count: int, one: str, several: str = "") -> str:
    """Count with its noun: `1 packet`, `3 packets`."""
    return f"{count} {one if count == 1 else several or one + 's'}"
