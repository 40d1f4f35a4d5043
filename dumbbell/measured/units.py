"""Names of columns with a unit at their end: `rtt_ms` is the quantity `rtt` in milliseconds."""

from __future__ import annotations

#: Unit → dimension, and its size in the unit of the result tables (ns, bytes, bit/s, packets).
UNITS: dict[str, tuple[str, float]] = {
    "ns": ("time", 1.0),
    "us": ("time", 1e3),
    "ms": ("time", 1e6),
    "s": ("time", 1e9),
    "bytes": ("bytes", 1.0),
    "kb": ("bytes", 1e3),
    "mb": ("bytes", 1e6),
    "gb": ("bytes", 1e9),
    "kib": ("bytes", 1024.0),
    "mib": ("bytes", 1024.0**2),
    "bps": ("rate", 1.0),
    "kbps": ("rate", 1e3),
    "mbps": ("rate", 1e6),
    "gbps": ("rate", 1e9),
    "packets": ("packets", 1.0),
}
#: Dimension → unit of the result tables.
OURS = {"time": "ns", "bytes": "bytes", "rate": "bps", "packets": "packets"}


def split_name(column: str) -> tuple[str, str, float]:
    """Quantity, dimension, and size of the unit: `rtt_ms` → `rtt`, `time`, 10⁶.

    Dimension and size of a name without a unit are empty and 1.
    """
    quantity, _, unit = column.strip().lower().rpartition("_")
    if quantity and unit in UNITS:
        return quantity, *UNITS[unit]
    return column.strip().lower(), "", 1.0
