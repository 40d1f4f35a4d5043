"""Contrasts: each level of a factor against another, cell by cell, over the same seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.codes import Code
from dumbbell.compare.samples import USUAL, Sample, samples
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name, shortened
from dumbbell.metrics import METRICS
from dumbbell.metrics.numbers import number
from dumbbell.metrics.paired import ALPHA, Paired, compared, holm
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.results import Results

#: Names of sizes of an effect, from the smallest on. Source: J. Cohen, Statistical Power Analysis,
#: 1988, section 2.2.3.
SIZES = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"), (math.inf, "large"))


@dataclass(frozen=True, slots=True)
class Contrast:
    """Difference between two levels of a factor in a cell of the other factors.

    Attributes:
        metric: Name of the metric.
        place: The other factors, and what is measured.
        first, second: The levels.
        means: Mean of the metric at both levels, over the repeats that both have.
        paired: Their comparison.
        p: p adjusted by Holm over all contrasts; NaN with fewer than two repeats.
    """

    metric: str
    place: str
    first: str
    second: str
    means: tuple[float, float]
    paired: Paired
    p: float

    @property
    def varies(self) -> bool:
        """False if all values at both levels are the same, as the loss of an idle link."""
        return self.means[0] != self.means[1] or self.paired.difference.low < 0

    @property
    def shown(self) -> bool:
        """True if a difference is shown."""
        return self.p < ALPHA

    @property
    def size(self) -> str:
        """Size of the effect in a word; empty with one repeat."""
        if math.isnan(self.paired.effect):
            return ""
        return next(word for most, word in SIZES if abs(self.paired.effect) <= most)

    @property
    def words(self) -> str:
        """`higher by 1.2 (0.9 to 1.4)`, or `no difference shown (−0.1 to 0.2)`."""
        moved = self.paired.difference
        if math.isnan(self.p):
            return f"one repeat differs by {number(moved.mean)}"
        between = f"({number(moved.low)} to {number(moved.high)})"
        if not self.shown:
            if self.paired.p < ALPHA:  # Of so many comparisons, some lie apart by chance.
                return f"no difference shown among all comparisons; alone {between}"
            return f"no difference shown {between}"
        return f"{'higher' if moved.mean > 0 else 'lower'} by {number(abs(moved.mean))} {between}"

    def to_json(self) -> dict[str, Any]:
        """Plain values of one row."""
        moved = self.paired.difference
        return {
            "metric": self.metric, "place": self.place, "first": self.first,
            "second": self.second, "first_mean": self.means[0], "second_mean": self.means[1],
            "difference": moved.mean, "low": moved.low, "high": moved.high, "repeats": moved.count,
            "effect": self.paired.effect, "p": self.paired.p, "p_holm": self.p, "words": self.words,
        }  # fmt: skip


def contrasts(
    results: Results,
    factor: str,
    *,
    levels: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> list[Contrast]:
    """Contrasts of all pairs of levels of a factor.

    Args:
        results: Results of an experiment.
        factor: The factor.
        levels: Levels to compare; none: all.
        metrics: Names of metrics; none: the usual ones, where they differ at all.

    Raises:
        DumbbellError: An unknown factor, level or metric, or nothing that differs.
    """
    known = results.experiment.factors
    _known("factor", factor, list(known))
    chosen = list(dict.fromkeys(levels)) or known[factor]
    for level in chosen:
        _known(f"level of {factor}", level, known[factor])
    for metric in metrics:
        _known("metric", metric, sorted(METRICS))
    if len(chosen) < 2:
        raise DumbbellError(
            f"two levels of {factor} are compared; there is {', '.join(chosen)}", code=Code.CONTRAST
        )
    made = list(_pairs(samples(results, list(metrics) or USUAL), factor, chosen))
    if not metrics:
        made = [one for one in made if one.varies]
    if not made:
        if metrics:
            raise DumbbellError(_unmeasured(results, metrics), code=Code.CONTRAST)
        raise DumbbellError(
            "nothing differs: every usual metric has equal values, or values at one level alone",
            code=Code.CONTRAST,
        )
    adjusted = holm([one.paired.p for one in made])
    return [
        Contrast(one.metric, one.place, one.first, one.second, one.means, one.paired, p)
        for one, p in zip(made, adjusted, strict=True)
    ]


def _unmeasured(results: Results, metrics: Sequence[str]) -> str:
    """Why metrics that were asked for have no contrast."""
    said = []
    for name in metrics:
        values = METRICS[name].measure(results)["value"]
        if values.is_not_nan().any():
            said.append(f"{name} has values at one level alone")
        else:
            said.append(unmeasured(METRICS[name], results))
    return "; ".join(said)


def _pairs(found: Sequence[Sample], factor: str, levels: Sequence[str]) -> Iterator[Contrast]:
    """Contrasts with their own p."""
    groups: dict[tuple[str, ...], dict[str, Sample]] = {}
    for one in found:
        others = [level for name, level in one.levels.items() if name != factor]
        groups.setdefault((one.metric, *others, *one.of.values()), {})[one.levels[factor]] = one
    for group in groups.values():
        present = [level for level in levels if level in group]
        for first, second in itertools.combinations(present, 2):
            mine, theirs = group[first].common(group[second])
            if mine:
                pair = compared(mine, theirs)
                means = (sum(mine) / len(mine), sum(theirs) / len(theirs))
                one = group[first]
                place = [f"{k}={level}" for k, level in one.levels.items() if k != factor]
                where = ", ".join([*place, *one.of.values()])
                yield Contrast(one.metric, where, first, second, means, pair, pair.p)


def _known(what: str, name: str, allowed: Sequence[str]) -> None:
    if name not in allowed:
        near = nearest_name(name, allowed)
        guess = did_you_mean(near)
        listed = ", ".join(allowed[:12]) or "none"
        raise DumbbellError(
            f"unknown {what} {shortened(name)}{guess}; there are: {listed}", code=Code.CONTRAST
        )
