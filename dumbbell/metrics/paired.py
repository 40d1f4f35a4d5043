"""Paired comparison of two cells over the same repeats: difference, effect size, test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dumbbell.metrics.statistics import Interval, paired_difference
from dumbbell.metrics.student import student_p

#: Error of the first kind that all comparisons of a family share.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Paired:
    """Comparison of two samples, repeat by repeat.

    Attributes:
        difference: Mean of `second − first` with its interval, in the unit of the samples.
        effect: Cohen's d_z: mean over standard deviation of the differences; infinite if they are
            all equal and not 0, NaN with fewer than two repeats. Source: J. Cohen, Statistical
            Power Analysis, 1988, section 2.3.5.
        p: Two-sided p of Student's t over the differences; NaN with fewer than two repeats.
    """

    difference: Interval
    effect: float
    p: float


def compared(first: npt.ArrayLike, second: npt.ArrayLike) -> Paired:
    """Compares two samples of the same repeats in the same order; pairs with a NaN are left out.

    Raises `ValueError` for different lengths.
    """
    difference = paired_difference(second, first)
    moved = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    moved = moved[~np.isnan(moved)]
    if moved.size < 2:
        return Paired(difference, math.nan, math.nan)
    mean, spread = float(moved.mean()), float(moved.std(ddof=1))
    if spread <= 1e-12 * abs(mean):  # the same in every repeat, but for rounding
        return Paired(difference, math.copysign(math.inf, mean) if mean else 0.0, float(mean == 0))
    effect = mean / spread
    return Paired(difference, effect, student_p(effect * math.sqrt(moved.size), moved.size - 1))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p of a family of tests; NaN stays NaN.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist.
    6(2), 1979.
    """
    order = sorted((p, place) for place, p in enumerate(ps) if not math.isnan(p))
    adjusted, least = list(ps), 0.0
    for rank, (p, place) in enumerate(order):
        least = max(least, min(1.0, p * (len(order) - rank)))
        adjusted[place] = least
    return adjusted
