"""Disciplines with parameters that fit a path."""

from __future__ import annotations

from typing import Any

from dumbbell.agreement.cells import PACKET_BITS, Path, time_text

#: Bytes of a full frame.
FRAME = 1514
#: Disciplines that draw random numbers.
RANDOM = ("red", "choke", "pie", "fq_pie")


def disciplines(path: Path) -> dict[str, dict[str, Any]]:
    """All disciplines by name.

    A target is at least a twentieth of the RTT and 1.5 packets, an interval at least an RTT and 40
    packets: less would be a mistake in the experiment, as RFC 8289 (section 4) says.
    """
    limit = max(20, path.limit)
    packet_s = PACKET_BITS / path.rate
    target = time_text(max(path.rtt / 20, 1.5 * packet_s, 20e-6))
    interval = time_text(max(path.rtt, 40 * packet_s, 200e-6))
    packets, lowest = f"{limit} packets", max(3, limit // 12)
    by_delay = {"limit": packets, "target": target}
    burst = max(15, 2 * lowest)
    return {
        "pfifo": {"limit": packets},
        "bfifo": {"limit": f"{limit * FRAME} bytes"},
        "pfifo_head_drop": {"limit": packets},
        "codel": {**by_delay, "interval": interval, "ecn": True},
        "fq_codel": {**by_delay, "interval": interval},
        "fq": {"limit": packets, "flow_limit": packets},
        "sfq": {"limit": f"{min(limit, 127)} packets"},
        "pie": {**by_delay, "ecn": True},
        "fq_pie": by_delay,
        "red": {
            "limit": f"{limit * FRAME} bytes",
            "min": f"{lowest * FRAME} bytes",
            "max": f"{3 * lowest * FRAME} bytes",
            "avpkt": "1000 bytes",
            "burst": burst,
            "probability": "10 %",
        },
        "choke": {
            "limit": packets,
            "min": f"{lowest} packets",
            "max": f"{3 * lowest} packets",
            "burst": burst,
        },
        "cake": {"rtt": interval},
    }
