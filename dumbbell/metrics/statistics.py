"""Means over repeats with intervals, paired differences, and draws of the true mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.metrics.definition import Metric, Tables
from dumbbell.metrics.student import student_quantile

Floats = npt.NDArray[np.float64]

#: Draws behind the interval of a claim.
DRAWS = 10_000
#: Share of the draws that an interval holds.
CONFIDENCE = 0.95
#: Seed of the draws; fixed, so that the same tables always give the same intervals.
SEED = 20_200_752


@dataclass(frozen=True)
class Interval:
    """A mean over `count` repeats with its interval; `low` and `high` are NaN below two repeats."""

    mean: float
    low: float
    high: float
    count: int

    def widened(self, by: float) -> tuple[float, float]:
        """The interval (the mean alone, if there is none) widened by `by` on each side."""
        low = self.mean if np.isnan(self.low) else self.low
        high = self.mean if np.isnan(self.high) else self.high
        return low - by, high + by


@lru_cache(maxsize=64)
def weights(count: int, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Weights of the repeats: `draws` rows of `count` numbers, each row summing to 1.

    Row times values is a draw of the true mean as normal repeats leave it open: mean + t · s / √n,
    where t has Student's distribution with n − 1 degrees of freedom. All quantities with as many
    repeats have the same rows, so what is drawn of them is drawn jointly: a difference of two has
    the interval of the paired differences. Every second row mirrors the one before it. Source:
    Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.2 (the mean without a prior).
    """
    if count == 1:
        return np.ones((draws, 1))
    generator = np.random.Generator(np.random.PCG64(seed))
    half = (draws + 1) // 2
    normal = generator.standard_normal((half, count))
    normal -= normal.mean(axis=1, keepdims=True)
    scale = generator.chisquare(count - 1, (half, 1)) * count  # (n − 1) · n · s² / σ² over s² / σ²
    moved = normal / np.sqrt(scale)
    shares: Floats = 1 / count + np.stack([moved, -moved], axis=1).reshape(-1, count)[:draws]
    shares.setflags(write=False)
    return shares


def draws_of_mean(
    values: npt.ArrayLike,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    draws: int = DRAWS,
    seed: int = SEED,
) -> Floats:
    """Draws of the true mean of some repeats (1-d, in order of repeat), shape `(draws,)`.

    `bounds`: the true mean lies within these. Raises `ValueError` for no values.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"one value per repeat is needed, found shape {x.shape}")
    if x.min() == x.max():  # rounding must not spread what is equal
        return np.full(draws, x[0])
    means: Floats = x.mean() + weights(x.size, draws, seed) @ (x - x.mean())
    return np.clip(means, *bounds)


def percentiles(draws: npt.ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Lower and upper end of the percentile interval of some draws."""
    tail = (1 - confidence) / 2
    x = np.asarray(draws, dtype=np.float64)
    places = [share * (x.size - 1) for share in (tail, 1 - tail)]
    below = [math.floor(place) for place in places]
    above = [min(place + 1, x.size - 1) for place in below]
    # Linear between neighbours in order, as numpy.quantile, which takes ten times as long.
    ordered = np.partition(x, [*below, *above])
    low, high = (
        ordered[i]
        if ordered[i] == ordered[j]
        else ordered[i] + (ordered[j] - ordered[i]) * (place - i)
        for place, i, j in zip(places, below, above, strict=True)
    )
    return float(low), float(high)


def interval(values: Sequence[float] | npt.ArrayLike) -> Interval:
    """Mean and 95 % interval of Student's t over repeats; NaNs (does not apply) left out.

    With normal values it holds the true mean in 95 % of cases from two repeats on. With one repeat
    there is none. Source: Student, The probable error of a mean, Biometrika 6(1), 1908; coverage:
    `docs/models/metrics.md`.
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[~np.isnan(x)]
    if x.size == 0:
        return Interval(float("nan"), float("nan"), float("nan"), 0)
    mean = float(np.clip(x.mean(), x.min(), x.max()))
    if x.size == 1:
        return Interval(mean, float("nan"), float("nan"), 1)
    if x.min() == x.max():
        return Interval(mean, mean, mean, int(x.size))
    quantile = student_quantile(CONFIDENCE, x.size - 1)
    half = quantile * float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(mean, mean - half, mean + half, int(x.size))


def repeats_for(half: float, count: int, wanted: float) -> int:
    """Fewest repeats whose interval has `wanted` on each side, where `count` had `half` > 0.

    The spread of the repeats is taken to stay; the width falls with t / √n.
    """

    def width(repeats: int) -> float:
        # From a thousand repeats on, Student's t is the normal distribution to four digits.
        return student_quantile(CONFIDENCE, min(repeats - 1, 1000)) / math.sqrt(repeats)

    goal = width(count) * wanted / half
    low, high = 1, 2
    while width(high) > goal:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width(middle) > goal else (low, middle)
    return high


def paired_difference(first: npt.ArrayLike, second: npt.ArrayLike) -> Interval:
    """Mean of `first − second` repeat by repeat, with its interval.

    Both 1-d, the same repeats in the same order; a repeat where either is NaN is left out.
    Raises `ValueError` for different lengths.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"paired values need equal lengths, found {a.shape} and {b.shape}")
    return interval(a - b)


def summary(tables: Tables, metric: Metric, by: Sequence[str] | None = None) -> pl.DataFrame:
    """Mean and interval of a metric over repeats, one row per cell, in order of the tables.

    `by`: columns that make a cell; by default the factors and what the metric is `of`. Columns of
    the result: `by`, `mean`, `low`, `high` (in the metric's unit), `count` (repeats used). Rows
    where the metric applies to no repeat have NaN and count 0.
    """
    cell = [*tables.experiment.factors, *metric.of] if by is None else list(by)
    measured = metric.measure(tables)
    if not cell:
        measured = measured.with_columns(pl.lit("all").alias("cell"))
    key = cell or ["cell"]
    # What falls into one cell (flows, pipes, levels that `by` leaves out) is averaged within the
    # repeat first: the repeat is the unit that is drawn.
    lowest, highest = metric.bounds
    per_run = measured.group_by([*key, "repeat"], maintain_order=True).agg(pl.col("value").mean())
    rows = []
    for names, group in per_run.group_by(key, maintain_order=True):
        found = interval(group.sort("repeat")["value"].to_numpy())
        # The true mean lies within the bounds, so what is cut off holds nothing.
        low, high = (float(np.clip(one, lowest, highest)) for one in (found.low, found.high))
        rows.append((*names, found.mean, low, high, found.count))
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        name: measured.schema[name] for name in key
    }
    schema |= {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "count": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame if cell else frame.drop("cell")
