"""Verdict on a quantity: the new side beside the one before, over the same seeds."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dumbbell.compare.samples import Sample
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.metrics.paired import ALPHA, Paired, compared, holm
from dumbbell.metrics.student import student_p


@dataclass(frozen=True, slots=True)
class Judged:
    """How a metric is judged.

    Attributes:
        better: 1: higher is better; −1: lower; 0: a gate wants no change.
        least: Smallest change that counts, in the metric's unit.
    """

    better: int
    least: float


#: Metrics of a gate. One percent of a line, or a tenth of a millisecond, is no matter.
JUDGED: Mapping[str, Judged] = {
    "goodput_mbps": Judged(1, 0.0),
    "srtt_mean_ms": Judged(-1, 0.1),
    "queue_delay_p95_ms": Judged(-1, 0.1),
    "retransmitted_share": Judged(-1, 0.001),
    "transfer_s": Judged(-1, 0.0),
    "joint_share": Judged(0, 0.01),
    "jain": Judged(1, 0.01),
    "convergence_s": Judged(-1, 1.0),
    "fct_mean_ms": Judged(-1, 0.1),
    "fct_p99_ms": Judged(-1, 0.1),
    "voice_mos": Judged(1, 0.05),
}
#: Metrics that scorecards have beside them.
MORE: Mapping[str, Judged] = {
    "total_goodput_mbps": Judged(1, 0.0),
    "min_max_ratio": Judged(1, 0.01),
    "loss_ratio": Judged(-1, 0.001),
    "total_retransmitted_share": Judged(-1, 0.001),
    "spurious_share": Judged(-1, 0.01),
    "queue_delay_p50_ms": Judged(-1, 0.1),
    "latency_p95_ms": Judged(-1, 0.1),
    "one_way_delay_p95_ms": Judged(-1, 0.1),
    "datagram_loss_ratio": Judged(-1, 0.001),
    "group_completion_s": Judged(-1, 0.0),
    "rise_s": Judged(-1, 0.01),
}
#: Metrics that a flow has if it ends.
ENDS = ("transfer_s",)
#: Metrics of the sender under test alone: the sender beside it has the rest.
ONCE = ("joint_share",)


class Verdict(enum.Enum):
    """What is known of a quantity."""

    SAME = "the same in each run"
    WITHIN = "within the tolerance"
    BETTER = "better"
    WORSE = "worse"
    CHANGED = "changed"
    LOST = "did not end in every repeat"
    OPEN = "not decided"

    @property
    def passes(self) -> bool:
        """True if the gate lets it pass."""
        return self not in (Verdict.WORSE, Verdict.CHANGED, Verdict.LOST)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity on both sides. `p` is adjusted over all quantities and looks.

    Attributes:
        part: Experiment of the suite.
        sample: What is measured, with the values of the new side.
        before, now: Means over the repeats.
        was: Values of the side before.
        paired: Their comparison; None if the new side has no value.
        p: Adjusted p.
        verdict: What is known.
    """

    part: str
    sample: Sample
    before: float
    now: float
    paired: Paired | None
    p: float
    verdict: Verdict
    was: Sample

    @property
    def place(self) -> str:
        """`alone: rtt=20 ms, subject`."""
        return f"{self.part}: {self.sample.place}".removesuffix(": ")

    @property
    def change(self) -> float:
        """Change as a share of the value before; infinite from 0."""
        moved = self.now - self.before
        return moved / abs(self.before) if self.before else math.copysign(math.inf, moved)

    @property
    def change_words(self) -> str:
        """`−4.2 %`, `× 3.1`, or `–` from 0."""
        if not math.isfinite(self.change):
            return "–"
        if self.change > 1:
            return f"× {number(1 + self.change)}"
        percent = 100 * abs(self.change)
        shown = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
        return f"{'+' if self.change > 0 else '−'}{shown} %"

    @property
    def words(self) -> str:
        """`goodput_mbps 9.1, before 9.5 Mbit/s: worse (−4.2 %, p 0.001)`."""
        unit = METRICS[self.sample.metric].unit
        values = f"{number(self.now)}, before {number(self.before)} {unit}".rstrip()
        told = self.verdict.value
        if self.verdict in (Verdict.BETTER, Verdict.WORSE, Verdict.CHANGED):
            told += f" ({self.change_words}, p {self.p:.2g})"
        return f"{self.sample.metric} {values}: {told}"


def judge(
    part_samples: Sequence[tuple[str, Sample, Sample | None]], tolerance: float, looks: int
) -> list[Quantity]:
    """Judges all quantities of a look.

    A quantity is worse if a paired test shows a change in the bad direction, at 5 % over all
    quantities (Holm) and looks (Bonferroni), and the change is larger than the tolerance. It is
    within the tolerance if Student's whole 95 % interval of the change is.

    Args:
        part_samples: Experiment, values before, values now (None: there is none). The repeats that
            both have are compared. A transfer that ends in fewer repeats than before is lost.
        tolerance: Share of the value before.
        looks: Number of times that the gate may look.
    """
    pairs = [
        compared(*before.common(now)) if now is not None and not _lost(before, now) else None
        for _, before, now in part_samples
    ]
    adjusted = iter(holm([pair.p for pair in pairs if pair is not None]))
    found = []
    for (part, before, now), pair in zip(part_samples, pairs, strict=True):
        if now is None or pair is None:
            means = _mean(before.values), _mean(now.values if now is not None else ())
            verdict = Verdict.LOST if _lost(before, now) else Verdict.OPEN
            found.append(Quantity(part, before, *means, None, math.nan, verdict, before))
            continue
        p = min(1.0, next(adjusted) * looks)
        mine, theirs = before.common(now)
        verdict = _verdict(now.metric, mine, theirs, pair, p, tolerance)
        found.append(Quantity(part, now, _mean(mine), _mean(theirs), pair, p, verdict, before))
    return found


def _lost(before: Sample, now: Sample | None) -> bool:
    """True if a transfer ended in a repeat before, and does not now."""
    ended = set() if now is None else set(now.repeats)
    return before.metric in ENDS and not set(before.repeats) <= ended


def _verdict(
    metric: str,
    before: Sequence[float],
    now: Sequence[float],
    pair: Paired,
    p: float,
    tolerance: float,
) -> Verdict:
    if not before:  # no repeat has a value on both sides
        return Verdict.OPEN
    if list(before) == list(now):
        return Verdict.SAME
    how, moved = JUDGED.get(metric) or MORE[metric], pair.difference
    most = max(tolerance * abs(_mean(before)), how.least)
    if p < ALPHA and abs(moved.mean) > most:
        if not how.better:
            return Verdict.CHANGED
        return Verdict.BETTER if moved.mean * how.better > 0 else Verdict.WORSE
    return Verdict.WITHIN if _within(before, now, most) else Verdict.OPEN


def _within(before: Sequence[float], now: Sequence[float], most: float) -> bool:
    """True if Student's 95 % interval of the change lies within `most` on both sides."""
    moved = [other - one for one, other in zip(before, now, strict=True)]
    count, mean = len(moved), _mean(moved)
    if count < 2:
        return False
    error = math.sqrt(sum((one - mean) ** 2 for one in moved) / (count - 1) / count)
    room = most - abs(mean)
    if error == 0 or room <= 0:
        return room >= 0 and error == 0
    return student_p(room / error, count - 1) < ALPHA


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
