"""Queue of the bottleneck: its limit, and its kind.

A drop-tail queue loses packets only at its limit. CoDel (RFC 8289) signals at intervals that shrink
with the square root of their number, PIE (RFC 8033) and RED at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.fit.estimate import Estimate, at_least, measured, unknown
from dumbbell.fit.loss import Losses
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


_NO_TARGET = unknown("drop-tail queues have no target")


def queue(seen: Observed, rate: Rate, lost: Losses, shaper: Shaper) -> Queue:
    """Kind of queue and its limit."""
    bps = rate.rate_bps.value
    if bps is None or not len(lost.delays_s):
        nothing = unknown("neither rate nor RTTs are known")
        return Queue("unknown", nothing, nothing, "neither rate nor RTTs are known")
    frames = lost.full_s * bps / 8 / seen.frame_bytes
    longest = at_least(frames, f"the longest queue was {lost.full_s * 1e3:.3g} ms")
    if shaper.kind == "policer":
        return Queue("unknown", longest, _NO_TARGET, "the policer drops before the queue is full")
    if seen.marked:
        target = measured(_typical(lost), 0.3 * _typical(lost), "median queueing delay")
        return Queue("marks", longest, target, "packets were marked (ECN)")
    first = lost.events & ~np.isnan(lost.delay_s)
    at = lost.delay_s[first]
    if not len(at):
        return Queue("unknown", longest, _NO_TARGET, "no loss shows the end of the queue")
    high = float((at > 0.75 * lost.full_s).mean())
    steady = lost.full_s - float(np.median(at))
    tight = steady < 0.12 * lost.full_s + 2 * seen.frame_bytes * 8 / bps
    if (high >= 0.6 or tight) and not _aqm(lost):
        return _drop_tail(seen, rate, lost, at, bps)
    if _random_loss(lost):
        return Queue("unknown", longest, _NO_TARGET, "losses do not depend on the queue")
    target = measured(_typical(lost), 0.5 * _typical(lost), "median queueing delay")
    if _square_root_law(lost):
        said = "losses come at shrinking intervals while the queue is far below its longest"
        return Queue("CoDel-like", longest, target, said)
    said = "losses come at random while the queue is far below its longest"
    return Queue("RED-like", longest, target, said)


def _typical(lost: Losses) -> float:
    return float(np.median(lost.delays_s))


def _drop_tail(
    seen: Observed, rate: Rate, lost: Losses, at: np.ndarray, bps: float
) -> Queue:
    if rate.wanders:
        per = np.interp(
            lost.at_s[lost.events & ~np.isnan(lost.delay_s)],
            [step[0] for step in rate.steps],
            [step[1] for step in rate.steps],
        )
        frames = at * per / 8 / seen.frame_bytes
        value = float(np.quantile(frames, 0.8))
    else:
        top = at[at > 0.75 * lost.full_s]
        value = float(np.median(top if len(top) else at)) * bps / 8 / seen.frame_bytes
    value += 1.0
    spread = max(1.0, 0.08 * value)
    said = f"{len(at)} rounds of loss at a queueing delay of {np.median(at) * 1e3:.3g} ms, the longest"
    return Queue("drop-tail", measured(value, spread, said), _NO_TARGET, said)


def _aqm(lost: Losses) -> bool:
    """True if the queue mostly stays far below its longest although packets are lost there."""
    first = lost.delay_s[lost.events & ~np.isnan(lost.delay_s)]
    return bool(len(first) >= 4 and np.quantile(first, 0.3) < 0.5 * lost.full_s)


def _random_loss(lost: Losses) -> bool:
    """True if packets are lost whatever the queue: the delays at losses are as those of all."""
    at = lost.delay_s[~np.isnan(lost.delay_s)]
    if len(at) < 3:
        return False
    rank = np.searchsorted(np.sort(lost.delays_s), at) / max(1, len(lost.delays_s))
    return bool(np.quantile(rank, 0.15) < 0.2 and rank.mean() < 0.62)


def _square_root_law(lost: Losses) -> bool:
    """True if losses keep a distance from each other, as CoDel's (interval / sqrt(count))."""
    gaps = np.diff(lost.at_s)
    gaps = gaps[gaps < 0.5]
    if len(gaps) < 6:
        return True
    return bool((gaps < 0.004).mean() < 0.35)
