"""Stretches in which something other than the congestion window limited a flow."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.explain.explanation import What
from dumbbell.explain.observed import Observed, Row

#: RTTs that a stretch lasts at least, and that may lie between its parts.
_LEAST_RTTS, _GAP_RTTS = 1, 2


def limit_of(seen: Observed, row: Row) -> What | None:
    """Limit of a sender at a sample; None: its congestion window, or unknown."""
    if min(row["unsent_bytes"], row["in_flight_packets"], row["cwnd_packets"]) < 0:
        return None
    if row["in_flight_packets"] >= row["cwnd_packets"]:
        return None
    if row["unsent_bytes"] == 0:
        return What.APPLICATION
    out = (row["in_flight_packets"] + row["sacked_packets"] + row["lost_packets"]) * seen.mss
    if 0 <= row["rwnd_bytes"] < out + seen.mss:
        return What.RECEIVE_WINDOW
    return None


def limited(seen: Observed) -> list[tuple[What, Sequence[Row]]]:
    """Stretches, each with its samples."""
    found: list[tuple[What, list[Row]]] = []
    ended = int(seen.totals["end_ns"])
    end = min(seen.to_ns, ended) if ended >= 0 else seen.to_ns
    for row in seen.within(max(0, seen.totals["established_ns"]), end):
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
