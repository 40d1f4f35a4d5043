"""What the twin does not explain: the same quantities of capture and twin, beside each other.

A wrong assumption shows here: a policer that was taken for a queue gives the twin delays that the
capture does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.fit.observe import Observed

#: Relative difference that a twin may have without a remark, beside its own spread.
_TOLERATED = 0.12


@dataclass(frozen=True)
class Residue:
    """A quantity of the capture and of the twins.

    Attributes:
        name: Quantity, with its unit.
        captured: Value of the capture.
        low, high: Values of the twins, the least and the greatest.
        explained: True if the capture's value is within the twins' or near them.
    """

    name: str
    captured: float
    low: float
    high: float
    explained: bool


#: Quantities: name and unit, and the absolute difference that does not matter.
_NAMES = {
    "goodput, Mbit/s": 0.05,
    "RTT, 5 %, ms": 0.5,
    "RTT, median, ms": 1.0,
    "RTT, 95 %, ms": 2.0,
    "in flight, median, kB": 4.0,
    "in flight, 95 %, kB": 6.0,
    "lost packets, %": 0.1,
}


def residual(seen: Observed, twins: Sequence[Observed]) -> tuple[Residue, ...]:
    """Quantities of the capture beside those of twins with drawn paths."""
    captured = _values(seen)
    told = [_values(one) for one in twins]
    out = []
    for number, (name, least) in enumerate(_NAMES.items()):
        values = [one[number] for one in told]
        low, high = min(values), max(values)
        value = captured[number]
        wide = max(_TOLERATED * max(abs(value), abs(high)), least, (high - low) / 2)
        if name.startswith("lost"):
            wide = max(wide, 0.5 * max(value, high))
        out.append(Residue(name, value, low, high, bool(low - wide <= value <= high + wide)))
    return tuple(out)


def unexplained(residues: Sequence[Residue]) -> list[str]:
    """A sentence for each quantity that the twin does not explain."""
    found = []
    for one in residues:
        if not one.explained:
            side = "less" if one.captured < one.low else "more"
            found.append(
                f"{one.name}: {one.captured:.4g} in the capture, {side} than the twin's "
                f"{one.low:.4g} to {one.high:.4g}"
            )
    return found


def _values(seen: Observed) -> list[float]:
    rtt = seen.rtt_s[~np.isnan(seen.rtt_s)] * 1e3
    flight = seen.flight_bytes[seen.sent_new] / 1e3
    low, middle, high = np.quantile(rtt, (0.05, 0.5, 0.95)) if len(rtt) else (0.0, 0.0, 0.0)
    span = float(seen.ack_s[-1] - seen.sent_s[0]) if len(seen.ack_s) else 0.0
    total = float(seen.delivered_bytes[-1]) if len(seen.delivered_bytes) else 0.0
    return [
        total * 8e-6 / span if span > 0 else 0.0,
        float(low),
        float(middle),
        float(high),
        float(np.median(flight)) if len(flight) else 0.0,
        float(np.quantile(flight, 0.95)) if len(flight) else 0.0,
        100 * len(seen.lost_s) / max(1, len(seen.sent_s)),
    ]
