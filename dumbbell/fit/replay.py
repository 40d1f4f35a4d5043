"""Twin that loses the packets that the capture lost, whatever drops them.

A queue discipline or a radio drops at random, so no run of a twin has the capture's losses, and a
window that follows others differs from the capture's. If the same packets are lost, only the
congestion control decides. The comparison is then one of reactions to given losses, as Gordon's
(Mishra et al. 2019), which drops packets of its own choice.
"""

from __future__ import annotations

from dataclasses import replace

from dumbbell.fit.observe import Observed
from dumbbell.fit.twin import Sketch

#: Numbers of lost packets beyond this are left out: the compared stretch is shorter.
_NUMBER_MAX = 60_000
#: Packets beyond the longest queue of the capture, and its multiple, that the twin's queue takes.
_BESIDE, _TIMES = 50, 2


def replaying(one: Sketch, seen: Observed) -> Sketch:
    """The twin with the capture's losses; `one` itself if the capture has none."""
    lost = tuple(int(number) for number in seen.lost_nth if number < _NUMBER_MAX)
    if not lost:
        return one
    flight = float(seen.flight_bytes.max()) / seen.payload_bytes
    limit = max(4 * one.limit_packets, round(_TIMES * flight) + _BESIDE)
    return replace(one, replayed=lost, queue="unknown", limit_packets=limit, policer=None, loss=0.0)
