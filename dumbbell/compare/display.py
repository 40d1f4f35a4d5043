"""View of a comparison of two engines for the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table

from dumbbell.compare import Comparison
from dumbbell.console.words import many
from dumbbell.metrics import Interval
from dumbbell.metrics.numbers import with_error

_MOST_ROWS = 300


def comparison_table(comparison: Comparison) -> Table:
    """Table with a row per quantity, by cell and flow."""
    first, second = comparison.engines
    title = f"{comparison.results[0].experiment.name}: {first} beside {second}"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    shown.add_column("quantity", min_width=18, max_width=30)
    for heading in (first, second, "difference"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("")
    last = ""
    for one in comparison.differences[:_MOST_ROWS]:
        cell = " · ".join([*one.levels.values(), one.flow])
        if cell != last:
            shown.add_row(f"{cell}", style="bold")
        last = cell
        apart = f"{one.relative:+.1%}" if one.relative == one.relative else "–"
        numbers = _number(one.first), _number(one.second)
        shown.add_row("  " + one.criterion.label, *numbers, apart, "✓" if one.agrees else "✗")
    left = len(comparison.differences) - _MOST_ROWS
    if left > 0:
        shown.caption = f"{left} more rows: see --json"
    return shown


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
    half = max(found.high - found.mean, found.mean - found.low)
    return with_error(found.mean, half if half == half else 0.0)
