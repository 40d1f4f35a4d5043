"""Kind of shaper: a plain link, a policer, a token bucket with its burst, a slotted link.

A token bucket lets pass at most rate x time + burst in any interval (RFC 2697). A policer drops
when the bucket is empty, and no queue grows (Flach et al. 2016, "An Internet-Wide Analysis of
Traffic Policing").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.base_rtt import bottleneck_is_behind
from dumbbell.fit.bucket import fit_bucket
from dumbbell.fit.estimate import Estimate, measured, unknown
from dumbbell.fit.loss import Losses
from dumbbell.fit.observe import Observed
from dumbbell.fit.rate import Rate, train_rate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shaper:
    """Shaper of the bottleneck.

    Attributes:
        kind: `link`, `policer`, `token bucket` or `slots`.
        rate_bps: Its rate.
        burst_bytes: Depth of the bucket, bytes of frames.
        wait_s: Longest wait for a slot.
        evidence: What shows the kind.
    """

    kind: str
    rate_bps: Estimate
    burst_bytes: Estimate
    wait_s: Estimate
    evidence: str


#: Frames that a gap between deliveries of bunched data lasts.
_BUNCHED = 3.5
#: Share of packets and losses that may contradict a bucket that is certain, and one that is likely.
_CERTAIN, _LIKELY = 0.02, 0.25
#: The same where the tap saw no lost packet, so that their times are not known well.
_HIDDEN = 0.35
#: Frames that wait at a bucket without tokens; the place of the least RTT among all.
_HELD, _RTT_LEAST = 2, 3
_NO_BURST = unknown("bursts are not longer than packets in a row")
_NO_WAIT = unknown("deliveries are not in slots")


def link(rate: Rate) -> Shaper:
    """A plain link."""
    return Shaper("link", rate.rate_bps, _NO_BURST, _NO_WAIT, rate.rate_bps.evidence)


def shaper(seen: Observed, rate: Rate, lost: Losses) -> Shaper:
    """Kind of shaper and its parameters."""
    policed = _policer(seen, lost, rate.busy_share)
    if policed is not None:
        return policed
    bps = rate.rate_bps.value
    if bps is None or rate.wanders or rate.busy_share < 0.1:
        return link(rate)
    slots = _slots(seen, rate, bps)
    if slots is not None:
        said = f"packets are delivered together, up to {slots * 1e3:.2g} ms apart"
        wait = measured(slots, 0.2 * slots, said)
        return Shaper("slots", rate.rate_bps, _NO_BURST, wait, said)
    if rate.rate_bps.knowledge != "measured" or _gained_waiting(seen, bps):
        return link(rate)
    burst, noise = _burst(seen, rate, bps)
    if burst > 3 * noise + 4 * seen.frame_bytes:
        said = f"{burst / 1e3:.3g} kB more than the rate were delivered after a pause"
        found = measured(burst, 0.1 * burst, said)
        return Shaper("token bucket", rate.rate_bps, found, _NO_WAIT, said)
    return link(rate)


def _burst(seen: Observed, rate: Rate, bps: float) -> tuple[float, float]:
    """Most bytes delivered beyond the rate after a pause, and the most while packets waited.

    A bucket has no tokens while packets wait, so the second number is the noise of ACKs.
    """
    excess = _excess(seen, bps)
    beyond = excess - np.minimum.accumulate(excess)
    width = float(rate.from_s[1] - rate.from_s[0]) if len(rate.from_s) > 1 else 1.0
    place = ((seen.left_s - rate.from_s[0]) / width).astype(int)
    place = np.clip(place, 0, len(rate.busy) - 1)
    noise = 0.0
    for number in np.flatnonzero(rate.busy & np.roll(rate.busy, 1)):
        inside = excess[np.searchsorted(place, number) : np.searchsorted(place, number + 1)]
        if len(inside):
            noise = max(noise, float(np.ptp(inside)))
    return float(beyond.max()) + seen.frame_bytes, noise


def _gained_waiting(seen: Observed, bps: float) -> bool:
    """True if more than the rate was delivered while packets waited.

    A bucket that has tokens holds no packet. So others gave way.
    """
    excess = _excess(seen, bps)
    end = int((excess - np.minimum.accumulate(excess)).argmax())
    begin = int(excess[: end + 1].argmin())
    known = ~np.isnan(seen.rtt_s)
    arrived = seen.sent_s[known] + seen.far_s[known]
    inside = seen.rtt_s[known][(arrived > seen.left_s[begin]) & (arrived <= seen.left_s[end])]
    if not len(inside):
        return False
    least = float(np.sort(seen.rtt_s[known])[: _RTT_LEAST + 1][-1])
    return float(np.median(inside)) - least > _HELD * seen.frame_bytes * 8 / bps


def _excess(seen: Observed, bps: float) -> Floats:
    """Frame bytes delivered beyond the rate since the start, at each ACK."""
    found: Floats = seen.delivered_bytes * seen.frame_bytes / seen.payload_bytes
    return found - bps / 8 * seen.left_s


def _slots(seen: Observed, rate: Rate, bps: float) -> float | None:
    """Longest wait for a slot, if data is delivered in bunches while packets wait; None: it is not.

    Behind the bottleneck data shows it, before it the ACKs, which may be bunched on their own way.
    """
    behind = bottleneck_is_behind(seen)
    at = seen.left_s if behind else seen.sent_s
    gaps, begin = np.diff(at), at[:-1]
    if len(gaps) < 200 or len(rate.from_s) < 2:
        return None
    width = float(rate.from_s[1] - rate.from_s[0])
    place = np.clip(((begin - rate.from_s[0]) / width).astype(int), 0, len(rate.busy) - 1)
    waits = rate.busy[place] & (begin >= rate.from_s[0])
    if behind:
        # Else the application is silent, or a last segment waits for its delayed ACK.
        waits &= _outstanding(seen) > 2 * seen.frame_bytes
    busy = gaps[waits]
    # A gap of a tick may be any shorter one.
    long = busy[busy > _BUNCHED * seen.frame_bytes * 8 / bps + seen.tick_s]
    if len(long) < 50 or long.sum() < 0.6 * busy.sum():
        return None
    return float(np.quantile(long, 0.9 if behind else 0.99))


def _outstanding(seen: Observed) -> Floats:
    """Bytes in flight after each ACK but the last."""
    highest = np.maximum.accumulate(seen.sent_end_bytes)
    count = np.searchsorted(seen.sent_s, seen.left_s[:-1], side="right")
    sent = np.where(count > 0, highest[np.maximum(count - 1, 0)], 0.0)
    left: Floats = sent - seen.delivered_bytes[:-1]
    return left


def _policer(seen: Observed, lost: Losses, busy_share: float) -> Shaper | None:
    """Policer, if losses come exactly when a token bucket of the passed rate is empty."""
    if lost.events.sum() < 2 or len(lost.at_s) < 6:
        return None
    usable = ~np.isnan(lost.delay_s)
    if not usable.any() or lost.overflows:
        return None
    span = lost.at_s[-1] - lost.at_s[0]
    passed_s, passed = _passed(seen)
    inside = (passed_s >= lost.at_s[0]) & (passed_s < lost.at_s[-1])
    if span <= 0 or inside.sum() < 50:
        return None
    rate = float(passed[inside].sum() / span)
    best = fit_bucket(passed_s, passed, lost.at_s, rate)
    if best is None or best.burst_bytes < 9 * seen.frame_bytes:
        return None
    # A full queue has the bytes of the bucket waiting; before a policer none of them wait.
    waiting = float(np.median(lost.delay_s[usable])) * best.rate_bytes
    certain = best.misfit < _CERTAIN and waiting < 0.4 * best.burst_bytes
    train = train_rate(seen)
    fast = train is not None and train > 2 * 8 * best.rate_bytes
    hidden = seen.seen_lost_share < 0.5 and fast and waiting < 0.15 * best.burst_bytes
    worst = _HIDDEN if hidden else _LIKELY
    if not certain and (best.misfit > worst or _queues(seen, rate, lost, busy_share)):
        return None
    if not certain and train is not None and train < 1.3 * 8 * best.rate_bytes:
        return None  # packets are serialised at this rate, so a link sends them
    rate, burst = best.rate_bytes, best.burst_bytes
    said = (
        f"losses come when a bucket of {burst / 1e3:.3g} kB is empty ({1 - best.misfit:.0%} of "
        "losses and packets fit), and no queue grows"
    )
    return Shaper(
        "policer",
        measured(rate * 8, max(0.01 * rate, best.rate_spread_bytes) * 8, said),
        measured(burst, 0.15 * burst, said),
        _NO_WAIT,
        said,
    )


def _queues(seen: Observed, rate: float, lost: Losses, busy_share: float) -> bool:
    """True if packets wait in a queue before they are lost; `rate` in bytes per s."""
    known = lost.delay_s[~np.isnan(lost.delay_s)]
    at_loss = float(np.median(known))
    waits = at_loss * rate > 6 * seen.frame_bytes and at_loss > 0.25 * lost.full_s
    return busy_share > 0.5 or (waits and len(known) > 0.3 * len(lost.delay_s))


def _passed(seen: Observed) -> tuple[Floats, Floats]:
    """Times and frame bytes of the packets that were not lost."""
    dropped = np.zeros(len(seen.sent_s), bool)
    if len(seen.lost_s) and seen.seen_lost_share > 0.5:
        # Packets of a burst have one time, so time and place in the stream identify a packet.
        sent, lost = seen.sent_s + 1j * seen.sent_end_bytes, seen.lost_s + 1j * seen.lost_end_bytes
        dropped[np.isin(sent, lost)] = True
    kept = ~dropped
    return seen.sent_s[kept], seen.sent_len_bytes[kept] + seen.header_bytes
