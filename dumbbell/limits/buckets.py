"""Token buckets and delays of pipes, and times of flows, read from a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.scenario import Pipe, Scenario, shaper_of


def bucket_of(pipe: Pipe) -> tuple[str, float, int] | None:
    """Kind (`tbf`, `htb`), rate (bit/s) and depth (bytes) of a token bucket; None: there is none.

    Of HTB: the class that takes all packets without a codepoint, at its ceiling.
    """
    shaper = shaper_of(pipe)
    if "tbf" in shaper:
        return "tbf", float(shaper["tbf"]["rate_bps"]), int(shaper["tbf"]["burst_bytes"])
    if "htb" not in pipe["queue"]:
        return None
    htb = pipe["queue"]["htb"]
    own = next((one for one in htb["classes"] if not one["dscp"]), htb["classes"][0])
    return "htb", float(min(own["ceil_bps"], htb["rate_bps"])), int(own["cburst_bytes"])


def netem_of(pipe: Pipe) -> dict[str, Any] | None:
    """Parameters of a netem as the queue; None: another queue."""
    return dict(pipe["queue"]["netem"]) if "netem" in pipe["queue"] else None


def mean_delay_s(pipe: Pipe) -> float:
    """Mean delay of a netem as the queue; 0: another queue."""
    netem = netem_of(pipe)
    return 0.0 if netem is None else (netem["delay_ns"] + netem["jitter_ns"] / 2) / 1e9


def longest_delay_s(pipe: Pipe) -> float:
    """Longest delay of a netem as the queue; 0: another queue."""
    netem = netem_of(pipe)
    if netem is None:
        return 0.0
    return float(netem["delay_ns"] + netem["jitter_ns"] + spread_ns(netem)) / 1e9


def spread_ns(netem: Mapping[str, Any]) -> int:
    """Most by which a delay of netem's words differs from the mean, ns: tables end at 4."""
    words = netem.get("words")
    if not words:
        return 0
    return int(words["jitter_ns"]) * (1 if words["distribution"] == "uniform" else 4)


def least_delay_ns(netem: Mapping[str, Any]) -> int:
    """Shortest delay of a netem, ns."""
    words = netem.get("words")
    if words and words["reorder"]:
        return 0
    return max(int(netem["delay_ns"]) - spread_ns(netem), 0)


def last_start_s(spec: Scenario) -> float:
    """Time at which the last flow starts."""
    return max((flow["start_ns"] for flow in spec["flows"]), default=0) / 1e9
