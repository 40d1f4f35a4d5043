"""Time that senders take to recover from a loss, as samples of their state show it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dumbbell.metrics import Tables
from dumbbell.scenario import Scenario

#: The state of a sender without a loss or reordering (`tcp_ca_state`).
_OPEN = "Open"
#: States that repair a loss. Reordering alone stays in `Disorder`.
_REPAIR = ("Recovery", "Loss")
#: At least so many samples in a base RTT: a recovery takes an RTT or more.
_SAMPLES_PER_RTT = 4


def recovery_ms(
    tables: Tables, runs: Sequence[str], spec: Scenario, base_rtt_ms: float | None
) -> float | None:
    """Mean time from the first duplicate ACK of a loss until the sender is in the Open state.

    None without a loss, or with fewer than four samples in a base RTT.
    """
    interval_ns = spec["sampling"]["interval_ns"]
    if not base_rtt_ms or not interval_ns or interval_ns * _SAMPLES_PER_RTT > base_rtt_ms * 1e6:
        return None
    if not tables.has("samples"):
        return None
    samples = tables.of_runs("samples", runs, ["flow", "time_ns", "state"])
    times = []
    for rows in samples.partition_by("run", "flow"):
        times += _episodes_ns(rows.sort("time_ns"))
    return sum(times) / len(times) * 1e-6 if times else None


def _episodes_ns(rows: pl.DataFrame) -> list[int]:
    """Lengths of the stretches outside the Open state in which a loss was repaired."""
    found: list[int] = []
    begin: int | None = None
    repaired = False
    for time, state in rows.select("time_ns", "state").iter_rows():
        if state == _OPEN:
            if begin is not None and repaired:
                found.append(time - begin)
            begin, repaired = None, False
        else:
            begin = time if begin is None else begin
            repaired |= state in _REPAIR
    return found
