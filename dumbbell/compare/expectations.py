"""Expectations of an experiment file, checked by `dumbbell check`."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.codes import Code
from dumbbell.compare.samples import DESCRIPTIONS
from dumbbell.console.words import many
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.contents import ExpectSpec
from dumbbell.experiment.refused import Locator
from dumbbell.experiment.source import Loc, parse
from dumbbell.metrics import METRICS, Interval, summary
from dumbbell.metrics.numbers import number
from dumbbell.metrics.unmeasured import unmeasured
from dumbbell.results import Results
from dumbbell.runs import ExperimentInfo


class Verdict(enum.Enum):
    """Verdict about an expectation in a cell, by the interval over repeats."""

    HOLDS = "✓"
    FAILS = "✗"
    UNDECIDED = "?"


@dataclass(frozen=True)
class Checked:
    """Result of one expectation in one cell."""

    expect: ExpectSpec
    where: Mapping[str, str]
    found: Interval

    @property
    def verdict(self) -> Verdict:
        """Holds if the whole interval lies within the bounds, fails if it lies outside.

        Without an interval (one repeat) the mean decides.
        """
        low, high = self.found.widened(0)
        above = -math.inf if self.expect.above is None else self.expect.above
        below = math.inf if self.expect.below is None else self.expect.below
        if above < low and high < below:
            return Verdict.HOLDS
        if high <= above or below <= low:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    @property
    def holds(self) -> bool:
        """True if the expectation is shown to hold."""
        return self.verdict is Verdict.HOLDS

    @property
    def name(self) -> str:
        """`goodput_mbps above 9 (cubic, flow1)`."""
        bounds = [("above", self.expect.above), ("below", self.expect.below)]
        wanted = " and ".join(f"{word} {value:g}" for word, value in bounds if value is not None)
        place = f" ({', '.join(self.where.values())})" if self.where else ""
        return f"{self.expect.metric} {wanted}{place}"

    @property
    def outcome(self) -> str:
        """`9.55 Mbit/s`, with the interval over repeats."""
        found = f"{number(self.found.mean)} {METRICS[self.expect.metric].unit}".strip()
        if self.found.count > 1:
            found += f", interval {number(self.found.low)} to {number(self.found.high)}"
        if self.verdict is Verdict.UNDECIDED:
            found += f" over {many(self.found.count, 'repeat')}: undecided, more repeats would tell"
        return found

    @property
    def words(self) -> str:
        """Name and outcome."""
        return f"{self.name}: {self.outcome}"


def check(results: Results, expectations: Sequence[ExpectSpec]) -> list[Checked]:
    """Checks every expectation in all its cells.

    Raises `ExperimentError` if there are no expectations, or one has no cell.
    """
    if not expectations:
        raise ExperimentError(
            "nothing is expected: write `expect` into the file",
            field="expect",
            code=Code.NOTHING_EXPECTED,
        )
    return [
        one
        for place, expect in enumerate(expectations)
        for one in _check(results, expect, f"expect[{place}]")
    ]


@dataclass(frozen=True)
class Asked:
    """A metric that a file asks for: its place in the file, flow and levels."""

    at: Loc
    metric: str
    flow: str | None
    where: Mapping[str, str]


def refuse_impossible(
    info: ExperimentInfo, file: str, expectations: Sequence[ExpectSpec], flows: Iterable[str]
) -> None:
    """Raises `ExperimentError` if an expectation names an unknown factor, level or flow.

    `flows`: names of flows, subflows and arrivals in any cell.
    """
    asked = [
        Asked(("expect", place), one.metric, one.flow, one.where)
        for place, one in enumerate(expectations)
    ]
    refuse_unknown(info, file, asked, flows)


def refuse_unknown(
    info: ExperimentInfo, file: str, asked: Sequence[Asked], flows: Iterable[str]
) -> None:
    """Raises `ExperimentError` if a file asks for an unknown factor, level or flow.

    `flows`: names of flows, subflows and arrivals in any cell.
    """
    if not asked:
        return
    names = set(flows)
    names |= {name.rpartition("/")[0] for name in names if "/" in name}
    locator = Locator(file, parse(info.yaml, file))
    for one in asked:
        metric = METRICS[one.metric]
        wanted: dict[tuple[str, ...], str] = {
            ("where", name): level for name, level in one.where.items()
        }
        if one.flow is not None:
            wanted["flow",] = one.flow
        for at, level in wanted.items():
            loc: Loc = (*one.at, *at)
            name = at[-1]
            if name in info.factors:
                known = info.factors[name]
                what = f"no such level of {name}"
            elif name not in metric.of:
                known = [*info.factors, *metric.of]
                what = f"{metric.name} is not measured by {shortened(name)}"
                level = name
            elif name == "flow" and level.rpartition(".")[0] not in names:
                known = sorted(names)
                what = "no such flow"
            else:
                continue
            if level not in known:
                near = nearest_name(level, known)
                found = shortened(level)
                raise locator.error(what, loc, found=found, allowed=tuple(known), nearest=near)


def _check(results: Results, expect: ExpectSpec, field: str) -> list[Checked]:
    measured = summary(results, METRICS[expect.metric]).filter(pl.col("count") > 0)
    fixed = dict(expect.where) | ({"flow": expect.flow} if expect.flow is not None else {})
    for column, level in fixed.items():
        if column not in measured.columns:
            known = ", ".join(results.experiment.factors) or "none"
            raise ExperimentError(
                f"no factor {column!r}; there are: {known}", field=field, code=Code.EXPECT
            )
        there = measured[column].unique(maintain_order=True).to_list()
        measured = measured.filter(pl.col(column) == level)
        if measured.is_empty() and there:
            raise ExperimentError(
                f"nothing is measured for {expect.metric} with this {column}",
                field=field,
                found=shortened(level),
                allowed=there,
                nearest=nearest_name(level, there),
                code=Code.EXPECT,
            )
    if measured.is_empty():
        message = unmeasured(METRICS[expect.metric], results)
        raise ExperimentError(message, field=field, code=Code.EXPECT)
    of = [column for column in METRICS[expect.metric].of if column not in DESCRIPTIONS]
    names = [*results.experiment.factors, *of]
    return [
        Checked(
            expect,
            {name: str(row[name]) for name in names},
            Interval(row["mean"], row["low"], row["high"], row["count"]),
        )
        for row in measured.to_dicts()
    ]
