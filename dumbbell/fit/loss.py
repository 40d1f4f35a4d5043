"""Losses with the state of the queue, random loss apart from overflow, and reordering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.estimate import Estimate, measured, unknown
from dumbbell.fit.observe import Observed
from dumbbell.fit.rate import Rate

Floats = NDArray[np.float64]
#: Ticks of a coarse clock that the longest delay takes at least, if delays tell anything, and the
#: shortest such tick, s.
_TICKS, _COARSE_S = 4, 0.00005
#: Times of an ACK that are the same, s.
_SAME_S = 1e-9
#: Share of the losses that may follow short delays, and what part of the longest is a long one.
_RARE, _NEAR_FULL = 0.1, 0.4


@dataclass(frozen=True)
class Losses:
    """Losses of a transfer.

    Attributes:
        at_s: Time of each loss.
        delay_s: Queueing delay before each loss (NaN: unknown).
        events: True for the first loss of a round.
        share: Lost packets per data packet.
        random_share: Packets lost without a queue, per data packet.
        reordered_share: Reordered packets per data packet.
        delays_s: Queueing delays of all data packets that have a sample.
        full_s: Greatest queueing delay of packets whose ACK did not wait for the next one; seven
            samples may be longer.
        longest_s: The same of all packets.
    """

    at_s: Floats
    delay_s: Floats
    events: NDArray[np.bool_]
    share: float
    random_share: Estimate
    reordered_share: float
    delays_s: Floats
    full_s: float
    longest_s: float = 0.0

    def overflows_at(self, which: NDArray[np.bool_]) -> bool:
        """True if losses follow long delays alone: a full queue drops, whoever fills it.

        Beside steady traffic a transfer has the rest of the rate, and its own share of the queue,
        as behind a policer. But a policer drops whatever packets before waited.
        """
        known = self.delay_s[which & ~np.isnan(self.delay_s)]
        if not len(known):
            return False
        return float(np.quantile(known, _RARE)) > _NEAR_FULL * max(self.full_s, self.longest_s) > 0

    @property
    def overflows(self) -> bool:
        """True if all losses are of a full queue."""
        return self.overflows_at(np.ones(len(self.at_s), bool))


def losses(seen: Observed, base_s: float | None, rate: Rate) -> Losses:
    """Losses, with the queueing delay of the packets before them.

    On a link whose rate changes, delays are those that the same bytes would have at the mean rate.
    """
    rate_bps = rate.rate_bps.value
    known = np.flatnonzero(~np.isnan(seen.rtt_s))
    base = base_s or (float(np.nanmin(seen.rtt_s)) if len(known) else 0.0)
    delays = np.maximum(seen.rtt_s[known] - base, 0.0)
    if rate_bps:
        delays = np.maximum(delays - seen.frame_bytes * 8 / rate_bps, 0.0)
    if rate.wanders and rate_bps:
        left = seen.sent_s[known] + seen.rtt_s[known]
        begins = np.array([at for at, _ in rate.steps])
        values = np.array([bps for _, bps in rate.steps])
        place = np.clip(np.searchsorted(begins, left, side="right") - 1, 0, None)
        delays = delays * values[place] / rate_bps
    prompt = delays[_prompt((seen.sent_s + seen.far_s)[known])]
    full = _full(prompt, rate.wanders)
    at = seen.lost_s
    data = max(1, len(seen.sent_s))
    reordered = seen.row["reordered_packets"] / max(1, seen.row["data_packets"])
    if not len(at):
        none = measured(0.0, 3.0 / data, f"no loss among {data} packets")
        empty = np.empty(0)
        return Losses(at, empty, np.empty(0, bool), 0.0, none, reordered, delays, full, full)
    before = _before(seen.sent_s[known], delays, at, base)
    events = np.diff(at, prepend=-np.inf) > max(1.5 * base + full, 0.01)
    found = _random(before, events, full, data, rate_bps, seen)
    longest = _full(delays, rate.wanders)
    return Losses(at, before, events, len(at) / data, found, reordered, delays, full, longest)


def _prompt(acked_s: Floats) -> NDArray[np.bool_]:
    """True for data packets whose arrival made their ACK leave; `acked_s`: when it came.

    The packet before such a one waited for it, if ACKs are delayed (RFC 5681 §4.2): long, if the
    sender was silent between both.
    """
    return np.append(np.abs(np.diff(acked_s)) > _SAME_S, np.ones(min(1, len(acked_s)), bool))


def hidden(full_s: float, tick_s: float) -> bool:
    """True if the clock is too coarse to show how long packets wait: `full_s` at most."""
    return tick_s > _COARSE_S and full_s < _TICKS * tick_s


def _full(delays: Floats, wanders: bool) -> float:
    """Greatest delay, but for a few samples; where the rate changes, but for those at its steps."""
    if not len(delays):
        return 0.0
    return float(np.quantile(delays, 0.97) if wanders else np.sort(delays)[-min(8, len(delays))])


def _before(sent_s: Floats, delays: Floats, at: Floats, base_s: float) -> Floats:
    """Queueing delay of the last packet with a sample before each loss."""
    out = np.full(len(at), np.nan)
    if not len(sent_s):
        return out
    place = np.searchsorted(sent_s, at, side="left")
    last = np.maximum(place - 1, 0)
    recent = (place > 0) & (sent_s[last] > at - max(2 * base_s, 0.05))
    out[recent] = delays[last[recent]]
    return out


def _random(
    before: Floats,
    events: NDArray[np.bool_],
    full: float,
    data: int,
    rate_bps: float | None,
    seen: Observed,
) -> Estimate:
    """Share of packets that were lost while the queue was at most half full.

    Overflow needs a full queue. Losses beside it are random, unless a discipline signals early.
    """
    usable = ~np.isnan(before)
    if not usable.any():
        return unknown("no RTT before the losses")
    frames = full * (rate_bps or 0) / 8 / seen.frame_bytes
    if hidden(full, seen.tick_s):
        return unknown("the clock is too coarse to tell overflow from random loss")
    if frames < 4:
        return unknown("the queue is too short to tell overflow from random loss")
    low = int((before[usable] < 0.5 * full).sum())
    share = low / int(usable.sum()) * len(before) / data
    spread = 1.7 * np.sqrt(low + 1) / data
    return measured(share, float(spread), f"{low} of {usable.sum()} losses with a queue half empty")
