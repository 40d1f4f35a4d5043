"""The path of a transfer and its ends: all estimates together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dumbbell.fit.base_rtt import BaseRtt, base_rtt, bottleneck_is_behind
from dumbbell.fit.competing import NOT_ASKED, Competing, competing, with_capacity
from dumbbell.fit.estimate import at_least, unknown
from dumbbell.fit.factor import Factor, delayed_by_reader, factor
from dumbbell.fit.limits import Limits, limits
from dumbbell.fit.loss import Losses, losses
from dumbbell.fit.observe import Observed
from dumbbell.fit.queue import Queue, queue
from dumbbell.fit.rate import Rate, rate, train_rate, underused, without_queue
from dumbbell.fit.shaper import Shaper, link, shaper


@dataclass(frozen=True)
class Path:
    """Estimates of one transfer.

    Attributes:
        rtt: Base RTTs.
        behind: True if the bottleneck stands between tap and receiver.
        rate: Rate of the bottleneck over time.
        shaper: Its kind.
        queue: Queue in front of it.
        losses: Losses with the state of the queue.
        limits: Limits of the ends.
        factor: What limited the transfer.
        competing: Other traffic at the bottleneck.
    """

    rtt: BaseRtt
    behind: bool
    rate: Rate
    shaper: Shaper
    queue: Queue
    losses: Losses
    limits: Limits
    factor: Factor
    competing: Competing

    @property
    def rate_unseen(self) -> bool:
        """True if the ends sent less than the bottleneck's rate, so that it does not show."""
        return self.factor.ends and self.rate.rate_bps.knowledge == "at least"


def estimate(seen: Observed) -> Path:
    """All estimates of an observed transfer."""
    found = rate(seen)
    bps = found.rate_bps.value
    rtt = base_rtt(seen, bps, drained=underused(found))
    lost = losses(seen, rtt.path.value, found)
    shaped = shaper(seen, found, lost)
    if shaped.kind == "policer":
        rtt = base_rtt(seen, train_rate(seen))  # a policer serialises nothing
    other = competing(seen, found) if shaped.kind in ("link", "token bucket") else NOT_ASKED
    if other.capacity_bps is not None:
        found = with_capacity(found, other)
        lost = losses(seen, rtt.path.value, found)
        shaped = link(found)
    queued = queue(seen, found, lost, shaped)
    if rtt.path.knowledge == "at most" and queued.limit_packets.value is not None:
        bound = at_least(queued.limit_packets.value, rtt.path.evidence)
        queued = replace(queued, limit_packets=bound)
    if shaped.kind == "policer" or queued.kind in ("CoDel-like", "RED-like", "marks"):
        said = "drops of the policer or the queue discipline hide it"
        lost = replace(lost, random_share=unknown(said))
    behind = bottleneck_is_behind(seen)
    frame_s = 0.0 if behind or not rtt.serialises else _frame_s(seen, found)
    ends = limits(seen, rtt.path.value, rtt.near.value, frame_s)
    if delayed_by_reader(found, shaped, ends):
        found = without_queue(seen, found)
        lost = losses(seen, rtt.path.value, found)
        shaped = link(found)
        queued = queue(seen, found, lost, shaped)
        other = NOT_ASKED
    why = factor(seen, found, lost, shaped, ends, rtt.path.value)
    return Path(rtt, behind, found, shaped, queued, lost, ends, why, other)


def _frame_s(seen: Observed, found: Rate) -> float | None:
    """Time of a full frame at the bottleneck; None: its rate is only bounded."""
    bps = found.rate_bps.value
    known = bps is not None and bps > 0 and found.rate_bps.knowledge == "measured"
    return seen.frame_bytes * 8 / bps if known and bps else None
