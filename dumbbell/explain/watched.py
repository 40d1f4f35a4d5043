"""Scenario that keeps what an explanation reads. What happens in the run stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dumbbell.experiment.load import canonical
from dumbbell.scenario import Scenario

#: Shortest sampling interval, and rows of windows and queues together; in a guest's memory.
_INTERVAL_NS, _ROWS, _GUEST_ROWS = 100_000, 400_000, 100_000


def interval_ns(scenario: Scenario, lives_ns: int, *, guest: bool = False) -> int:
    """Sampling interval, as short as the number of rows of windows and queues allows.

    Args:
        scenario: Scenario of the run.
        lives_ns: Lifetimes of all its flows together.
        guest: True if a guest keeps the rows in its memory.
    """
    queues = 2 * len(scenario["links"]) * scenario["duration_ns"]
    return max(_INTERVAL_NS, (lives_ns + queues) // (_GUEST_ROWS if guest else _ROWS))


def watched(
    scenario: Scenario, stretch: tuple[int, int], interval: int, hosts: Sequence[str]
) -> str:
    """Scenario with packets, windows and queues kept.

    Args:
        scenario: Scenario of the run.
        stretch: Start and end of the time in which packets are kept, ns.
        interval: Sampling interval of windows and queues, ns.
        hosts: Sending hosts at which SACK blocks are kept; empty: the engine has no taps.
    """
    spec: Any = dict(scenario)
    kept = {"from_ns": stretch[0], "to_ns": stretch[1]}
    known = {tap["name"] for tap in spec["taps"]}
    places = [
        (host, link["name"])
        for host in hosts
        for link in spec["links"]
        if host in (link["a"], link["b"])
    ]
    spec["taps"] = [
        *spec["taps"],
        *(
            {"name": _unused(f"explain{number}", known), "node": host, "link": link}
            for number, (host, link) in enumerate(places)
        ),
    ]
    spec["sampling"] = {
        **spec["sampling"],
        "interval_ns": interval,
        "samples": True,
        "queues": True,
        "drops": False,
        "probes": False,
        "packets": kept if hosts else None,
        "capture": None,
        "hops": kept,
    }
    return canonical(spec)


def _unused(name: str, known: set[str]) -> str:
    while name in known:
        name += "-"
    return name
