"""A comparison of two engines for a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from dumbbell.compare import Comparison
from dumbbell.metrics import Interval
from dumbbell.studies.numbers import with_error

_MOST_ROWS = 300


def comparison_table(comparison: Comparison) -> Table:
    """One row per cell, flow and quantity; the cell's levels stand in its first row alone."""
    first, second = comparison.engines
    name = comparison.results[0].experiment.name
    title = f"{name}: {first} beside {second}"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    factors = list(comparison.results[0].experiment.factors)
    for factor in [*factors, "flow"]:
        shown.add_column(factor)
    shown.add_column("quantity", no_wrap=True)
    for heading in (first, second, "difference"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("")
    last: tuple[str, ...] = ()
    rows = comparison.differences
    for one in rows[:_MOST_ROWS]:
        cell = (*one.levels.values(), one.flow)
        words = cell if cell != last else ("",) * len(cell)
        if cell != last and last:
            shown.add_section()
        last = cell
        verdict = "✓" if one.agrees else f"✗ not {one.criterion.words}"
        apart = f"{one.relative:+.1%}" if one.relative == one.relative else "–"
        numbers = _number(one.first), _number(one.second)
        style = None if one.agrees else "bold"
        shown.add_row(*words, one.criterion.label, *numbers, apart, verdict, style=style)
    if len(rows) > _MOST_ROWS:
        shown.caption = f"{len(rows) - _MOST_ROWS} more rows: see --json"
    return shown


def summary_line(comparison: Comparison) -> str:
    """How much agrees, in a sentence."""
    count = sum(one.agrees for one in comparison.differences)
    return f"{count} of {len(comparison.differences)} quantities agree."


def _number(found: Interval) -> str:
    half = max(found.high - found.mean, found.mean - found.low)
    return with_error(found.mean, half if half == half else 0.0)
