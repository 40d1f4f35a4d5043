"""Limiting factor of a transfer: one factor, and the sentence that says why.

The classes are those of tcp-limits analyses (Zhang et al. 2002, "On the characteristics and origins
of Internet flow rates"): application, ends, path, congestion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.fit.limits import Limits
from dumbbell.fit.loss import Losses
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


@dataclass(frozen=True)
class Factor:
    """Limiting factor of `FACTORS`, and why."""

    name: str
    why: str


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
    if limits.window_share > 0.4 and busy < 0.8:
        return Factor(
            "receive window",
            f"the sender used up the receive window {limits.window_share:.0%} of the time",
        )
    if limits.idle_share > 0.5:
        return Factor("application", _idle(limits))
    if busy > 0.5:
        return Factor("bottleneck", f"packets waited in the queue {busy:.0%} of the time")
    if limits.idle_share > 0.1:
        return Factor("application", _idle(limits))
    if limits.partial_share > 0.05:
        why = f"for {limits.partial_share:.0%} of the time the last segment was not full"
        return Factor("application", f"{why}: the sender had no more data")
    late = lost.at_s[lost.events] > seen.sent_s[0] + lasted / 3
    if limits.grows < 1.15 and late.sum() < 2 and _used(rate) < 0.93:
        why = f"in flight stood at {limits.plateau_bytes / 1e3:.3g} kB, and no queue grew"
        return Factor("send buffer", why)
    if _used(rate) > 0.85:
        return Factor("bottleneck", f"it was delivered at {_used(rate):.0%} of the path's rate")
    if lost.random_share.value and lost.random_share.value > 0.5 * lost.share:
        return Factor("loss", lost.random_share.evidence)
    if lost.events.sum() >= 3 and busy < 0.15 and lost.full_s < 0.002:
        return Factor("loss", f"{int(lost.events.sum())} rounds of loss, and no queue")
    if late.sum() >= 3 and busy < 0.15 and _used(rate) < 0.5:
        return Factor("loss", f"{int(late.sum())} rounds of loss far below the path's rate")
    if _used(rate) > 0.7 or busy > 0.15:
        return Factor("bottleneck", f"it was delivered at {_used(rate):.0%} of the path's rate")
    return Factor(
        "congestion control",
        "the window moved without a queue"
        + (", a loss" if not lost.events.any() else "")
        + " or a limit of the ends",
    )


def _idle(limits: Limits) -> str:
    return f"the sender had nothing in flight {limits.idle_share:.0%} of the time"


def _used(rate: Rate) -> float:
    known = rate.window_bps[~np.isnan(rate.window_bps)]
    return (
        float(np.median(known) / rate.rate_bps.value) if len(known) and rate.rate_bps.value else 0.0
    )
