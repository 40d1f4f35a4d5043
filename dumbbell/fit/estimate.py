"""Estimated quantities: a value with its interval, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: `measured`: value within the interval. `at least`, `at most`: the capture shows only a bound.
#: `unknown`: the capture does not show it.
Knowledge = Literal["measured", "at least", "at most", "unknown"]


@dataclass(frozen=True)
class Estimate:
    """Estimate of a quantity.

    Attributes:
        value: Value, in the unit of the quantity; None: unknown.
        low, high: Interval that holds the truth with a probability of about 90 %.
        knowledge: How much the capture shows.
        evidence: One phrase: what in the capture shows it.
    """

    value: float | None
    low: float | None
    high: float | None
    knowledge: Knowledge
    evidence: str


def measured(value: float, spread: float, evidence: str) -> Estimate:
    """Measured value with an interval of `spread` to both sides."""
    return Estimate(value, max(0.0, value - spread), value + spread, "measured", evidence)


def at_least(value: float, evidence: str) -> Estimate:
    """Lower bound."""
    return Estimate(value, value, None, "at least", evidence)


def at_most(value: float, evidence: str) -> Estimate:
    """Upper bound."""
    return Estimate(value, 0.0, value, "at most", evidence)


def unknown(evidence: str) -> Estimate:
    """Quantity that the capture does not show."""
    return Estimate(None, None, None, "unknown", evidence)
