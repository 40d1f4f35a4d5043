"""Stretches in which something other than the congestion window limited a flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dumbbell.explain.explanation import What
from dumbbell.explain.observed import Observed, Row
from dumbbell.metrics.stretch import begin_ns, outstanding_bytes

#: RTTs that a stretch lasts at least, and that may lie between its parts.
_LEAST_RTTS, _GAP_RTTS = 1, 2


def limit_of(seen: Observed, row: Row) -> What | None:
    """Limit of a sender at a sample; None: its congestion window, or unknown."""
    if any(row[one] < 0 for one in ("unsent_bytes", "in_flight_packets", "cwnd_packets")):
        return None
    if row["in_flight_packets"] >= row["cwnd_packets"]:
        return None
    if row["unsent_bytes"] == 0:
        return source_limit(seen, row["time_ns"])
    if 0 <= row["rwnd_bytes"] < outstanding_bytes(row, seen.mss) + seen.mss:
        return What.RECEIVE_WINDOW
    return None


def source_limit(seen: Observed, time_ns: int) -> What:
    """Limit of a sender whose socket has no unsent byte.

    An application that always has data waits for memory of the send buffer. A subflow waits for
    its connection, unless that has nothing unsent either.
    """
    if seen.totals["kind"] == "subflow":
        unsent = seen.connection_unsent.get(time_ns, -1)
        return What.APPLICATION if unsent == 0 else What.CONNECTION
    spec = seen.spec
    source = spec["traffic"]["tcp"]["source"] if spec and "tcp" in spec["traffic"] else None
    stopped = spec is not None and spec["stop_ns"] is not None and time_ns >= spec["stop_ns"]
    return What.SEND_BUFFER if endless(source) and not stopped else What.APPLICATION


def endless(source: Any) -> bool:
    """Returns true for an application that fills the send buffer whenever it can."""
    if not isinstance(source, dict) or "bulk" not in source:
        return False
    return source["bulk"]["bytes"] is None and not source["bulk"]["refill_ns"]


def limited(seen: Observed) -> list[tuple[What, Sequence[Row]]]:
    """Stretches, each with its samples."""
    found: list[tuple[What, list[Row]]] = []
    begin, ended = begin_ns(seen.totals), int(seen.totals["end_ns"])
    for row in seen.life:
        if row["time_ns"] < begin or 0 <= ended < row["time_ns"]:
            continue
        what = limit_of(seen, row)
        if what is None:
            continue
        if found and found[-1][0] is what:
            gap = row["time_ns"] - found[-1][1][-1]["time_ns"]
            if gap <= _GAP_RTTS * seen.rtt_ns:
                found[-1][1].append(row)
                continue
        found.append((what, [row]))
    least = _LEAST_RTTS * seen.rtt_ns
    return [
        (what, rows) for what, rows in found if rows[-1]["time_ns"] - rows[0]["time_ns"] >= least
    ]
