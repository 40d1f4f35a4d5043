"""Features of a transfer that tell algorithms apart, as the tap sees them.

Each group is a vector; `distance` of two groups is their mean absolute difference. Sources: in
flight over time and its reaction to loss (Gordon: Mishra et al. 2019; CCAnalyzer: Ware et al.
2024; Nebby: Mishra et al. 2024), growth per RTT (Yang et al. 2011, "TCP Congestion Avoidance
Algorithm Identification"), pacing gaps and probing cycles (Cardwell et al. 2016). Delays and sizes
are relative to the path, so that a twin compares with its capture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.fit.observe import Observed

Floats = NDArray[np.float64]
Features = dict[str, Floats]
#: Equal parts of the time of a transfer.
BINS = 80
#: Groups as sentences name them.
NAMES = {
    "flight": "bytes in flight over time",
    "early": "bytes in flight of the first RTTs",
    "flight spread": "distribution of the bytes in flight",
    "rtt": "RTT over time",
    "rtt spread": "distribution of the RTTs",
    "cycles": "cycles of the bytes in flight",
    "growth": "growth per RTT",
    "losses": "number of losses",
    "reaction": "reaction to loss",
    "gaps": "gaps between packets",
    "rate": "delivery rate over time",
    "ect": "ECN field of the sender's packets",
}
_QUANTILES = np.linspace(0.04, 0.96, 24)
_LAGS = 24


@dataclass(frozen=True)
class Scale:
    """What features are relative to: base RTT (s), bytes in flight that fill the path, time (s)."""

    rtt_s: float
    bdp_bytes: float
    duration_s: float


def features(seen: Observed, scale: Scale) -> Features:
    """Groups of features within the first `duration_s`."""
    inside = seen.sent_s < scale.duration_s
    fresh = inside & seen.sent_new
    at, flight = seen.sent_s[fresh], seen.flight_bytes[fresh]
    logs = np.log(np.maximum(flight, seen.payload_bytes) / scale.bdp_bytes)
    rtt = np.log(np.maximum(seen.rtt_s, 1e-6) / scale.rtt_s)
    series = _series(at, logs, scale.duration_s)
    delays = _series(seen.sent_s[inside], rtt[inside], scale.duration_s)
    acked = seen.ack_s < scale.duration_s
    lost = seen.lost_s[seen.lost_s < scale.duration_s]
    rounds = lost[np.diff(lost, prepend=-np.inf) > 1.5 * scale.rtt_s]
    found = {
        "flight": series,
        "early": _series(at, logs, min(scale.duration_s, 25 * scale.rtt_s))[: BINS // 2],
        "flight spread": _quantiles(logs),
        "rtt": delays,
        "rtt spread": _quantiles(rtt[inside]),
        "cycles": _cycles(at, logs, scale.rtt_s),
        "growth": _growth(at, flight, scale),
        "losses": np.log1p(np.array([len(rounds) * 3.0, len(lost) / 3.0])),
        "reaction": _reaction(at, logs, rounds, scale.rtt_s),
        "gaps": _gaps(at, seen.sent_len_bytes[fresh], scale),
        "rate": _rates(seen.ack_s[acked], seen.delivered_bytes[acked], scale),
    }
    known = {name: np.nan_to_num(values) for name, values in found.items()}
    return {**known, "ect": seen.ect}


def distances(one: Features, other: Features) -> Floats:
    """Distance per group, in the order of the groups."""
    return np.array([_distance(one[name], other[name]) for name in one])


def _distance(one: Floats, other: Floats) -> float:
    gaps = np.abs(one - other)
    known = ~np.isnan(gaps)
    return min(3.0, float(gaps[known].mean())) if known.any() else 0.0


def _series(at: Floats, values: Floats, duration_s: float) -> Floats:
    """Mean of values in equal parts of the time; parts without values keep the previous mean."""
    known = ~np.isnan(values) & (at < duration_s)
    place = np.minimum((at[known] / duration_s * BINS).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    sums = np.bincount(place, values[known], minlength=BINS)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return _filled(means)


def _filled(means: Floats) -> Floats:
    known = np.flatnonzero(~np.isnan(means))
    if not len(known):
        return np.zeros(len(means))
    last = np.maximum.accumulate(np.where(np.isnan(means), -1, np.arange(len(means))))
    return means[np.where(last < 0, known[0], last)]


def _quantiles(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    return np.quantile(known, _QUANTILES) if len(known) > 2 else np.zeros(len(_QUANTILES))


def _per_rtt(at: Floats, values: Floats, rtt_s: float) -> Floats:
    """Greatest value of each RTT."""
    if len(at) < 2:
        return np.zeros(1)
    place = ((at - at[0]) / max(rtt_s, (at[-1] - at[0]) / 1000)).astype(int)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    return np.maximum.reduceat(values, first)


def _cycles(at: Floats, logs: Floats, rtt_s: float) -> Floats:
    """Autocorrelation of in flight per RTT: periods of probing and of saw-teeth."""
    tops = _per_rtt(at, logs, 2 * rtt_s)
    late = tops[len(tops) // 5 :]
    if len(late) < 8 or late.std() < 1e-3:
        return np.zeros(_LAGS)
    centred = late - late.mean()
    lags = np.unique(np.geomspace(1, max(2, len(late) // 2), _LAGS).astype(int))
    power = float((centred**2).mean())
    found = np.array([(centred[lag:] * centred[:-lag]).mean() / power for lag in lags])
    return np.pad(found, (0, _LAGS - len(found)))


def _growth(at: Floats, flight: Floats, scale: Scale) -> Floats:
    """Quantiles of the change of in flight per RTT, relative to in flight, after slow start."""
    tops = _per_rtt(at, flight, scale.rtt_s)
    if len(tops) < 8:
        return np.zeros(len(_QUANTILES))
    change = np.diff(tops)[len(tops) // 10 :] / np.maximum(tops[:-1][len(tops) // 10 :], 1.0)
    return 4 * _quantiles(np.clip(change, -1, 1))


def _reaction(at: Floats, logs: Floats, rounds: Floats, rtt_s: float) -> Floats:
    """In flight some RTTs after each round of loss, relative to in flight before it: the median."""
    if not len(rounds) or len(at) < 5:
        return np.zeros(6)
    before = logs[np.clip(np.searchsorted(at, rounds) - 1, 0, len(at) - 1)]
    steps = [1.5, 2.5, 4, 8, 16, 32]
    found = []
    for step in steps:
        when = rounds + step * rtt_s
        after = logs[np.clip(np.searchsorted(at, when) - 1, 0, len(at) - 1)]
        within = when < at[-1]
        found.append(float(np.median((after - before)[within])) if within.any() else 0.0)
    return np.array(found)


def _gaps(at: Floats, length: Floats, scale: Scale) -> Floats:
    """Quantiles of the gaps between packets, relative to an even spread over the transfer."""
    if len(at) < 20:
        return np.zeros(len(_QUANTILES))
    gaps = np.diff(at)
    even = float(at[-1] - at[0]) / len(at)
    return 0.5 * _quantiles(np.log(np.clip(gaps / even, 1e-3, 1e3)))


def _rates(at: Floats, delivered: Floats, scale: Scale) -> Floats:
    """Delivered share of the path's rate in equal parts of the time."""
    if len(at) < 4:
        return np.zeros(BINS)
    edges = np.linspace(0, scale.duration_s, BINS + 1)
    place = np.clip(np.searchsorted(at, edges, side="right") - 1, 0, None)
    per = scale.bdp_bytes / scale.rtt_s * scale.duration_s / BINS
    return np.clip(np.diff(delivered[place]) / per, 0, 3)
