"""Rate and depth of a policer's token bucket, fitted to the packets that it passed and dropped.

A packet passes if the bucket has tokens for all its bytes, otherwise it is dropped (RFC 2697 with
one rate; `tc police`). All pairs of a grid of rates and depths are tried at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Packets that are tried: a policer shows itself within the first losses.
_PACKETS_MAX = 8_000
#: Rates beside the passed one: a sender that backs off far uses less than the policer's.
_FACTORS = np.concatenate((np.linspace(0.98, 1.02, 9), np.geomspace(1.03, 3.0, 16)))
_DEPTHS = 20


@dataclass(frozen=True)
class Bucket:
    """Token bucket.

    Attributes:
        rate_bytes: Fill rate, bytes of frames per s.
        rate_spread_bytes: Half the range of the rates that fit as well.
        burst_bytes: Depth.
        misfit: Share of losses with tokens for a frame, and of passed packets without; the mean.
    """

    rate_bytes: float
    rate_spread_bytes: float
    burst_bytes: float
    misfit: float


def fit_bucket(at: Floats, size: Floats, lost_s: Floats, rate: float) -> Bucket | None:
    """The bucket that fits best; None: too few packets. `rate`: bytes passed per s."""
    frame = float(size.max())
    begin = max(0, int(np.searchsorted(at, lost_s[0])) - _PACKETS_MAX // 4)
    at, size = at[begin : begin + _PACKETS_MAX], size[begin : begin + _PACKETS_MAX]
    lost = lost_s[(lost_s >= at[0]) & (lost_s <= at[-1])]
    if len(at) < 50 or len(lost) < 5:
        return None
    most = max(_depth(at, size, rate), 12 * frame)
    rates, depths = np.meshgrid(rate * _FACTORS, np.geomspace(6 * frame, 1.2 * most, _DEPTHS))
    misfit = _misfit(at, size, lost, rates.ravel(), depths.ravel(), frame)
    best = int(np.argmin(misfit + 1e-4 * np.log(depths.ravel() / frame)))
    found, depth = float(rates.ravel()[best]), float(depths.ravel()[best])
    fine, deep = np.meshgrid(
        found * np.linspace(0.97, 1.03, 13), depth * np.linspace(0.8, 1.25, 12)
    )
    closer = _misfit(at, size, lost, fine.ravel(), deep.ravel(), frame)
    good = closer <= closer.min() + 0.002
    return Bucket(
        float(np.median(fine.ravel()[good])),
        float(np.ptp(fine.ravel()[good])) / 2,
        float(np.median(deep.ravel()[good])) + frame,
        float(closer.min()),
    )


def _depth(at: Floats, size: Floats, rate: float) -> float:
    """Most bytes beyond the rate in any interval."""
    used = np.cumsum(size) - rate * at
    before = np.concatenate(([0.0], used[:-1]))
    return float((used - np.minimum.accumulate(before)).max())


def _misfit(
    at: Floats, size: Floats, lost: Floats, rates: Floats, depths: Floats, frame: float
) -> Floats:
    """Share of packets and losses that contradict each bucket."""
    tokens = depths.copy()
    passed, dropped = np.zeros(len(rates)), np.zeros(len(rates))
    place = np.searchsorted(at, lost, side="right")
    counts = np.bincount(place, minlength=len(at) + 1)
    waits = np.bincount(place, lost, minlength=len(at) + 1) / np.maximum(counts, 1)
    # Half a frame of tolerance: clocks of tap and policer differ by the jitter between them.
    high, low = 1.5 * frame, 0.5 * frame
    now = float(at[0])
    for number in range(len(at)):
        if counts[number]:
            at_loss = np.minimum(depths, tokens + rates * max(0.0, waits[number] - now))
            dropped += counts[number] * (at_loss > high)
        tokens = np.minimum(depths, tokens + rates * (at[number] - now))
        now = at[number]
        passed += tokens < low
        tokens = np.maximum(tokens - size[number], 0.0)
    return dropped / len(lost) + passed / len(at)
