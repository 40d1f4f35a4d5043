"""Examples made shorter, with fewer cells: enough for every part of a report and a summary."""

from __future__ import annotations

from pathlib import Path

#: Seconds, where an example's own are not taken.
SHORT = {
    "asymmetric": 4, "buffer-sizes": 3, "bufferbloat": 8, "bursty-loss": 3, "cellular": 4,
    "many-flows": 2, "multipath": 4, "one-loss": 4, "parking-lot": 4, "rrul": 12, "spraying": 4,
    "short-flows": 4, "two-flows": 8, "udp-bursts": 8,
}  # fmt: skip
#: Levels of examples with many cells.
FEWER = {
    "buffer-sizes": {"cc": ["cubic", "bbr"], "buffer": ["10 packets", "4 BDP"]},
    "rrul": {"queue": ["drop-tail", "voice first"]},
    "short-flows": {"load": ["10 Mbit/s", "40 Mbit/s"]},
}


def shorter(file: Path) -> dict[str, str | list[str]]:
    """Fields of a shorter example, as `set` of `dumbbell.run`."""
    chosen: dict[str, str | list[str]] = {**FEWER.get(file.stem, {})}
    if file.stem in SHORT:
        chosen["duration"] = f"{SHORT[file.stem]} s"
    return chosen
