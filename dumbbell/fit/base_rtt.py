"""Base RTT of the path, and its part between the tap and the sender.

The least RTT over a transfer is free of queueing (Jain 1989; BBR's RTprop, Cardwell et al. 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.estimate import Estimate, at_most, measured, unknown
from dumbbell.fit.observe import Observed, sender_handshake

Floats = NDArray[np.float64]
#: Frame of a SYN with its options.
_SYN_BYTES = 74
#: Handshake and data agree if they differ by less: share of the RTT, and s.
_AGREE, _AGREE_S = 0.005, 5e-5


@dataclass(frozen=True)
class BaseRtt:
    """Base RTTs in s, without the serialisation of a full frame.

    Attributes:
        path: Whole path.
        near: From the tap to the sender and back.
        far: From the tap to the receiver and back.
        serialises: False if a frame of an idle transfer passes the bottleneck in an instant, as
            through a token bucket.
    """

    path: Estimate
    near: Estimate
    far: Estimate
    serialises: bool = True


def base_rtt(seen: Observed, rate_bps: float | None, *, drained: bool = True) -> BaseRtt:
    """Base RTTs.

    Args:
        seen: The capture.
        rate_bps: Rate of the bottleneck; None: unknown, so frames take no time.
        drained: False if the queue was never empty: without a handshake all RTTs are upper bounds.
    """
    found = _measured(seen, rate_bps)
    if drained or _handshake(seen)[0] is not None or found.path.value is None:
        return found
    said = "packets waited all the time, so the base RTT is shorter"
    path, near, far = (
        one if one.value is None else at_most(one.value, said)
        for one in (found.path, found.near, found.far)
    )
    return BaseRtt(path, near, far, found.serialises)


def _measured(seen: Observed, rate_bps: float | None) -> BaseRtt:
    wire = 8 / rate_bps if rate_bps else 0.0
    near_shakes, far_shakes = _handshake(seen)
    behind = bottleneck_is_behind(seen)
    frames = (_SYN_BYTES * wire, seen.frame_bytes * wire)
    tick_s = seen.tick_s
    far = _side(seen.sent_s, seen.far_s, far_shakes, frames if behind else (0.0, 0.0), tick_s)
    near = _side(seen.sent_s, seen.near_s, near_shakes, (0.0, 0.0) if behind else frames, tick_s)
    if far is None:
        none = unknown("no ACK in the capture answers a data packet")
        return BaseRtt(none, none, none)
    how = "handshake" if far.of_handshake else "least RTT of data"
    far_one = far.estimate(f"{how} to the receiver and back")
    if near is None:
        said = unknown("no handshake and no timestamps show the way to the sender")
        return BaseRtt(far_one, said, far_one)
    shown = "handshake and echoed timestamps" if near_shakes is not None else "echoed timestamps"
    near_one = near.estimate(f"{shown} to the sender and back")
    whole = (
        f"{how} beyond the tap {far.least_s * 1e3:.3g} ms, before it {near.least_s * 1e3:.3g} ms"
    )
    both = _Side(
        near.least_s + far.least_s,
        max(near.spread_s + far.spread_s, 0.01 * (near.least_s + far.least_s), seen.tick_s),
        near.waits_s + far.waits_s,
        far.of_handshake,
    )
    serialises = far.serialises if behind else near.serialises
    return BaseRtt(both.estimate(whole), near_one, far_one, serialises)


@dataclass(frozen=True)
class _Side:
    """Least RTT of one side, its spread, and how much RTTs vary there although nothing queues."""

    least_s: float
    spread_s: float
    waits_s: float
    of_handshake: bool
    serialises: bool = True

    def estimate(self, evidence: str) -> Estimate:
        """Interval around the least RTT; with waits, all of them may be in it."""
        if self.waits_s == 0.0:
            return measured(self.least_s, self.spread_s, evidence)
        said = (
            f"{evidence}; RTTs without a queue differ by {self.waits_s * 1e3:.2g} ms (slots, or "
            "a link layer that repeats), so even the least may have waited"
        )
        low = max(0.0, self.least_s - 2 * self.waits_s)
        return Estimate(self.least_s, low, self.least_s + self.spread_s, "measured", said)


def bottleneck_is_behind(seen: Observed) -> bool:
    """True if the queue stands between the tap and the receiver: the RTT there varies more."""
    far, near = _range(seen.far_s), _range(seen.near_s)
    if seen.seen_lost_share == seen.seen_lost_share and len(seen.lost_s) >= 3:
        return bool(seen.seen_lost_share > 0.5)
    return far >= near


def _range(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    if len(known) < 5:
        return 0.0
    low, high = np.quantile(known, (0.02, 0.9))
    return float(high - low)


def _handshake(seen: Observed) -> tuple[float | None, float | None]:
    """RTTs of the handshake: tap to sender, tap to receiver; None: not in the capture."""
    near = sender_handshake(seen.row)
    return (None, None) if near is None else (near, seen.row["handshake_rtt_ns"] / 1e9 - near)


def _side(
    sent_s: Floats,
    rtt_s: Floats,
    shakes: float | None,
    frames_s: tuple[float, float],
    tick_s: float,
) -> _Side | None:
    """One side: of the handshake, whose frames are short, and of data less a frame.

    The handshake meets no queue of this transfer. If it took longer than data did later, packets
    wait for something else. Where it agrees with the data, both show the base RTT.
    """
    least = _least_of_rounds(sent_s, rtt_s)
    syn_s, frame_s = frames_s
    if not len(least):
        return None if shakes is None else _Side(max(0.0, shakes - syn_s), syn_s, 0.0, True)
    data = float(least[0])
    beyond = float(least[min(3, len(least) - 1)] - data)
    if shakes is None:
        return _Side(max(0.0, data - frame_s), max(beyond, frame_s, 0.01 * data), 0.0, False)
    # A token bucket passes a frame of an idle transfer in an instant, a link serialises it.
    serialises = data > shakes + 0.5 * (frame_s - syn_s)
    short = max(0.0, shakes - syn_s) if serialises else shakes
    longer = shakes - data
    waits = max(longer, beyond) if longer > max(_AGREE * data, _AGREE_S, tick_s) else 0.0
    found = min(data, short)
    return _Side(found, max(0.01 * found, tick_s), waits, short <= data, serialises)


def _least_of_rounds(sent_s: Floats, rtt_s: Floats) -> Floats:
    """Least RTTs of the rounds (RTTs of time), in order."""
    known = ~np.isnan(rtt_s)
    at, values = sent_s[known], rtt_s[known]
    if not len(values):
        return values
    round_s = max(float(values.min()), (at[-1] - at[0]) / 10_000, 1e-4)
    place = ((at - at[0]) / round_s).astype(int)
    return np.sort(np.minimum.reduceat(values, np.flatnonzero(np.diff(place, prepend=-1))))
