"""Queue of the bottleneck: its limit, and its kind.

A drop-tail queue loses packets only at its limit. CoDel (RFC 8289) signals at intervals that shrink
with the square root of their number, PIE (RFC 8033) and RED at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.console.words import many
from dumbbell.fit.estimate import Estimate, at_least, measured, unknown
from dumbbell.fit.loss import Losses, hidden
from dumbbell.fit.observe import Observed
from dumbbell.fit.rate import Rate
from dumbbell.fit.shaper import Shaper


@dataclass(frozen=True)
class Queue:
    """Queue of the bottleneck.

    Attributes:
        kind: `drop-tail`, `CoDel-like`, `RED-like`, `marks`, or `unknown`.
        limit_packets: Queue limit in full frames.
        target_s: Delay that the discipline keeps.
        evidence: What shows the kind.
    """

    kind: str
    limit_packets: Estimate
    target_s: Estimate
    evidence: str


Floats = NDArray[np.float64]
#: Frames that the ACK of the packet before a loss comes late: one, of every second packet.
_LATE = 0.5
_NO_TARGET = unknown("drop-tail queues have no target")


def queue(seen: Observed, rate: Rate, lost: Losses, shaper: Shaper) -> Queue:
    """Kind of queue and its limit."""
    bps = rate.rate_bps.value
    if bps is None or not len(lost.delays_s):
        nothing = unknown("neither rate nor RTTs are known")
        return Queue("unknown", nothing, nothing, "neither rate nor RTTs are known")
    frames = max(0.0, lost.full_s - seen.tick_s) * bps / 8 / seen.frame_bytes
    longest = at_least(frames, f"the longest queue was {lost.full_s * 1e3:.3g} ms")
    if shaper.kind == "policer":
        return Queue("unknown", longest, _NO_TARGET, "the policer drops before the queue is full")
    if seen.marked:
        target = measured(_typical(lost), 0.3 * _typical(lost), "median queueing delay")
        return Queue("marks", longest, target, "packets were marked (ECN)")
    if hidden(lost.full_s, seen.tick_s):
        said = f"the clock's ticks of {seen.tick_s * 1e3:.3g} ms hide how long packets wait"
        return Queue("unknown", longest, _NO_TARGET, said)
    known = ~np.isnan(lost.delay_s)
    at = lost.delay_s[lost.events & known]
    if len(lost.at_s) < 3 or not len(at):
        return Queue("unknown", longest, _NO_TARGET, "too few losses show the end of the queue")
    full = at > 0.85 * lost.full_s
    frame_s = seen.frame_bytes * 8 / bps
    every = np.ones_like(lost.events)
    rare = any(_random_loss(lost, which, frame_s) for which in (every, lost.events))
    rare = rare or _without_queue(lost, frame_s)
    if not _aqm(lost) or (rare and full.sum() >= 2):
        return _drop_tail(seen, lost, at[full] if full.any() else at, rate.rate_bps)
    if rare:
        return Queue("unknown", longest, _NO_TARGET, "losses do not depend on the queue")
    target = measured(_typical(lost), 0.5 * _typical(lost), "median queueing delay")
    if _square_root_law(lost):
        said = "losses keep their distance while the queue is far below its longest"
        return Queue("CoDel-like", longest, target, said)
    said = "losses come at random while the queue is far below its longest"
    return Queue("RED-like", longest, target, said)


def _typical(lost: Losses) -> float:
    return float(np.median(lost.delays_s))


def _drop_tail(seen: Observed, lost: Losses, at: Floats, rate_bps: Estimate) -> Queue:
    bps = rate_bps.value or 0.0
    value = float(np.median(at)) * bps / 8 / seen.frame_bytes + 1.0
    ticks = seen.tick_s * bps / 8 / seen.frame_bytes
    said = (
        f"{many(len(at), 'round')} of loss at a queueing delay of {np.median(at) * 1e3:.3g} ms, "
        "the longest"
    )
    limit = measured(value, max(1.0, 0.08 * value, ticks), said)
    if rate_bps.knowledge == "at least":
        limit = at_least(value, f"{said}; the rate is only a lower bound")
    return Queue("drop-tail", limit, _NO_TARGET, said)


def _aqm(lost: Losses) -> bool:
    """True if a good part of the rounds of loss comes far below the longest queue."""
    first = lost.delay_s[lost.events & ~np.isnan(lost.delay_s)]
    return bool((first < 0.75 * lost.full_s).mean() > 0.4)


def _without_queue(lost: Losses, frame_s: float) -> bool:
    """True if most rounds of loss far below the longest queue come while at most a frame waits.

    No discipline drops then: CoDel keeps at least a frame (RFC 8289 §4.4), RED and PIE have a
    threshold.
    """
    first = lost.delay_s[lost.events & ~np.isnan(lost.delay_s)]
    low = first[first < 0.5 * lost.full_s]
    return len(low) >= 3 and bool((low < 1.2 * frame_s).mean() > 0.6)


def _random_loss(lost: Losses, which: NDArray[np.bool_], frame_s: float) -> bool:
    """True if packets are lost whatever the queue: delays at losses are as those of all packets.

    `which`: losses that count: all, or the first of each round. The ACK of the packet before a loss
    may wait for the packet behind it, a frame longer than others wait (`frame_s`).
    Mann, Whitney 1947: the chance that a packet before a loss waited longer than any packet.
    """
    at = np.maximum(lost.delay_s[which & ~np.isnan(lost.delay_s)] - _LATE * frame_s, 0.0)
    at, every = (
        at[at < 0.85 * lost.full_s],
        np.sort(lost.delays_s[lost.delays_s < 0.85 * lost.full_s]),
    )
    if len(at) < 3 or not len(every):
        return False
    below, up_to = np.searchsorted(every, at), np.searchsorted(every, at, side="right")
    chance = float((below + up_to).mean() / 2 / len(every))
    return bool(chance < 0.56 + 0.45 / np.sqrt(12 * len(at)))


def _square_root_law(lost: Losses) -> bool:
    """True if losses keep a distance from each other, as CoDel's (interval / sqrt(count))."""
    gaps = np.diff(lost.at_s)
    gaps = gaps[gaps < 0.5]
    if len(gaps) < 6:
        return True
    return bool((gaps < 0.004).mean() < 0.35)
