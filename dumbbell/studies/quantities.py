"""Quantities of claims and tables, evaluated over stored results as draws of their true means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.statistics import (
    CONFIDENCE,
    DRAWS,
    Interval,
    draws_of_mean,
    interval,
    percentiles,
)
from dumbbell.studies.definition import Quantity, StudyError

Floats = npt.NDArray[np.float64]

#: Repeats from which on the range of single runs means something.
ENOUGH_RUNS = 20


@dataclass(frozen=True)
class Drawn:
    """A quantity: its value from the means over repeats, its draws, and the fewest repeats used.

    `runs`: what each repeat alone would have shown, in order; empty where that is not known.
    `linear`: the value is the mean of `runs`, so its interval is the one of every other mean.
    """

    value: float
    draws: Floats
    count: int
    runs: Floats = field(default_factory=lambda: np.empty(0))
    linear: bool = False
    #: Bounds of a metric alone.
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def interval(self) -> Interval:
        """The 95 % interval: Student's t where `linear`, else the central 95 % of the draws.

        There is none with one repeat, nor where it has no end (a denominator that may be 0).
        """
        if self.linear and self.count > 1 and np.isfinite(self.runs).all():
            found = interval(self.runs)
            low, high = (float(np.clip(one, *self.bounds)) for one in (found.low, found.high))
            return replace(found, low=low, high=high)
        known = self.draws[~np.isnan(self.draws)]
        low = high = float("nan")
        if self.count > 1 and known.size > CONFIDENCE * self.draws.size:
            low, high = percentiles(known)
        if not np.isfinite([low, high]).all():
            low = high = float("nan")
        return Interval(self.value, low, high, self.count)

    def single_runs(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """The central range of what single repeats show; None with fewer than `ENOUGH_RUNS`."""
        known = self.runs[np.isfinite(self.runs)]
        return percentiles(known, confidence) if known.size >= ENOUGH_RUNS else None


class Source(Protocol):
    """Source of the numbers of a part."""

    def drawn(self, metric: str, where: Mapping[str, str]) -> Drawn | None:
        """The metric in one cell, or None if nothing was measured there."""


Row = tuple[object, ...]


class Cells:
    """Metrics of all cells of one part, each measured once and kept."""

    def __init__(self, results: Tables) -> None:
        self._results = results
        self._measured: dict[str, pl.DataFrame] = {}
        self._found: dict[tuple[str, ...], dict[Row, list[Row]]] = {}

    def drawn(self, metric: str, where: Mapping[str, str]) -> Drawn | None:
        """The metric in one cell, or None if nothing was measured there.

        Raises `StudyError` if `where` leaves more than one cell or names an unknown column.
        """
        if metric not in self._measured:
            self._measured[metric] = METRICS[metric].measure(self._results)
        names = self._measured[metric].columns
        for column in where:
            # A metric of whole runs stands beside those of its flows.
            if column not in (*names, "flow", "group", "session", "arrivals", "pipe", "kind"):
                raise StudyError(f"no factor {column!r}; there are {names[1:-1]}")
        columns = tuple(column for column in where if column in names)
        rows = self._by(metric, columns).get(tuple(where[column] for column in columns))
        if rows is None:
            return None
        for factor in self._results.experiment.factors:
            if factor not in where and len({row[names.index(factor)] for row in rows}) > 1:
                raise StudyError(f"{metric} where {dict(where)}: which {factor}?")
        runs = _by_repeat(rows, names.index("repeat"), names.index("value"))
        values = runs[~np.isnan(runs)]
        if values.size == 0:
            return Drawn(float("nan"), np.full(DRAWS, np.nan), 0)
        bounds = METRICS[metric].bounds
        draws, count = draws_of_mean(values, bounds), int(values.size)
        return Drawn(float(values.mean()), draws, count, runs, linear=True, bounds=bounds)

    def _by(self, metric: str, columns: tuple[str, ...]) -> Mapping[Row, list[Row]]:
        """Rows of the metric by the levels of some columns: divided once, looked up many times."""
        key = (metric, *columns)
        if key not in self._found:
            measured = self._measured[metric]
            places = [measured.columns.index(column) for column in columns]
            rows = self._found.setdefault(key, {})
            for row in measured.iter_rows():
                rows.setdefault(tuple(row[place] for place in places), []).append(row)
        return self._found[key]


def _by_repeat(rows: list[Row], repeat: int, value: int) -> Floats:
    """One value per repeat, in order; what was measured several times in one is averaged."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(row[repeat], []).append(row[value])
    return np.array([sum(found[key]) / len(found[key]) for key in sorted(found)], np.float64)


Combine = Callable[[list[Floats]], Floats]


def _ratio(parts: list[Floats]) -> Floats:
    above, below = parts
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below, dtype=np.float64)


_COMBINE: dict[str, Combine] = {
    "ratio": _ratio,
    "difference": lambda parts: parts[0] - parts[1],
    "sum": lambda parts: np.asarray(np.sum(parts, axis=0), dtype=np.float64),
    "lowest": lambda parts: np.asarray(np.min(parts, axis=0), dtype=np.float64),
    "highest": lambda parts: np.asarray(np.max(parts, axis=0), dtype=np.float64),
    "mean": lambda parts: np.asarray(np.mean(parts, axis=0), dtype=np.float64),
}


#: What keeps the mean over repeats the mean of what each repeat shows.
_LINEAR = ("difference", "sum", "mean")

#: Draws of a constant rest on any number of repeats.
_ENDLESS = 10**9


def _constant(number: float | str, case: Mapping[str, str]) -> Drawn:
    level = case.get(number, number) if isinstance(number, str) else number
    try:
        value = float(level)
    except ValueError:
        raise StudyError(f"{number!r} is no number in the case {dict(case)}") from None
    return Drawn(value, np.full(DRAWS, value), _ENDLESS, np.array([value]), linear=True)


def _paired(combine: Combine, drawn: list[Drawn]) -> Floats:
    """Values of single repeats, where all operands have the same repeats (a constant fits any)."""
    sizes = {one.runs.size for one in drawn} - {1}
    if len(sizes) != 1:
        return np.empty(0)
    shape = sizes.pop()
    return combine([np.broadcast_to(one.runs, (shape,)) for one in drawn])


def evaluate(
    quantity: Quantity, case: Mapping[str, str], part: str, cells: Mapping[str, Source]
) -> Drawn | None:
    """A quantity in one case; None if a cell of it was not run.

    All cells are drawn jointly, repeat by repeat, so differences are paired. A name of the
    case that begins with `$` fixes no factor: it stands for a level in some `where`.
    """
    home = quantity.part or part
    if quantity.number is not None:
        return _constant(quantity.number, case)
    if quantity.metric is not None:
        if home not in cells:
            return None
        where = {k: v for k, v in case.items() if not k.startswith("$")} | quantity.where
        return cells[home].drawn(quantity.metric, {k: case.get(v, v) for k, v in where.items()})
    for kind, combine in _COMBINE.items():
        operands = getattr(quantity, kind)
        if operands is not None:
            inner = {**case, **quantity.where}
            found = list(map(partial(evaluate, case=inner, part=home, cells=cells), operands))
            drawn = [one for one in found if one is not None]
            if len(drawn) < len(found):
                return None
            value = combine([np.array([one.value]) for one in drawn])
            draws = combine([one.draws for one in drawn])
            count = min(one.count for one in drawn)
            runs = _paired(combine, drawn)
            linear = kind in _LINEAR and runs.size > 0 and all(one.linear for one in drawn)
            return Drawn(float(value[0]), draws, count, runs, linear=linear)
    raise AssertionError("a quantity has exactly one kind")
