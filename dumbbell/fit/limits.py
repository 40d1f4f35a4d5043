"""Limits of the ends: receive window, send buffer, application, initial window, MSS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.clocking import DISTANT_S, Clocking, clocking
from dumbbell.fit.estimate import Estimate, measured, unknown
from dumbbell.fit.observe import Observed

Floats = NDArray[np.float64]
#: Fewest partial segments that show an application.
_PARTIAL_FEW = 10
#: A partial segment is shorter than this part of a full one.
_PARTIAL = 0.95
#: Share of data beyond the window's edge above which the edge is not known.
_BEYOND = 0.01
#: Part of the largest window before, below which data waits in the receive buffer, and the share of
#: the time at the window's edge in which it does so if the application reads slowly.
_SHRUNK, _SLOW = 0.75, 0.5


@dataclass(frozen=True)
class Limits:
    """Limits of the ends.

    Attributes:
        window_share: Share of the time in which the receive window was used up.
        window_bytes: Receive window where it was used up.
        reads_bps: Rate at which the receiving application reads, if it lets data wait in the
            receive buffer; bit/s of payload.
        idle_share: Share of the time in which nothing was in flight.
        grows: Greatest in flight per RTT, last third over the third before it.
        plateau_share: Share of the RTTs with about the same greatest bytes in flight.
        plateau_bytes: These bytes in flight.
        initial_window: Segments of the first flight.
        mss_bytes: Payload of a full segment.
        partial_share: Share of the time between a partial segment and the next packet.
        partial_rounds: Share of the RTTs in which a partial segment passes.
        clocking: What makes packets leave.
    """

    window_share: float
    window_bytes: Estimate
    reads_bps: Estimate
    idle_share: float
    grows: float
    plateau_share: float
    plateau_bytes: float
    initial_window: Estimate
    mss_bytes: int
    partial_share: float
    partial_rounds: float
    clocking: Clocking


def limits(
    seen: Observed, base_s: float | None, near_s: float | None, frame_s: float | None
) -> Limits:
    """Limits of the ends, from windows, gaps and plateaus; arguments as of `clocking`."""
    share, window, reads = _receive_window(seen, near_s or 0.0)
    plateau, top, grows = _plateau(seen, base_s)
    return Limits(
        window_share=share,
        window_bytes=window,
        reads_bps=reads,
        idle_share=_idle(seen, near_s or 0.0),
        grows=grows,
        plateau_share=plateau,
        plateau_bytes=top,
        initial_window=_initial(seen, base_s),
        mss_bytes=seen.payload_bytes,
        partial_share=_after_partial(seen),
        partial_rounds=_partial_rounds(seen, base_s),
        clocking=clocking(seen, base_s, near_s, frame_s),
    )


def _receive_window(seen: Observed, near_s: float) -> tuple[float, Estimate, Estimate]:
    """Use of the receive window (RFC 9293), window, and rate of the reading application.

    The share is that of the time in which the sender had no window left for another segment.
    """
    if len(seen.ack_s) < 5:
        return 0.0, unknown("no ACKs"), unknown("no ACKs")
    if not seen.windowed:
        cut = unknown("the snap length cuts the window's scale off")
        return 0.0, cut, cut
    edge = np.maximum.accumulate(seen.edge_bytes)
    at = np.searchsorted(seen.ack_s, seen.sent_s - _near(seen, near_s), side="right") - 1
    known = at >= 0
    room = np.full(len(seen.sent_s), np.inf)
    room[known] = edge[at[known]] - np.maximum.accumulate(seen.sent_end_bytes)[known]
    beyond = float((room < -2 * seen.payload_bytes).mean())
    if beyond > _BEYOND:
        said = f"{beyond:.0%} of the data passes the window's edge: ACKs or the scale are missing"
        return 0.0, unknown(said), unknown(said)
    full = room < 2 * seen.payload_bytes
    spans = _pauses(seen, near_s)
    total = float(spans.sum())
    share = float(spans[full].sum() / total) if total else 0.0
    if not full.any():
        unused = unknown("the receive window was never used up")
        return share, unused, unused
    windows = seen.edge_bytes - seen.ack_bytes
    size = float(np.median(windows[at[full]]))
    said = f"sent up to the edge of the receive window, {share:.0%} of the time"
    reads = _reads(windows, edge, seen.ack_s, at[full], spans[full])
    return share, measured(size, 0.05 * size, said), reads


def _near(seen: Observed, near_s: float) -> Floats:
    """RTT to the sender at each data packet: an ACK takes so long until its answer passes.

    Near the sender its wait for an ACK that it answers would count, too.
    """
    known = np.flatnonzero(~np.isnan(seen.near_s))
    if not len(known) or near_s <= DISTANT_S:
        return np.full(len(seen.sent_s), near_s)
    found: Floats = np.interp(seen.sent_s, seen.sent_s[known], seen.near_s[known])
    return found


def _pauses(seen: Observed, near_s: float) -> Floats:
    """Time from each data packet to the next one, s: at the sender, if its clock shows it.

    Links between sender and tap spread a burst over the time that the sender waits.
    """
    distant = near_s > DISTANT_S and not np.isnan(seen.stamp_s[0])
    times = seen.stamp_s if distant else seen.sent_s
    return np.clip(np.diff(times, append=times[-1]), 0.0, None)


def _reads(
    windows: Floats, edge: Floats, ack_s: Floats, at: NDArray[np.int64], spans: Floats
) -> Estimate:
    """Rate of the reading application, bit/s of payload.

    The window's edge moves by what is read (RFC 9293 §3.8.6). If the window is smaller than before
    while the sender uses it up, received data waits for the application.

    Args:
        windows, edge, ack_s: Window, right edge and time of each ACK.
        at: ACK that each packet at the window's edge answers; `spans`: time after each packet, s.
    """
    largest = np.maximum.accumulate(windows)
    shrunk = windows[at] < _SHRUNK * largest[at]
    total = float(spans.sum())
    if total <= 0 or spans[shrunk].sum() < _SLOW * total:
        return unknown("the window does not shrink while it is used up")
    first, last = at[shrunk][0], at[shrunk][-1]
    took = float(ack_s[last] - ack_s[first])
    if took <= 0:
        return unknown("the window was used up for too short a time")
    value = 8 * float(edge[last] - edge[first]) / took
    size, most = float(np.median(windows[at[shrunk]])), float(largest[last])
    said = (
        f"the application reads {value * 1e-6:.3g} Mbit/s and lets data wait: {size / 1e3:.3g} kB "
        f"are left of a window of {most / 1e3:.3g} kB"
    )
    return measured(value, 0.02 * value, said)


def _idle(seen: Observed, near_s: float) -> float:
    """Share of the time in which all sent data was acknowledged, and the sender sent nothing."""
    ends = np.maximum.accumulate(seen.sent_end_bytes)
    after = np.searchsorted(seen.ack_s, seen.sent_s[1:], side="right") - 1
    done = (after >= 0) & (seen.ack_bytes[np.maximum(after, 0)] >= ends[:-1] - 0.5)
    since = seen.ack_s[np.maximum(after, 0)]
    first = np.searchsorted(seen.ack_bytes, ends[:-1] - 0.5)
    since = seen.ack_s[np.minimum(first, len(seen.ack_s) - 1)] if len(seen.ack_s) else since
    pause = np.where(done, seen.sent_s[1:] - since - near_s, 0.0)
    total = float(seen.sent_s[-1] - seen.sent_s[0])
    return float(np.clip(pause, 0, None).sum() / total) if total > 0 else 0.0


def _after_partial(seen: Observed) -> float:
    """Share of the time after partial segments: with more data they would be full (RFC 1122)."""
    at, length = seen.sent_s[seen.sent_new], seen.sent_len_bytes[seen.sent_new]
    partial = length[:-1] < _PARTIAL * seen.payload_bytes
    if partial.sum() < _PARTIAL_FEW or at[-1] <= at[0]:
        return 0.0
    return float(np.diff(at)[partial].sum() / (at[-1] - at[0]))


def _partial_rounds(seen: Observed, base_s: float | None) -> float:
    """Share of the RTTs in which a partial segment passes: the sender had no more data."""
    known = seen.rtt_s[~np.isnan(seen.rtt_s)]
    if not base_s or not len(known):
        return 0.0
    at = seen.sent_s[seen.sent_new]
    partial = seen.sent_len_bytes[seen.sent_new] < _PARTIAL * seen.payload_bytes
    rounds = max(1.0, float(at[-1] - at[0]) / max(base_s, float(np.median(known))))
    passed = np.unique(((at[partial] - at[0]) / (at[-1] - at[0] + 1e-9) * rounds).astype(int))
    return min(1.0, len(passed) / rounds)


def _plateau(seen: Observed, base_s: float | None) -> tuple[float, float, float]:
    """Share of the RTTs of the later two thirds with about the same greatest bytes in flight."""
    late = (seen.sent_s > seen.sent_s[0] + (seen.sent_s[-1] - seen.sent_s[0]) / 3) & seen.sent_new
    flight, at = seen.flight_bytes[late], seen.sent_s[late]
    if len(flight) < 20 or not base_s:
        return 0.0, float(seen.flight_bytes.max()), 1.0
    known = seen.rtt_s[~np.isnan(seen.rtt_s)]
    span = max(2 * base_s, float(np.median(known)) if len(known) else 0.0)
    place = ((at - at[0]) / max(span, (at[-1] - at[0]) / 500)).astype(int)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    tops = np.maximum.reduceat(flight, first)
    top = float(np.median(tops))
    near = np.abs(tops - top) <= max(2.5 * seen.payload_bytes, 0.08 * top)
    half = max(1, len(tops) // 2)
    grows = float(np.median(tops[half:]) / np.median(tops[:half])) if len(tops) > 1 else 1.0
    return float(near.mean()), top, grows


def _initial(seen: Observed, base_s: float | None) -> Estimate:
    """Segments before the first ACK of data could arrive (RFC 6928)."""
    if seen.row["syn_rtt_ns"] is None or base_s is None:
        return unknown("the capture lacks the handshake")
    first = seen.sent_s <= seen.sent_s[0] + 0.8 * base_s
    data = float(seen.sent_len_bytes[first & seen.sent_new].sum())
    count = data / seen.payload_bytes
    if first.all():
        return unknown("the transfer has a single flight")
    return measured(max(1, round(count)), 1, "segments sent within the first RTT")
