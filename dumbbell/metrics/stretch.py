"""Numbers of one flow, queue or link in a stretch of time of one run: those of explanations.

Times are in ns since the start of the run. A number that is not known is None, never 0.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

Row = Mapping[str, Any]
"""A row of `samples` or `flows`."""

#: Share of the window that a reduction takes at least, and packets.
_REDUCED, _PACKETS = 0.15, 2
#: RTTs in which it takes place, and states in which a window is reduced anyway.
_RTTS = 2
_REDUCED_STATES = ("CWR", "Recovery", "Loss")
#: Share of its former value from which on a window counts as restored.
_RESTORED = 0.9
#: RTT of a flow that measured none.
_LEAST_RTT_NS = 1_000_000


def begin_ns(flow: Row) -> int:
    """Time from which a flow can send data: its handshake has finished; 0: never, or unknown."""
    established: int = flow["established_ns"]
    return established if established >= 0 else 0


def typical_rtt_ns(samples: Iterable[Row], flow: Row) -> int:
    """Median of the smoothed RTTs of samples; without any the least RTT of the run, at least 1 ms.

    Source: RFC 6298 §2; Linux `tcpi_rtt`, `tcpi_min_rtt`.
    """
    known = sorted(row["srtt_ns"] for row in samples if row["srtt_ns"] > 0)
    if known:
        return int(known[len(known) // 2])
    return max(int(flow["rtt_min_ns"]), _LEAST_RTT_NS)


def rtts_before_ns(row: Row, rtts: float, least_rtt_ns: int = 0) -> int:
    """Time so many smoothed RTTs before a sample; an RTT counts as at least `least_rtt_ns`."""
    return int(row["time_ns"] - rtts * max(row["srtt_ns"], least_rtt_ns))


def goodput_bps(arrivals: Iterable[tuple[int, int, int]], from_ns: int, to_ns: int) -> float:
    """Payload that arrived for the first time after `from_ns`, up to `to_ns`, over that time.

    Args:
        arrivals: Arrival (-1: none), first byte and payload bytes of segments.
        from_ns: Start of the stretch.
        to_ns: Its end.

    Source: RFC 2647 §3.17 (goodput).
    """
    known: set[int] = set()
    total = 0
    for time, seq, payload in sorted(one for one in arrivals if one[2]):
        if 0 <= time <= to_ns and seq not in known:
            known.add(seq)
            total += payload if time > from_ns else 0
    return total * 8e9 / (to_ns - from_ns)


def longest_stop_ns(samples: Sequence[Row]) -> int:
    """Longest time between samples in which nothing was delivered in order."""
    longest, since = 0, samples[0] if samples else {}
    for row in samples[1:]:
        if row["delivered_bytes"] > since["delivered_bytes"]:
            since = row
        longest = max(longest, row["time_ns"] - since["time_ns"])
    return int(longest)


def reductions(samples: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Samples before and after each entry into CWR, Recovery or Loss, or fall of the window.

    A fall is one by 15 % and two packets within two RTTs. Source: RFC 5681 §3; Linux
    `tcp_ca_state`.
    """
    found: list[tuple[Row, Row]] = []
    tops: deque[Row] = deque()  # of the last RTTs, each larger than those after it
    for before, after in itertools.pairwise(samples):
        while tops and tops[-1]["cwnd_packets"] <= before["cwnd_packets"]:
            tops.pop()
        tops.append(before)
        since = rtts_before_ns(after, _RTTS)
        while len(tops) > 1 and tops[0]["time_ns"] < since:
            tops.popleft()
        if after["state"] in _REDUCED_STATES:
            if after["state"] != before["state"]:
                found.append((before, after))
            tops.clear()
        elif before["state"] in _REDUCED_STATES:
            tops.clear()
        else:
            lost = tops[0]["cwnd_packets"] - after["cwnd_packets"]
            if lost >= max(_PACKETS, _REDUCED * tops[0]["cwnd_packets"]):
                found.append((tops[0], after))
                tops.clear()
    return found


def is_restored(row: Row, before: Row) -> bool:
    """Returns true if threshold and window (90 % of it) are those of an earlier sample again."""
    back: bool = row["ssthresh_packets"] >= before["ssthresh_packets"]
    return back and row["cwnd_packets"] >= _RESTORED * before["cwnd_packets"]


def outstanding_bytes(row: Row, mss: int) -> int:
    """Payload between the first unacknowledged byte and the next to be sent, by segments of `mss`.

    Source: Linux `tcp_packets_in_flight`, `sacked_out`, `lost_out`.
    """
    parts = ("in_flight_packets", "sacked_packets", "lost_packets")
    return mss * sum(int(row[one]) for one in parts)


def smallest_window(samples: Iterable[Row]) -> Row:
    """Sample with the smallest window that the receiver advertised, the first of several."""
    return min(samples, key=lambda one: int(one["rwnd_bytes"]))


def is_long_wait(waited_ns: int, row: Row, share: float) -> bool:
    """Returns true if a wait is at least this share of the least RTT known at a sample."""
    return bool(waited_ns >= share * max(row["rtt_min_ns"], 1))


def lives_ns(flows: pl.DataFrame) -> int:
    """Lifetimes of all flows together, from the first packet to the end."""
    lives = (flows["end_ns"] - flows["start_ns"]).clip(0)
    return int(lives.sum())


def passages(pipes: pl.DataFrame) -> int:
    """Packets times links: arrivals at all pipes together."""
    return int(pipes["arrived_packets"].clip(0).sum())


def longest_wait_ns(pipes: pl.DataFrame) -> int | None:
    """Longest time of a packet in a queue; None: not known."""
    longest: Any = pipes["sojourn_max_ns"].max()
    return int(longest) if longest is not None and longest >= 0 else None
