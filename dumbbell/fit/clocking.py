"""ACK clock: whether packets leave as ACKs arrive, or at times of the application.

A sender whose window is full sends as an ACK arrives (Jacobson 1988, "self-clocking"). It is silent
from the end of its first flight until the first ACK. An application that has less to send than the
window permits writes at times of its own (RFC 7661 §2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.observe import Observed

Floats = NDArray[np.float64]
#: Time within which a sender answers an ACK: some interrupts and a wake-up, s; and a fast one.
_AT_ONCE_S, _FAST_S = 0.0002, 0.00002
#: Fewest packets that tell.
_FEW = 20
#: Gap behind which a packet is the first of a burst, in frames.
_HEAD = 1.8
#: Share of the first packets of bursts above which ACKs clock them, and below which they do not.
_CLOCKED, _FREE = 0.9, 0.5
#: Share of the time in which a packet would seem to follow an ACK: above it, ACKs say little.
_CHANCE = 0.3
#: Part of the first RTT: Linux paces the initial window over half of it.
_SPREAD = 0.75
#: A partial segment is shorter than this part of a full one. Equal gaps differ by less than this.
_PARTIAL, _SAME = 0.95, 0.1
#: RTT to the sender beyond which links may space packets before the tap, s.
DISTANT_S = 0.0005
#: Packets of a burst, and time between bursts, s: both above those of pacing.
_BURST, _BURST_S = 3, 0.002
#: RTTs of slow start, and packets of them that tell.
_START, _START_FEW = 6, 5


@dataclass(frozen=True)
class Clocking:
    """What makes packets leave.

    Attributes:
        share: Share of the bursts that leave as an ACK arrives (NaN: unknown).
        chance: The same share if they left at any time.
        start_share: `share` within the first RTTs.
        refilled_share: Share of the packets behind a partial segment, and a gap, that leave as an
            ACK arrives (NaN: few such packets).
        bursts: True if it sends several packets at once, farther apart than a sender that paces.
        free_from_start: True if the sender sent at the pace of the application from its first
            flight on.
    """

    share: float
    chance: float
    start_share: float
    refilled_share: float
    bursts: bool
    free_from_start: bool

    @property
    def clocked(self) -> bool | None:
        """True if ACKs clock the packets; None: not known."""
        return self._told(self.share)

    def _told(self, share: float) -> bool | None:
        if share < _FREE:
            return False
        return True if share > _CLOCKED and self.chance < _CHANCE else None

    @property
    def paced(self) -> bool:
        """True if ACKs do not clock the start either, and it sends no bursts: it may pace."""
        return not self.start_share >= _FREE and not self.bursts

    @property
    def refilled(self) -> bool | None:
        """True if the sender has data again as an ACK frees a part of its send buffer."""
        return self._told(self.refilled_share)


def clocking(
    seen: Observed, rtt_s: float | None, near_s: float | None, frame_s: float | None
) -> Clocking:
    """What makes packets leave.

    Args:
        seen: The capture.
        rtt_s, near_s: Base RTT of the path, and of its part between tap and sender.
        frame_s: Time of a frame at a bottleneck between sender and tap; None: not known.
    """
    nan = float("nan")
    if rtt_s is None or near_s is None or seen.row["syn_rtt_ns"] is None or not len(seen.ack_s):
        return Clocking(nan, nan, nan, nan, False, False)
    free = _free_from_start(seen, rtt_s, near_s)
    if frame_s is None:
        return Clocking(nan, nan, nan, nan, False, free)
    # Packets take a frame's time at a bottleneck between sender and tap.
    frames = (seen.sent_len_bytes + seen.header_bytes) / seen.frame_bytes
    left = seen.sent_s - near_s - frames * frame_s
    place = np.searchsorted(seen.ack_s, left + _FAST_S, side="right") - 1
    head = np.diff(seen.sent_s, prepend=-np.inf) > max(_AT_ONCE_S, _HEAD * frame_s)
    if near_s > DISTANT_S and not np.isnan(seen.stamp_s[0]):
        head &= np.diff(seen.stamp_s, prepend=-np.inf) > 0  # not spaced on its way to the tap
    head &= seen.sent_new & (place >= 0)
    early = head & (left < seen.ack_s[0] + _START * rtt_s)
    late = head & ~early
    lag = left - seen.ack_s[np.maximum(place, 0)]
    # No more time than most need, so that few packets follow an ACK by chance.
    most = float(np.quantile(lag[late], _CLOCKED + 0.05)) if late.any() else 0.0
    within = float(np.clip(most, _FAST_S, _AT_ONCE_S)) + 2 * seen.tick_s
    soon = lag <= within
    refill = head & np.roll(seen.sent_len_bytes < _PARTIAL * seen.payload_bytes, 1)
    span = float(seen.ack_s[-1] - seen.ack_s[0])
    chance = float(np.minimum(np.diff(seen.ack_s), within).sum()) / span if span > 0 else nan
    return Clocking(
        _share(soon[late], _FEW),
        chance,
        _share(soon[early], _START_FEW),
        _share(soon[refill], _START_FEW),
        _bursts(seen.sent_s[late], int(seen.sent_new.sum())),
        free,
    )


def _share(values: NDArray[np.bool_], few: int) -> float:
    return float(values.mean()) if len(values) >= few else float("nan")


def _bursts(heads_s: Floats, packets: int) -> bool:
    """True if bursts, by their first packets, are larger than those of a pacing sender.

    Linux paces in bursts of at most 1 ms of data, and of two segments at least
    (`tcp_tso_autosize`).
    """
    if len(heads_s) < _FEW or packets < _BURST * len(heads_s):
        return False
    return float(np.median(np.diff(heads_s))) > _BURST_S


def _free_from_start(seen: Observed, rtt_s: float, near_s: float) -> bool:
    """True if the sender was not silent at the end of its first RTT, or kept its first pace."""
    distant = near_s > DISTANT_S
    times = seen.stamp_s if distant else seen.sent_s
    at = times[seen.sent_new]
    if np.isnan(at[0]):
        return False
    count = int((at < at[0] + 0.95 * rtt_s).sum())
    took = float(at[count - 1] - at[0])
    if took > _SPREAD * rtt_s:
        return True
    if count < _START_FEW or len(at) - count < _FEW:
        return False
    pace = float(at[-1] - at[0]) / (len(at) - 1)
    return pace > max(_AT_ONCE_S, 2 * seen.tick_s) and abs(took / (count - 1) - pace) < _SAME * pace
