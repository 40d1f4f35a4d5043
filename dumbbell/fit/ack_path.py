"""Queues on the way of the ACKs, told by the timestamps of both ends (RFC 7323 §3).

An ACK states the receiver's clock as it left, and a data packet the sender's. What the tap's clock
says beyond the least difference, the packet waited on its way. Waits of ACKs are no queue of the
data, but lengthen RTTs, and ACKs that a queue spaces show its rate, not that of the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Resolution of the clocks, s (Linux: 1 ms), and the quantile of waits that counts.
CLOCK_S, WAITS = 0.001, 0.9
#: Waits that count: beyond clocks' resolution and drift, s; part of the RTT; ticks of the capture.
_LEAST_S, _PART, _TICKS = 0.008, 0.2, 4
#: Gaps of a sender that paces, whose packets wait for their time; RTT to a sender at the tap, s.
_GAPS, _AT_TAP_S = 5, 0.001
#: Fewest ACKs that show a queue, spread of its gaps, and part of a transfer in which it grows.
_ACKS_FEW, _EVEN, _START = 50, 0.1, 0.3


def without_waits(ack_s: Floats, stamp_s: Floats, tick_s: float = 0.0) -> Floats:
    """Times at which ACKs would pass the tap without waits; `ack_s` itself if there are none.

    Args:
        ack_s: When they passed.
        stamp_s: When they left, by the receiver's clock (NaN: unknown).
        tick_s: Resolution of the capture's clock.
    """
    if not len(ack_s) or np.isnan(stamp_s[0]):
        return ack_s
    late = ack_s - stamp_s
    waits = late - late.min()
    if float(np.quantile(waits, WAITS)) < max(_LEAST_S, _TICKS * tick_s):
        return ack_s
    found: Floats = np.maximum.accumulate(ack_s - waits)
    return found


def near_without_waits(
    near_s: Floats, sent_s: Floats, stamp_s: Floats, tick_s: float = 0.0
) -> tuple[Floats, float]:
    """RTTs to the sender without waits of ACKs, and these waits as of `WAITS`.

    Args:
        near_s: RTTs between tap and sender at data packets (NaN: no sample).
        sent_s, stamp_s: When these packets passed, and when they left by the sender's clock.
        tick_s: Resolution of the capture's clock.
    """
    known = np.flatnonzero(~np.isnan(near_s))
    if not len(known) or np.isnan(stamp_s[0]):
        return near_s, 0.0
    least = float(near_s[known].min())
    late = sent_s - stamp_s
    waited = (late - late.min())[known]
    on_way = near_s[known] - least - waited
    wait = float(np.quantile(on_way, WAITS))
    rtt = least + float(np.quantile(waited, WAITS))
    gap = float(np.quantile(np.diff(sent_s), WAITS)) if len(sent_s) > 1 else 0.0
    if least < _AT_TAP_S or wait < max(_LEAST_S, _PART * rtt, _GAPS * gap, _TICKS * tick_s):
        return near_s, 0.0
    found = near_s.copy()
    found[known] = least + waited
    return found, wait


def way_back(
    ack_s: Floats, left_s: Floats, wait_s: float, base_s: float
) -> tuple[float, float] | None:
    """ACKs per s that pass a queue of ACKs, and the longest wait in it; None: no such queue shows.

    A queue spaces ACKs evenly; slots and a path that changes do not. Before the queue, ACKs show
    it by waits beyond the base RTT.

    Args:
        ack_s, left_s: ACKs as they passed, and as without waits.
        wait_s: Their wait, s; `base_s`: base RTT.
    """
    if wait_s <= 0 or len(ack_s) < _ACKS_FEW:
        return None
    waits = ack_s - left_s
    longest = float(waits.max())
    if longest > 0:
        gaps = np.diff(ack_s)[waits[1:] > longest / 2]
        middle = float(np.median(gaps)) if len(gaps) else 0.0
        if middle <= 0 or float((np.abs(gaps - middle) < _EVEN * middle).mean()) < 0.5:
            return None
        return 1 / middle, longest
    if wait_s < base_s:
        return None
    late = ack_s[ack_s > ack_s[0] + _START * (ack_s[-1] - ack_s[0])]
    return (len(late) - 1) / float(late[-1] - late[0]), wait_s
