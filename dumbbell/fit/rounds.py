"""RTTs on both sides of a tap: to the receiver by ACKs, to the sender by echoed timestamps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_UNKNOWN = np.iinfo(np.int64).min
#: Segments of an ACK that many offloads do not merge.
_MANY = 48
#: A sender that has data answers an ACK within this time, s; also a tick of its clock.
_AT_ONCE_S = 0.001
#: Part of the RTT to the sender that an ACK may wait for slots on its way.
_SLOTS = 0.5


def rtt_of_segments(
    sent_s: Floats,
    end: Floats,
    length: Floats,
    new: NDArray[np.bool_],
    ack_s: Floats,
    ack: Floats,
    delivered: Floats,
) -> Floats:
    """RTT between tap and receiver of each data packet that passed once; NaN: no sample.

    The first ACK beyond the packet's last byte ends the sample (Jacobson, Karels 1988). An ACK that
    advances while bytes below it were missing says nothing about this packet (Karn 1987): samples
    behind a hole, where SACKed bytes are ahead of the cumulative ACK, are left out.
    """
    out = np.full(len(sent_s), np.nan)
    if not len(ack):
        return out
    reached = np.maximum.accumulate(ack)
    at = np.searchsorted(reached, end)
    known = new & (at < len(ack))
    index = np.minimum(at, len(ack) - 1)
    before = np.maximum(index - 1, 0)
    hole = delivered[before] > reached[before] + 0.5
    known &= ~hole & (ack_s[index] >= sent_s)
    # Of an ACK of many segments only the last ones were acknowledged at once: others may have had
    # an ACK that the tap did not see.
    room = _MANY * float(np.median(length)) if len(length) else 0.0
    known &= (reached[index] - reached[before] < room) | (end > reached[index] - 2.5 * length)
    out[known] = ack_s[index[known]] - sent_s[known]
    return out


def duplicates(
    ack: Floats, window: NDArray[np.int64], pure: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Number of duplicate ACKs (RFC 5681 §2) since the last ACK that advanced, at each ACK.

    Without SACK each one reports a segment that arrived behind a hole (RFC 6582 §3).
    """
    same = pure & (np.diff(ack, prepend=-1.0) == 0)
    same[1:] &= window[1:] == window[:-1]
    total = np.cumsum(same)
    advanced = np.maximum.accumulate(np.where(np.diff(ack, prepend=-1.0) != 0, total, 0))
    return (total - advanced).astype(np.int64)


def near_rtt(
    sent_s: Floats,
    echo: NDArray[np.int64],
    ack_s: Floats,
    stamp: NDArray[np.int64],
    new: NDArray[np.bool_],
    stamp_s: Floats,
) -> Floats:
    """RTT between tap and sender at the first data packet that echoes a timestamp (RFC 7323 §4).

    `stamp_s`: when the sender sent each data packet, by its clock (NaN: unknown).
    """
    out = np.full(len(sent_s), np.nan)
    if not len(ack_s) or (stamp == _UNKNOWN).any() or (echo == _UNKNOWN).any():
        return out
    latest = np.maximum.accumulate(echo)
    first = np.flatnonzero((np.diff(latest, prepend=latest[0] - 1) > 0) & (echo == latest) & new)
    at = np.searchsorted(np.maximum.accumulate(stamp), echo[first])
    known = at < len(stamp)
    first, at = first[known], at[known]
    equal = stamp[at] == echo[first]
    first, at = first[equal], at[equal]
    passed = sent_s[first] - ack_s[at]
    positive = passed >= 0
    first, at, passed = first[positive], at[positive], passed[positive]
    if not len(passed):
        return out
    # Without data between the ACK's way to the sender and back and its echo, the sender was silent:
    # it had nothing to send. What its packet waited on the way counts, and an ACK's usual wait.
    least = float(passed.min())
    silent = np.searchsorted(sent_s, ack_s[at] + least) >= first
    good = passed < 60.0
    if least < _AT_ONCE_S or np.isnan(stamp_s[0]):  # its clock says no more
        good &= ~(silent & (passed > least + max(2 * least, _AT_ONCE_S)))
    else:
        on_way = sent_s - stamp_s
        waited = np.maximum(on_way[first] - on_way.min() - _AT_ONCE_S, 0.0)
        others = (passed - waited)[~silent]
        usual = float(np.median(others)) if len(others) else least
        late = silent & (passed > least + waited + max(_SLOTS * least, _AT_ONCE_S))
        passed[late] = waited[late] + usual
    out[first[good]] = passed[good]
    return out


def full_rtt(
    sent_s: Floats, far: Floats, near: Floats, shake_s: float | None, seen_lost_share: float
) -> Floats:
    """RTT of the whole path at each data packet: both sides of the tap at about the same time.

    Without timestamps the way to the sender is that of the handshake, `shake_s`, if packets wait
    behind the tap. If they may wait before it, the RTT is unknown.
    """
    known = np.flatnonzero(~np.isnan(near))
    if len(known):
        found: Floats = far + np.interp(sent_s, sent_s[known], near[known])
        return found
    if shake_s is None or shake_s < _AT_ONCE_S:
        return far + (shake_s or 0.0)
    samples = far[~np.isnan(far)]
    varies = len(samples) > 0 and float(np.ptp(np.quantile(samples, (0.02, 0.9)))) > _AT_ONCE_S
    behind = seen_lost_share > 0.5 if seen_lost_share == seen_lost_share else varies
    return far + shake_s if behind else np.full(len(far), np.nan)
