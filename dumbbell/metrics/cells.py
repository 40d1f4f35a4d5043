"""Values of a metric in the cells of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from dumbbell.metrics.definition import Metric, Tables
from dumbbell.metrics.statistics import Interval, interval

Levels = tuple[str, ...]
"""A cell: levels of the factors, in order."""
Several = Literal["mean", "sum", "min", "max"]
"""How values of one run become one, where several flows or pipes are shown as one."""

_COMBINED: dict[Several, Callable[[list[float]], float]] = {
    "mean": fmean,
    "sum": sum,
    "min": min,
    "max": max,
}
NOTHING = Interval(float("nan"), float("nan"), float("nan"), 0)


@dataclass(frozen=True)
class Values:
    """Known values of a metric in a cell.

    Attributes:
        of_repeats: Repeat → flow or pipe (empty: the run) → value; NaN is left out.
    """

    of_repeats: dict[int, dict[str, float]] = field(default_factory=dict)

    def per_repeat(
        self, names: Collection[str] | None = None, several: Several = "mean"
    ) -> list[float]:
        """One value for each repeat in which one of `names` (None: all) has any."""
        combined = _COMBINED[several]
        found = []
        for _, own in sorted(self.of_repeats.items()):
            if names is not None and len(names) == 1:
                known = [own[name] for name in names if name in own]
            else:
                known = [value for name, value in own.items() if names is None or name in names]
            if known:
                found.append(combined(known))
        return found

    def mean(self, names: Collection[str] | None = None, several: Several = "mean") -> float | None:
        """Mean over the repeats in which it is known; None if it never is."""
        known = self.per_repeat(names, several)
        return fmean(known) if known else None

    def mean_at_largest(self, other: Values) -> float | None:
        """Mean over repeats of the value where `other` is largest in the repeat; None: unknown."""
        known = [
            self.of_repeats[repeat][name]
            for repeat, own in sorted(other.of_repeats.items())
            if (name := max(own, key=lambda one: own[one])) in self.of_repeats.get(repeat, {})
        ]
        return fmean(known) if known else None

    def interval(self, names: Collection[str] | None = None, several: Several = "mean") -> Interval:
        """Mean over repeats of the mean (or worst, …) of their flows, with its 95 % interval."""
        return interval(self.per_repeat(names, several))

    def names(self) -> list[str]:
        """Flows or pipes with a value in some repeat, in order."""
        return list(dict.fromkeys(name for own in self.of_repeats.values() for name in own))


class CellValues:
    """Metrics of all cells of an experiment; each is measured once."""

    def __init__(self, tables: Tables, metrics: Iterable[Metric]) -> None:
        self._of: dict[str, dict[Levels, Values]] = {
            metric.name: _values(tables, metric) for metric in metrics
        }

    def of(self, name: str, cell: Levels) -> Values:
        """Values of a metric in a cell; none if it was not measured."""
        return self._of.get(name, {}).get(cell, Values())


def _values(tables: Tables, metric: Metric) -> dict[Levels, Values]:
    factors = list(tables.experiment.factors)
    key = metric.of[:1]
    frame = metric.measure(tables).drop_nans("value").drop_nulls("value")
    found: dict[Levels, Values] = {}
    for row in frame.select(*factors, "repeat", *key, "value").iter_rows():
        cell, (repeat, *named, value) = row[: len(factors)], row[len(factors) :]
        own = found.setdefault(tuple(cell), Values()).of_repeats.setdefault(repeat, {})
        own[named[0] if named else ""] = value
    return found
