"""Competing traffic: what the bottleneck carries beside the transfer while packets wait.

Two packets in a row leave the bottleneck at its rate (packet pairs: Keshav 1991; Carter, Crovella
1996). If a transfer with waiting packets is delivered at less, others have the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dumbbell.fit.estimate import Estimate, measured, unknown
from dumbbell.fit.observe import Observed
from dumbbell.fit.rate import SELDOM, Rate, common_rate

#: Relative spread of the rest of the rate below which the other traffic is steady.
_STEADY = 0.08
_LEAST_BUSY, _LEAST_MORE, _MOST_MORE = 0.5, 1.12, 50.0


@dataclass(frozen=True)
class Competing:
    """Competing traffic.

    Attributes:
        kind: `none`, `steady`, `elastic` (its rate gives way and comes back) or `unknown`.
        rate_bps: Its mean rate, bit/s of frames.
        capacity_bps: Rate of the bottleneck for all.
        evidence: What shows it.
    """

    kind: str
    rate_bps: Estimate
    capacity_bps: float | None
    evidence: str


#: Behind a policer or in front of slots, packets in a row say nothing about the rate.
NOT_ASKED = Competing("unknown", unknown("not visible here"), None, "not visible here")


def competing(seen: Observed, rate: Rate) -> Competing:
    """Competing traffic at the bottleneck."""
    said = _hidden(rate)
    if said:
        return Competing("unknown", unknown(said), None, said)
    width = float(rate.from_s[1] - rate.from_s[0])
    place = np.clip(((seen.left_s - rate.from_s[0]) / width).astype(int), 0, len(rate.busy) - 1)
    pair = common_rate(seen, 1, rate.busy[place])
    own = rate.window_bps[rate.busy]
    mean = float(own.mean())
    if pair is None or not _LEAST_MORE * mean < pair < _MOST_MORE * mean:
        said = "while packets wait, the transfer has the whole rate"
        return Competing("none", measured(0.0, 0.05 * mean, said), None, said)
    rest = pair - own
    spread = float(rest.std() / pair)
    kind = "steady" if spread < _STEADY / 2 else "elastic"
    said = (
        f"packets in a row leave at {pair / 1e6:.4g} Mbit/s, the transfer has "
        f"{mean / 1e6:.4g} Mbit/s while packets wait"
    )
    found = measured(float(rest.mean()), float(rest.std()), said)
    return Competing(kind, found, pair, said)


def _hidden(rate: Rate) -> str:
    """Why others do not show; empty: they do."""
    if rate.wanders:
        return "the rate changes, so others do not show"
    if len(rate.from_s) < 2:
        return "too few ACKs"
    if rate.busy_share >= _LEAST_BUSY:
        return ""
    if rate.busy_share < SELDOM:
        return "packets seldom wait, so others do not show"
    return f"packets wait {rate.busy_share:.0%} of the time, too seldom to show others"


def with_capacity(rate: Rate, other: Competing) -> Rate:
    """The rate of the bottleneck for all traffic."""
    if other.capacity_bps is None:
        return rate
    value = other.capacity_bps
    return replace(
        rate,
        rate_bps=measured(value, 0.005 * value, other.evidence),
        wanders=False,
        steps=((0.0, value),),
    )
