"""Estimates beside the truth: a record per case, and tables of their accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.capture import survey
from dumbbell.fit.estimate import Estimate
from dumbbell.fit.observe import Observed, observe
from dumbbell.fit.path import Path, estimate
from tests.fit.cases import Truth


@dataclass(frozen=True)
class Judged:
    """What was estimated of a case. Errors are relative; None: only a bound, or unknown.

    Attributes:
        rtt_said: True if the interval of the base RTT is at most 3 % wide to each side.
        rtt_held: True if it holds the truth.
        bounds_hold: True if a lower bound of the rate or the limit holds.
    """

    truth: Truth
    rtt_error: float | None
    rtt_said: bool
    rtt_held: bool
    rate_error: float | None
    limit_error: float | None
    bounds_hold: bool
    queue: str
    factor: str
    true_factor: str | None


def read(capture: str) -> Observed:
    """The direction of the connection with the most data."""
    rows = survey(capture)["connections"]
    return observe(capture, max(rows, key=lambda row: row["unique_bytes"]))


def judged(truth: Truth, seen: Observed, path: Path) -> Judged:
    """The estimates of a case beside its truth."""
    rtt = path.rtt.path
    rate = path.rate.rate_bps if path.shaper.kind != "policer" else path.shaper.rate_bps
    limit = path.queue.limit_packets
    rate_error = None
    mean = np.mean([one for _, one in truth.rates])
    holds = True
    if rate.value is not None and rate.knowledge == "measured":
        rate_error = _rate_error(truth, seen, path)
    elif rate.value is not None:
        holds &= rate.value < 1.05 * max(one for _, one in truth.rates)
    limit_error = None
    if truth.limit_packets is not None and limit.value is not None:
        if limit.knowledge == "measured":
            limit_error = limit.value / truth.limit_packets - 1
        else:
            holds &= limit.value < 1.2 * truth.limit_packets + 2
    used = _goodput(seen) / mean
    true_factor = truth.factor
    if true_factor in ("bottleneck", "policer") and used < 0.85:
        true_factor = None
    return Judged(
        truth,
        None if rtt.value is None else rtt.value / truth.rtt_s - 1,
        _narrow(rtt),
        (rtt.low or 0.0) <= truth.rtt_s <= (rtt.high or np.inf),
        rate_error,
        limit_error,
        bool(holds),
        path.queue.kind,
        path.factor.name,
        true_factor,
    )


def _narrow(one: Estimate) -> bool:
    """True if the interval is at most 3 % wide to each side."""
    if one.value is None or one.low is None or one.high is None:
        return False
    return one.high - one.low <= 0.06 * one.value


def _goodput(seen: Observed) -> float:
    """Delivered frames per second over the later three quarters, bit/s."""
    begin = seen.ack_s[0] + (seen.ack_s[-1] - seen.ack_s[0]) / 4
    late = seen.ack_s >= begin
    passed = seen.delivered_bytes[late]
    span = seen.ack_s[late][-1] - seen.ack_s[late][0]
    wire = 8 * seen.frame_bytes / seen.payload_bytes
    return float((passed[-1] - passed[0]) * wire / span) if span > 0 else 0.0


def _rate_error(truth: Truth, seen: Observed, path: Path) -> float:
    """Relative error of the rate: of one that changes the median of the errors over time."""
    if path.shaper.kind == "policer":
        return float((path.shaper.rate_bps.value or 0.0) / truth.rates[0][1] - 1)
    if len(truth.rates) == 1:
        return float((path.rate.rate_bps.value or 0.0) / truth.rates[0][1] - 1)
    at = np.linspace(seen.ack_s[0], seen.ack_s[-1], 200)
    true = _at(at, truth.rates)
    found = _at(at, path.rate.steps)
    wrong = np.abs(found / true - 1)
    return float(np.median(wrong))


def _at(at: np.ndarray, steps: tuple[tuple[float, float], ...]) -> np.ndarray:
    begins = np.array([one for one, _ in steps])
    values = np.array([one for _, one in steps])
    return values[np.clip(np.searchsorted(begins, at, side="right") - 1, 0, None)]


def judge(truth: Truth, capture: str) -> Judged:
    """Reads a capture and judges its estimates."""
    seen = read(capture)
    return judged(truth, seen, estimate(seen))
