"""Does an experiment give what its file expects? `dumbbell check` exits by this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.errors import ExperimentError
from dumbbell.experiment.expect import ExpectSpec
from dumbbell.metrics import METRICS, Interval, summary
from dumbbell.results import Results
from dumbbell.studies.numbers import number


@dataclass(frozen=True)
class Checked:
    """One expectation in one cell: what was found, and whether it holds."""

    expect: ExpectSpec
    where: Mapping[str, str]
    found: Interval

    @property
    def holds(self) -> bool:
        """Whether the mean lies within the bounds."""
        above, below = self.expect.above, self.expect.below
        return (above is None or self.found.mean > above) and (
            below is None or self.found.mean < below
        )

    @property
    def words(self) -> str:
        """`goodput_mbps above 9 (cc=cubic, flow1): 9.55`."""
        bounds = [("above", self.expect.above), ("below", self.expect.below)]
        wanted = " and ".join(f"{word} {value:g}" for word, value in bounds if value is not None)
        place = ", ".join(self.where.values())
        unit = METRICS[self.expect.metric].unit
        found = f"{number(self.found.mean)} {unit}".strip()
        return f"{self.expect.metric} {wanted} ({place}): {found}"


def check(results: Results, expectations: Sequence[ExpectSpec]) -> list[Checked]:
    """Every expectation in every cell it means.

    Raises `ExperimentError` if there are none, or one means no cell.
    """
    if not expectations:
        raise ExperimentError("nothing is expected: write `expect` into the file", field="expect")
    return [
        one
        for place, expect in enumerate(expectations)
        for one in _check(results, expect, f"expect[{place}]")
    ]


def _check(results: Results, expect: ExpectSpec, field: str) -> list[Checked]:
    measured = summary(results, METRICS[expect.metric]).filter(pl.col("count") > 0)
    fixed = dict(expect.where) | ({"flow": expect.flow} if expect.flow is not None else {})
    for column, level in fixed.items():
        if column not in measured.columns:
            known = ", ".join(results.experiment.factors) or "none"
            raise ExperimentError(f"no factor {column!r}; there are: {known}", field=field)
        measured = measured.filter(pl.col(column) == level)
    if measured.is_empty():
        raise ExperimentError(f"nothing is measured for {expect.metric} there", field=field)
    names = [*results.experiment.factors, *(c for c in ("flow",) if c in measured.columns)]
    return [
        Checked(
            expect,
            {name: str(row[name]) for name in names},
            Interval(row["mean"], row["low"], row["high"], row["count"]),
        )
        for row in measured.to_dicts()
    ]
