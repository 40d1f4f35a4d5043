"""Times of a capture whose clock jumps or is coarse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
#: Silence with data in flight after which a sender would have retransmitted (RFC 6298), ns.
_SILENCE_NS = 800_000_000
#: The same on long paths: so many times the longest gap between the packets of the handshake.
_RTTS, _HANDSHAKE = 3, 2
#: A clock that went back and is ahead again within so many packets had some packets out of order.
_WITHIN = 20
#: Most steps back that are straightened one by one.
_STEPS_MAX = 1000


@dataclass(frozen=True)
class Clock:
    """Times without jumps.

    Attributes:
        seconds: Time of each packet since the first, s; never falls.
        backward_steps: Number of times that the clock went back.
        ahead_s: Sum of the jumps ahead that were taken out.
        tick_s: Resolution: all times are multiples of it.
    """

    seconds: NDArray[np.float64]
    backward_steps: int
    ahead_s: float
    tick_s: float


def straightened(times_ns: Numbers, continues: NDArray[np.bool_]) -> Clock:
    """Times without jumps.

    Args:
        times_ns: Time of each packet.
        continues: True for packets after which data is in flight, and the sender goes on as if no
            time-out had passed: a long silence behind them is a jump of the clock.
    """
    steps = np.diff(times_ns)
    back = np.flatnonzero(steps < 0)
    moved = _without_steps_back(times_ns, back)
    gaps = np.diff(moved)
    # A handshake over a long path: its RTT is the longest of the first gaps.
    silence_ns = max(_SILENCE_NS, _RTTS * int(gaps[:_HANDSHAKE].max(initial=0)))
    jumps = np.flatnonzero((gaps > silence_ns) & continues[:-1])
    ahead = 0
    if len(jumps):
        extra = np.zeros(len(moved), np.int64)
        extra[jumps + 1] = gaps[jumps] - int(np.median(np.maximum(gaps, 0)))
        ahead = int(extra.sum())
        moved = moved - np.cumsum(extra)
    tick = int(np.gcd.reduce(times_ns - times_ns[0])) if len(times_ns) > 1 else 0
    seconds = np.maximum.accumulate((moved - moved[0]) / 1e9)
    return Clock(seconds, len(back), ahead / 1e9, tick / 1e9)


def _without_steps_back(times_ns: Numbers, back: Numbers) -> Numbers:
    """Times in which a clock that was set back goes on from where it was."""
    moved = times_ns.copy()
    for number in back[:_STEPS_MAX]:
        before = moved[max(0, number - _WITHIN) : number + 1].max()
        after = moved[number + 1 : number + 1 + _WITHIN]
        if after.max() < before:
            moved[number + 1 :] += before - after[0]
    return moved
