"""Limiting factor of a transfer: one factor, and the sentence that says why.

The classes are those of tcp-limits analyses (Zhang et al. 2002, "On the characteristics and origins
of Internet flow rates"): application, ends, path, congestion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.console.words import many
from dumbbell.fit.limits import Limits
from dumbbell.fit.loss import Losses, hidden
from dumbbell.fit.observe import Observed
from dumbbell.fit.rate import Rate
from dumbbell.fit.shaper import Shaper

FACTORS = (
    "bottleneck",
    "policer",
    "loss",
    "receive window",
    "send buffer",
    "application",
    "start",
    "congestion control",
    "unknown",
)

#: Frames that wait before a packet of a sender whose bursts are short.
_FRAMES = 4
#: Share of the time with a used up receive window that makes it the limit, and share of the time
#: with a queue from which on the bottleneck is the limit.
_WINDOW, _BUSY = 0.4, 0.8


@dataclass(frozen=True)
class Factor:
    """Limiting factor of `FACTORS`, and why."""

    name: str
    why: str

    @property
    def ends(self) -> bool:
        """True if an end limited the transfer: its congestion window does not show."""
        return self.name in ("application", "send buffer", "receive window", "unknown")


def factor(
    seen: Observed, rate: Rate, lost: Losses, shaper: Shaper, limits: Limits, base_s: float | None
) -> Factor:
    """The factor that limited the transfer for most of its time."""
    if not len(seen.ack_s):
        return Factor("unknown", "the capture has no ACKs")
    if shaper.kind == "policer":
        return Factor("policer", shaper.evidence)
    lasted = float(seen.sent_s[-1] - seen.sent_s[0])
    if base_s and lasted < 6 * base_s and not len(lost.at_s):
        return Factor("start", f"it ended after {lasted / base_s:.1f} RTTs, in slow start")
    busy = rate.busy_share
    if limits.window_share > _WINDOW and busy < _BUSY:
        return Factor("receive window", _window(limits))
    if limits.idle_share > 0.5:
        return Factor("application", _idle(limits))
    if busy > 0.5:
        return Factor("bottleneck", f"packets waited in the queue {busy:.0%} of the time")
    if limits.idle_share > 0.1:
        return Factor("application", _idle(limits))
    if base_s and seen.ack_wait_s > base_s and _used(rate) < 0.93:
        wait = f"{seen.ack_wait_s * 1e3:.3g} ms"
        return Factor("bottleneck", f"on the way back: ACKs waited {wait} there, and data seldom")
    if not len(lost.delays_s) and _used(rate) < 0.93:
        return Factor("unknown", "no timestamps show the RTT before the tap, so no queue shows")
    if hidden(lost.full_s, seen.tick_s) and _used(rate) < 0.93:
        said = f"the clock's ticks of {seen.tick_s * 1e3:.3g} ms hide how long packets wait"
        return Factor("unknown", said)
    late = lost.at_s[lost.events] > seen.sent_s[0] + lasted / 3
    stands = 0.87 < limits.grows < 1.15 and late.sum() < 2
    flat = stands and _used(rate) < 0.93 and not _waits(seen, rate, lost)
    end = _end(limits, flat=flat)
    if end is not None:
        return end
    if _used(rate) > 0.85:
        return Factor("bottleneck", f"it was delivered at {_used(rate):.0%} of the path's rate")
    if lost.random_share.value and lost.random_share.value > 0.5 * lost.share:
        return Factor("loss", lost.random_share.evidence)
    if lost.events.sum() >= 3 and busy < 0.15 and lost.full_s < 0.002:
        return Factor("loss", f"{many(int(lost.events.sum()), 'round')} of loss, and no queue")
    rounds = lost.events & (lost.at_s > seen.sent_s[0] + lasted / 3)
    held = lost.full_s > _FRAMES * _frame_s(seen, rate)
    if rounds.sum() >= 3 and held and lost.overflows_at(rounds):
        said = f"{many(int(late.sum()), 'round')} of loss, each as the queue was near its longest"
        return Factor("bottleneck", said)
    if late.sum() >= 3 and busy < 0.15 and 0 < _used(rate) < 0.5:
        return Factor("loss", f"{many(int(late.sum()), 'round')} of loss far below the path's rate")
    if busy > 0.15 and _used(rate) <= 0.7:
        return Factor("bottleneck", f"packets waited in the queue {busy:.0%} of the time")
    if _used(rate) > 0.7:
        return Factor("bottleneck", f"it was delivered at {_used(rate):.0%} of the path's rate")
    if stands:
        stood = f"in flight stood at {limits.plateau_bytes / 1e3:.3g} kB while packets waited"
        return Factor("congestion control", f"{stood}, but no rate of a bottleneck shows")
    return Factor(
        "congestion control",
        "the window moved without a queue"
        + (", a loss" if not lost.events.any() else "")
        + " or a limit of the ends",
    )


def _end(limits: Limits, *, flat: bool) -> Factor | None:
    """Limit of the sender's end; None: none. `flat`: in flight stood, and no queue or loss held it.

    A partial segment shows that the sender had no more data: its application had written all, or
    the send buffer had no space for more. Which one, the ACK clock tells.
    """
    clock = limits.clocking
    if limits.partial_share > 0.05 or (limits.partial_rounds > 0.8 and not clock.clocked):
        share = f"for {limits.partial_share:.0%} of the time the last segment was not full"
        if clock.refilled:
            return Factor("send buffer", f"{share}, and the next one left as an ACK came")
        if clock.refilled is None and clock.refilled_share > 0:
            return Factor("unknown", f"{share}: the application or the send buffer")
        return Factor("application", f"{share}: the sender had no more data")
    if not flat:
        return None
    stood = f"in flight stood at {limits.plateau_bytes / 1e3:.3g} kB, and no queue grew"
    if clock.clocked:
        return Factor("send buffer", f"{stood}; packets left as ACKs came")
    if clock.free_from_start or (clock.clocked is False and not clock.paced):
        return Factor("application", f"{stood}; packets left at its own times, not as ACKs came")
    return Factor("unknown", f"{stood}: the send buffer or the application; it does not show which")


def delayed_by_reader(rate: Rate, shaper: Shaper, limits: Limits) -> bool:
    """True if packets seem to wait because the receiving application reads late.

    Its ACKs then wait for the next read, and open the window together (`__tcp_ack_snd_check`,
    `tcp_cleanup_rbuf`).
    """
    if rate.busy_share < _BUSY or limits.window_share < _WINDOW:
        return False
    reads = limits.reads_bps.knowledge == "measured"
    return reads or (shaper.kind == "slots" and limits.window_share > _BUSY)


def _window(limits: Limits) -> str:
    said = f"the sender used up the receive window {limits.window_share:.0%} of the time"
    reads = limits.reads_bps
    return said if reads.value is None else f"{said}; {reads.evidence}"


def _idle(limits: Limits) -> str:
    return f"the sender had nothing in flight {limits.idle_share:.0%} of the time"


def _waits(seen: Observed, rate: Rate, lost: Losses) -> bool:
    """True if packets wait though no rate shows: a queue may hold the window."""
    if not rate.rate_bps.value or not len(lost.delays_s) or rate.rate_bps.knowledge == "measured":
        return False
    return float(np.median(lost.delays_s)) > _FRAMES * _frame_s(seen, rate)


def _frame_s(seen: Observed, rate: Rate) -> float:
    """Time of a full frame at the rate, or its lower bound."""
    return seen.frame_bytes * 8 / (rate.rate_bps.value or 1.0)


def _used(rate: Rate) -> float:
    """Median delivered share of the rate; 0 if the rate is only a lower bound."""
    known = rate.window_bps[~np.isnan(rate.window_bps)]
    if not len(known) or not rate.rate_bps.value or rate.rate_bps.knowledge != "measured":
        return 0.0
    return float(np.median(known) / rate.rate_bps.value)
