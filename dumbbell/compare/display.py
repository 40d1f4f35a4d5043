"""View of a comparison of two engines for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.table import Table

from dumbbell.compare import Comparison
from dumbbell.compare.engines import Difference
from dumbbell.console.words import many
from dumbbell.metrics import Interval
from dumbbell.metrics.numbers import with_interval
from dumbbell.summary.flow_names import stem

_MOST_ROWS = 300
#: Flows of one kind that have rows of their own.
_FEW_FLOWS = 4


def comparison_table(comparison: Comparison) -> Table:
    """Table with a row per quantity, by cell and flow."""
    first, second = comparison.engines
    title = f"{comparison.results[0].experiment.name}: {first} beside {second}"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("quantity", min_width=18, max_width=30)
    for heading in (first, second, "difference"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("")
    rows = [row for part in _folded(comparison.differences) for row in _rows(part)]
    for row in rows[:_MOST_ROWS]:
        shown.add_row(*row, style="bold" if len(row) == 1 else None)
    if len(rows) > _MOST_ROWS:
        shown.caption = f"{len(rows) - _MOST_ROWS} more rows: see --json"
    return shown


def _folded(differences: Sequence[Difference]) -> list[list[Difference]]:
    """Differences by cell and flow; many flows of one name but for its number are together."""
    parts: dict[tuple[str, ...], list[Difference]] = {}
    for one in differences:
        parts.setdefault((*one.levels.values(), stem(one.flow)), []).append(one)
    found: list[list[Difference]] = []
    for part in parts.values():
        flows = dict.fromkeys(one.flow for one in part)
        if len(flows) > _FEW_FLOWS:
            found.append(part)
        else:
            found += [[one for one in part if one.flow == flow] for flow in flows]
    return found


def _rows(part: Sequence[Difference]) -> Iterator[tuple[str, ...]]:
    """Heading, and a row per quantity: of several flows their mean, and how many agree."""
    flows = list(dict.fromkeys(one.flow for one in part))
    several = len(flows) > 1
    name = f"{flows[0]} … {flows[-1]}, mean of {len(flows)} flows" if several else flows[0]
    yield (" · ".join([*part[0].levels.values(), name]),)
    for criterion in dict.fromkeys(one.criterion for one in part):
        own = [one for one in part if one.criterion == criterion]
        first, second = _mean([one.first for one in own]), _mean([one.second for one in own])
        relative = first.mean / second.mean - 1 if second.mean else math.nan
        apart = "–" if math.isnan(relative) else f"{relative:+.1%}"
        agree = sum(one.agrees for one in own)
        sign = "✓" if agree == len(own) else "✗"
        mark = f"{sign} {agree} of {len(own)}" if several else sign
        yield "  " + criterion.label, _number(first), _number(second), apart, mark


def _mean(intervals: Sequence[Interval]) -> Interval:
    """Interval of one flow; of several the mean of their means, without an interval."""
    if len(intervals) == 1:
        return intervals[0]
    mean = sum(one.mean for one in intervals) / len(intervals)
    return replace(intervals[0], mean=mean, low=math.nan, high=math.nan)


def summary_line(comparison: Comparison) -> str:
    """Line with the number of agreeing quantities, and the criteria."""
    count = sum(one.agrees for one in comparison.differences)
    criteria = dict.fromkeys(one.criterion for one in comparison.differences)
    words = "; ".join(f"{one.label} {one.words}" for one in criteria)
    return (
        f"{count} of {many(len(comparison.differences), 'quantity', 'quantities')} agree "
        f"({words}; or within the range of the repeats on {comparison.engines[1]})."
    )


def _number(found: Interval) -> str:
    return with_interval(found.mean, found.low, found.high)
