"""All rules, in the order in which they are asked."""

from __future__ import annotations

from dumbbell.advise import (
    burst,
    default,
    jitter,
    limit,
    loss,
    mtu,
    policer,
    reach,
    shallow,
    small_burst,
    standing,
)
from dumbbell.advise.advice import Rule

RULES: dict[str, Rule] = {
    "limit": limit.look,
    "jitter": jitter.look,
    "policer": policer.look,
    "small burst": small_burst.look,
    "burst": burst.look,
    "loss": loss.look,
    "buffer": standing.look,
    "shallow": shallow.look,
    "rate": reach.look,
    "mtu": mtu.look,
    "default": default.look,
}
