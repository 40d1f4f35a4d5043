"""Base RTT of the path, and its part between the tap and the sender.

The least RTT over a transfer is free of queueing (Jain 1989; BBR's RTprop, Cardwell et al. 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.fit.estimate import Estimate, measured, unknown
from dumbbell.fit.observe import Observed

#: Frame of a SYN with its options.
_SYN_BYTES = 74


@dataclass(frozen=True)
class BaseRtt:
    """Base RTTs in s, without the serialisation of a full frame.

    Attributes:
        path: Whole path.
        near: From the tap to the sender and back.
        far: From the tap to the receiver and back.
    """

    path: Estimate
    near: Estimate
    far: Estimate


def base_rtt(seen: Observed, rate_bps: float | None) -> BaseRtt:
    """Base RTTs. `rate_bps`: rate of the bottleneck; None: unknown, so frames take no time."""
    wire = 8 / rate_bps if rate_bps else 0.0
    near_shakes, far_shakes = _handshake(seen)
    far_data, near_data = _least(seen.far_s), _least(seen.near_s)
    frame = seen.frame_bytes * wire
    behind = bottleneck_is_behind(seen)
    near = _side(near_shakes, near_data, _SYN_BYTES * wire, 0.0 if behind else frame)
    far = _side(far_shakes, far_data, _SYN_BYTES * wire, frame if behind else 0.0)
    if far is None:
        none = unknown("no ACK in the capture answers a data packet")
        return BaseRtt(none, none, none)
    how = "least RTT of data" if far_data is not None else "handshake"
    far_one = measured(far, _spread(seen.far_s, far), f"{how} to the receiver and back")
    if near is None:
        said = unknown("no handshake and no timestamps show the way to the sender")
        return BaseRtt(far_one, said, far_one)
    shown = "handshake and echoed timestamps" if near_shakes is not None else "echoed timestamps"
    near_one = measured(near, _spread(seen.near_s, near), f"{shown} to the sender and back")
    whole = f"{how} beyond the tap {far * 1e3:.3g} ms, before it {near * 1e3:.3g} ms"
    path = measured(near + far, _spread(seen.rtt_s, near + far), whole)
    return BaseRtt(path, near_one, far_one)


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
    row = seen.row
    if row["handshake_rtt_ns"] is None or row["syn_rtt_ns"] is None:
        return None, None
    first, second = row["syn_rtt_ns"] / 1e9, (row["handshake_rtt_ns"] - row["syn_rtt_ns"]) / 1e9
    return (second, first) if row["opened_it"] else (first, second)


def _least(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.min()) if len(known) else None


def _side(shakes: float | None, data: float | None, syn_s: float, frame_s: float) -> float | None:
    """Base RTT of one side: of the handshake, whose frames are short, or of data less a frame."""
    if shakes is None:
        return None if data is None else max(0.0, data - frame_s)
    short = max(0.0, shakes - syn_s)
    return short if data is None else min(data, short)


def _spread(values: np.ndarray, base: float) -> float:
    """Distance from the least to the tenth-least sample, at least 1 %."""
    known = np.sort(values[~np.isnan(values)])
    beyond = float(known[min(9, len(known) - 1)] - known[0]) if len(known) else base / 10
    return max(beyond, 0.01 * base)
