"""Rates at which the applications of a TCP flow write and read."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import Flow


def written_mbps(flow: Flow) -> float | None:
    """Rate at which the application of the sender writes, Mbit/s; None without a limit."""
    tcp: Any = flow["traffic"].get("tcp")
    source = tcp["source"] if tcp else None
    periodic = source.get("periodic") if isinstance(source, dict) else None
    return 8e3 * periodic["chunk_bytes"] / periodic["interval_ns"] if periodic else None


def read_mbps(flow: Flow) -> float | None:
    """Rate at which the application of the receiver reads, Mbit/s; None without a limit."""
    tcp: Any = flow["traffic"].get("tcp")
    rate = tcp["sink"]["rate_bps"] if tcp else None
    return rate * 1e-6 if rate else None
